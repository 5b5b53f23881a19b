package qdnb

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/algorithms/evolution"
	"example.com/qdnb/qdnb/algorithms/registry"
	"example.com/qdnb/qdnb/algorithms/skills"
	"example.com/qdnb/qdnb/runs"
)

// smallDiscovery returns the spec of a run of a reinforcement-learning algorithm that takes
// seconds.
func smallDiscovery(algorithm, folder string, iterations int) Spec {
	spec := small(folder, iterations)
	spec.Algorithm = algorithm
	spec.Tune = runs.Assign("env_batch_size=6", "grad_updates_per_step=0.5", "batch_size=16",
		"replay_buffer_size=180", "hidden=[8,8]", "learning_rate=0.01",
		"cells=32", "cvt_samples=500", "episode_length=20", "evaluation_states=2",
		"evaluation_interval=30", "early_interval=12", "warmup_steps=0")
	if algorithm == "sac" {
		return spec
	}
	spec.Tune = more(spec.Tune, "num_skills=3", "diversity_hidden=[8]")
	if strings.Contains(algorithm, "smerl") {
		spec.Tune = more(spec.Tune, "smerl_target=-20", "smerl_margin=2")
	}
	return spec
}

// Skills are evaluated when they should be, and leave the expected files.
func TestSkillsAreMeasured(t *testing.T) {
	for algorithm, count := range map[string]int{"diayn": 3, "sac": 0} {
		run, episodes := train(t, smallDiscovery(algorithm, t.TempDir(), 11)), 2*max(1, count)
		table := must.Get(run.Metrics())
		// Measured at the start, every 12 steps before step 30, and then every 30 steps, in
		// iterations of 6 steps. The end is measured, too, which counts as no evaluation, but in its steps.
		var got, want [][3]float64
		for _, row := range table.Rows {
			got = append(got, [3]float64(row[:3]))
		}
		for i, generation := range []float64{0, 2, 4, 5, 10} {
			want = append(want, [3]float64{generation, float64((i + 1) * episodes), 6 * generation})
		}
		want = append(want, [3]float64{11, float64(5 * episodes), 66})
		errtest.Equal(t, "generations, evaluations and steps", got, want)
		for i, row := range table.Rows {
			if steps := row[len(row)-2]; steps != 20*(row[1]+row[len(row)-1]*float64(episodes)) {
				t.Errorf("%s: %g steps of %g evaluations in row %d", algorithm, steps, row[1], i)
			}
			for k, x := range row[8 : len(row)-2] {
				if math.IsNaN(x) != (i == 0) {
					t.Errorf("%s: %s is %g in row %d", algorithm, table.Columns[8+k], x, i)
				}
			}
		}
		left := must.Get(run.Skills())
		if left.Count != count || len(left.Fitnesses) != episodes || len(left.Descriptors) != 2*episodes ||
			len(left.Trajectories) != 2*20*episodes || (len(left.Extra) == 0) != (algorithm == "sac") {
			t.Errorf("%s leaves %d skills of %d episodes, %d descriptors, %d positions and %d other arrays", algorithm,
				left.Count, len(left.Fitnesses), len(left.Descriptors), len(left.Trajectories), len(left.Extra))
		}
		for i, which := range left.Which {
			errtest.Equal(t, "skill of an episode", which, i%max(1, count))
		}
		errtest.Equal(t, "parameters", must.Get(run.Repertoire()).Params, left.Params())
	}
}

// Replacing one part turns an algorithm into another, to the byte, although the part is one of the user then: the
// diversity reward of DIAYN on pointmaze, where DADS clips no position, an objective, and an archive.
func TestPartsMakeAlgorithms(t *testing.T) {
	aurora := must.Get(must.Get(registry.Find("aurora")).Tuned(envs.Pointmaze{}.Spec(), smallOf("aurora", "", 8).Tune))
	plain := map[string]*runs.Run{}
	for _, c := range []struct {
		algorithm string
		part      Tuning
		want      string
		same      bool
	}{
		{"diayn-reward", nil, "diayn-reward", true},
		{"dads-reward", skilled(skills.Parts{Diversity: skills.DIAYN{LearningRate: 0.01, Hidden: []int{8}}}), "diayn-reward",
			true},
		{"diayn", skilled(skills.Parts{Objective: skills.PlusReward{Scale: 2}}), "diayn-reward", true}, // as published
		{"diayn", nil, "diayn-reward", false}, // else the test proves nothing
		{"aurora", nil, "aurora", true},
		{"map-elites", archiving(aurora.(*evolution.MapElites).Archive), "aurora", true},
	} {
		spec := smallRun(c.algorithm, t.TempDir(), 8)
		if c.part != nil {
			spec.Name, spec.Tune = "mine", spec.Tune.And(c.part)
		}
		run := train(t, spec)
		if plain[c.want] == nil {
			plain[c.want] = run
		}
		if bytes.Equal(finished(t, run), finished(t, plain[c.want])) != c.same {
			t.Errorf("%s is %s: %v, want %v", run.Name(), c.want, !c.same, c.same)
		}
		if c.part != nil && (run.Config.Algorithm != "mine" || !strings.HasPrefix(run.Name(), "mine-pointmaze-1-")) {
			t.Errorf("it is called %s", run.Name())
		}
	}
}

// METRA and CSF have their authors' skills for each robot, 50 updates for eight episodes of 200 steps, and
// none before there are 10 000 transitions.
func TestPublishedSettingsOfLaterSkills(t *testing.T) {
	type settings struct {
		Skills     int     `json:"num_skills"`
		Components int     `json:"continuous_skills"`
		Updates    float64 `json:"grad_updates_per_step"`
		Warmup     int     `json:"warmup_steps"`
		Rate       float64 `json:"learning_rate"`
	}
	for env, components := range map[string]int{"ant-uni": 2, "ant-omni": 2, "humanoid-omni": 2, "halfcheetah-uni": 0} {
		for algorithm, components := range map[string]int{"metra": components, "csf": 2} {
			config := must.Get(Spec{Algorithm: algorithm, Env: env}.Config())
			var got settings
			must.Do(json.Unmarshal(config.Hyperparameters, &got))
			if math.Abs(got.Updates/(50./1600)-1) > 0.05 {
				t.Errorf("%s on %s makes %g updates for each transition", algorithm, env, got.Updates)
			}
			got.Updates = 0
			errtest.Equal(t, fmt.Sprintf("%s on %s", algorithm, env), got, (settings{16, components, 0, 10_000, 1e-4}))
		}
	}
}
