package main

import (
	"strings"

	"github.com/alecthomas/kong"
)

// examples are the usage examples shown in each command's help.
var examples = map[string]string{
	"train": `qdnb train --algorithm map-elites --env pointmaze --generations 1000
qdnb train --algorithm pga-aurora --env ant-uni --time 2h --seed 3
qdnb train --algorithm diayn-reward --env walker-uni --env-steps 30000 --set 'hidden=[64,64]'`,
	"show": `qdnb show map-elites-pointmaze-0
qdnb show map-elites-ant-omni-0 --html repertoire.html
qdnb show map-elites-ant-omni-0 --cell 17 --html skill.html`,
	"eval": `qdnb eval map-elites-pointmaze-0
qdnb eval dads-reward-ant-uni-0 --skill 3 --gravity 0.5
qdnb eval map-elites-ant-maze-0 --episodes 10 --target 10,30`,
	"import": `qdnb import --policy policy.npy --algorithm dads-reward --env ant-uni
qdnb import --repertoire found --algorithm map-elites --env walker-uni --set 'hidden=[64,64]'`,
	"export": `qdnb export dads-reward-ant-uni-0 --skill 3 --out skill.npz
qdnb export map-elites-pointmaze-0 --repertoire --out repertoire.npz`,
	"sweep plan": `qdnb sweep plan --experiment adaptation --scale small > plan.jsonl
qdnb sweep plan --experiment training --envs ant-uni,walker-uni --algorithms map-elites --seeds 3 > plan.jsonl`,
	"sweep run": `qdnb sweep run --plan plan.jsonl --out results
qdnb sweep run --plan plan.jsonl --jobs 2
qdnb sweep run --plan plan.jsonl --index auto`,
	"sweep status": `qdnb sweep status --plan plan.jsonl --all`,
	"sweep script": `qdnb sweep script slurm --plan plan.jsonl --runs /shared/runs --sbatch=--partition=gpu --gpus 1 > job.sh
qdnb sweep script kubernetes --plan plan.jsonl --parallel 16 > job.yaml`,
	"sweep results": `qdnb sweep results --plan plan.jsonl --out results`,
	"sweep ship":    `qdnb sweep ship --plan plan.jsonl --out notebooks/results --scale medium --machine "2 cores of an AMD EPYC 7B13"`,
	"figures": `qdnb figures --out figures
qdnb figures --only figure-4,table-1 --format svg,pdf --in /shared/paper
qdnb figures --list`,
	"reproduction": `qdnb reproduction --out docs
qdnb reproduction --in build/experiments/medium --in build/experiments/paper --out docs`,
	"claims": `qdnb claims --plan plan.jsonl`,
	"doctor": `qdnb doctor
qdnb doctor --install`,
	"bench generation": `qdnb bench generation --algorithm pga-map-elites --env ant-uni --generations 3`,
	"bench rollout":    `qdnb bench rollout --env ant-uni`,
	"bench updates":    `qdnb bench updates --learner sac`,
	"bench insertion":  `qdnb bench insertion --better 1000`,
	"bench adaptation": `qdnb bench adaptation --env walker-uni --policies 1000`,
	"bench ceilings":   `qdnb bench ceilings`,
	"version":          `qdnb version`,
	"programs":         `qdnb programs --kind cuda --algorithm map-elites --env ant-uni --out programs`,
	"help": `qdnb help
qdnb help sweep plan`,
	"verify": `qdnb verify envs/testdata
qdnb verify envs/testdata --backend cuda --against cpu`,
}

// addExamples adds the examples to the commands' help.
func addExamples(parser *kong.Kong) {
	for _, command := range parser.Model.Leaves(false) {
		if lines := examples[command.Path()]; lines != "" {
			command.Detail = "For example:\n\n  " + strings.ReplaceAll(lines, "\n", "\n  ")
		}
	}
}
