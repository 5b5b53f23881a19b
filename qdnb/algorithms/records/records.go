// Package records holds the facts about the algorithms as plain data, without running one: their names
// and order, how they are printed and drawn, what they log, and settings for short runs. An algorithm has
// one [Record] here; packages evolution, skills and ppo have its hyperparameters by name.
package records

import (
	"cmp"
	"slices"
	"strings"

	"example.com/qdnb/internal/names"
)

// Names that several packages share.
const (
	// Algorithms of runs that use the skills of another run.
	Adaptation          = "adaptation"
	HierarchicalControl = "hierarchical-control"
	// EvaluationSteps is the column of the control steps of evaluations that only measure. They are not
	// environment steps, since the search learns nothing from them.
	EvaluationSteps = "evaluation_steps"
)

// Record is an algorithm.
type Record struct {
	Name  string // on the command line and in config.json
	Title string // in figures and tables
	Page  string // in docs/algorithms, with the heading of its section
	Group Group
	Like  string // the paper's method that does the same work; "" for those of the paper
	// Steps are environment steps in the paper's two hours, averaged over environments (table 8). DIAYN,
	// DADS and SAC are not in the table; they have the number of the method that does the same work.
	Steps   int64
	Color   uint32    // of its lines, 0xRRGGBB
	Dashes  []float64 // of its lines: lengths of dashes and gaps in points; nil: solid
	Columns []string  // of metrics.csv, behind those of all runs, and PPO's of the task
	Smoke   []string  // settings of its own for a run that takes seconds, such as "emitters=4"
}

// Group is a group of algorithms, in the paper's order.
type Group int

// The groups. Later algorithms are not in the paper, nor are those of other tasks, which have several
// objectives or gradients.
const (
	Neuroevolution Group = iota
	Reinforcement        // with the task's reward
	Unrewarded           // without it
	Blocks               // what the others build on, and baselines
	Later                // also in the experiment beyond
	OtherTasks
)

// Dashes and gaps of lines, in points.
var (
	dashed     = []float64{5, 2}
	dotted     = []float64{1.2, 1.6}
	dashDot    = []float64{5, 1.8, 1.2, 1.8}
	longDash   = []float64{9, 2.5}
	dashDotDot = []float64{5, 1.8, 1.2, 1.8, 1.2, 1.8}
)

// Metrics and settings that several algorithms have.
var (
	critics    = []string{"critic_loss", "actor_loss"}
	population = []string{"archive_size", "archive_max_fitness", EvaluationSteps}
	diayn      = skills("discriminator_loss")
	dads       = skills("dynamics_loss")
	smerlDIAYN = slices.Insert(slices.Clone(diayn), len(diayn)-2, "accepted_share")
	smerlDADS  = slices.Insert(slices.Clone(dads), len(dads)-2, "accepted_share")

	smokePGA = []string{"critic_hidden=8,8", "replay_buffer_size=1000", "num_critic_training_steps=4",
		"num_pg_training_steps=3", "transitions_batch_size=16"}
	smokeAurora = []string{"capacity=24", "sampling=5", "loop=2", "epochs=3", "late_epochs=2",
		"training_batch=8", "latent=2", "threshold=0.01"}
	smokeES = []string{"emitters=4"}
	// METRA's schedule would leave short runs of few environments without updates.
	smokeMetra = []string{"num_skills=5", "warmup_steps=0", "grad_updates_per_step=0.25"}
)

// all are the algorithms in the paper's order, which later ones follow. The colours are from Okabe and
// Ito (2008), with four from Tol once those run out. Algorithms whose colours a colour-blind reader
// confuses differ in dashes.
var all = []Record{
	{Name: "map-elites", Title: "MAP-Elites", Page: "map-elites.md", Steps: 1_600_000_000, Color: 0x0072b2},
	{Name: "pga-map-elites", Title: "PGA-MAP-Elites", Page: "policy-gradients.md#pga-map-elites",
		Steps: 180_000_000, Color: 0xd55e00, Columns: critics,
		Smoke: smokePGA},
	{Name: "aurora", Title: "AURORA", Page: "aurora.md#aurora",
		Steps: 1_200_000_000, Color: 0x56b4e9, Dashes: dashed, Columns: population,
		Smoke: smokeAurora},
	{Name: "pga-aurora", Title: "PGA-AURORA", Page: "aurora.md#pga-aurora",
		Steps: 110_000_000, Color: 0xe69f00, Dashes: dashed,
		Columns: slices.Concat(critics, population), Smoke: slices.Concat(smokePGA, smokeAurora)},

	{Name: "diayn-reward", Title: "DIAYN+REWARD", Page: "mutual-information.md#the-task-reward",
		Group: Reinforcement, Steps: 10_000_000, Color: 0x009e73, Columns: diayn},
	{Name: "dads-reward", Title: "DADS+REWARD", Page: "mutual-information.md#the-task-reward",
		Group: Reinforcement, Steps: 8_500_000, Color: 0xcc79a7, Columns: dads},
	{Name: "smerl-diayn", Title: "SMERL(DIAYN)", Page: "mutual-information.md#smerl",
		Group: Reinforcement, Steps: 10_000_000, Color: 0x000000,
		Dashes: dashDot, Columns: smerlDIAYN},
	{Name: "smerl-dads", Title: "SMERL(DADS)", Page: "mutual-information.md#smerl",
		Group: Reinforcement, Steps: 8_500_000, Color: 0xdc050c,
		Dashes: longDash, Columns: smerlDADS},

	{Name: "diayn", Title: "DIAYN", Page: "mutual-information.md#diayn",
		Group: Unrewarded, Steps: 10_000_000, Color: 0x999933, Dashes: dotted, Columns: diayn},
	{Name: "dads", Title: "DADS", Page: "mutual-information.md#dads",
		Group: Unrewarded, Steps: 8_500_000, Color: 0x332288, Dashes: dotted, Columns: dads},

	{Name: "sac", Title: "SAC", Page: "learners.md#sac", Group: Blocks, Steps: 10_000_000, Color: 0x555555,
		Columns: []string{"critic_loss", "actor_loss", "alpha_loss", "training_reward", "task_reward", EvaluationSteps}},
	{Name: "ppo", Title: "PPO", Page: "learners.md#ppo", Group: Blocks, Color: 0x111111,
		Columns: []string{"policy_loss", "value_loss", "entropy", EvaluationSteps}},

	{Name: "dns", Title: "DNS", Page: "dns.md", Group: Later, Like: "map-elites", Color: 0x7b4f1d, Dashes: dotted,
		Columns: append(slices.Clone(population), "archive_coverage", "archive_qd_score"),
		Smoke:   []string{"capacity=24"}},
	{Name: "dcrl-map-elites", Title: "DCRL-MAP-Elites", Page: "policy-gradients.md#dcrl-map-elites",
		Group: Later, Like: "pga-map-elites", Color: 0x9b4dff,
		Columns: critics, Smoke: smokePGA},
	{Name: "metra", Title: "METRA", Page: "metra.md#metra",
		Group: Later, Like: "diayn", Color: 0x882255, Dashes: longDash,
		Smoke: smokeMetra, Columns: skills("encoder_loss")},
	{Name: "cma-mae", Title: "CMA-MAE", Page: "cma-mae.md#cma-mae",
		Group: Later, Like: "map-elites", Color: 0x00b3c8, Dashes: longDash,
		Smoke: smokeES},
	{Name: "qdac", Title: "QDAC", Page: "qdac.md",
		Group: Later, Like: "diayn", Color: 0xa3be00, Dashes: dashDotDot,
		Columns: skills("features_loss")},
	{Name: "ascii-me", Title: "ASCII-ME", Page: "policy-gradients.md#ascii-me",
		Group: Later, Like: "map-elites", Color: 0xff2fa8, Dashes: dashDotDot,
		Smoke: []string{"num_epochs=3"}},
	{Name: "dms", Title: "DMS", Page: "cma-mae.md#dms",
		Group: Later, Like: "map-elites", Color: 0x00d200, Dashes: dashDot,
		Smoke: smokeES},
	{Name: "csf", Title: "CSF", Page: "metra.md#csf",
		Group: Later, Like: "diayn", Color: 0x8787ff, Dashes: longDash,
		Smoke: append(slices.Clone(smokeMetra), "negative_skills=16"), Columns: skills("encoder_loss")},
	{Name: "ppga", Title: "PPGA", Page: "gradient-arborescence.md#ppga",
		Group: Later, Like: "map-elites", Color: 0xc49a6c, Dashes: dashed,
		Columns: []string{"policy_loss", "value_loss"},
		Smoke: []string{"num_envs=4", "unroll_length=5", "num_minibatches=2", "update_epochs=1", "ppo_iterations=1",
			"value_hidden=8"}},
	{Name: "aurora-xcon", Title: "AURORA-XCon", Page: "aurora.md#aurora-xcon",
		Group: Later, Like: "aurora", Color: 0x1f4fd8, Dashes: dotted,
		Columns: population,
		Smoke: []string{"capacity=24", "sampling=5", "loop=2", "epochs=3", "training_batch=8", "latent=2",
			"extinction_every=3"}},

	{Name: "mome", Title: "MOME", Page: "mome.md",
		Group: OtherTasks, Like: "map-elites", Color: 0x6b8e00, Dashes: longDash,
		Columns: []string{"moqd_score", "max_hypervolume", "global_hypervolume", "archive_size"},
		Smoke:   []string{"front_size=3"}},
	{Name: "cma-mega", Title: "CMA-MEGA", Page: "gradient-arborescence.md#cma-mega",
		Group: OtherTasks, Like: "map-elites", Color: 0x006d5b, Dashes: dashDot,
		Smoke: smokeES},
	{Name: "cma-maega", Title: "CMA-MAEGA", Page: "gradient-arborescence.md#cma-maega",
		Group: OtherTasks, Like: "map-elites", Color: 0xf0027f,
		Dashes: dashDotDot, Smoke: smokeES},
}

// skills are the metrics of an algorithm that learns skills, whose diversity reward has a loss.
func skills(loss string) []string {
	return append(slices.Clone(critics), "alpha_loss", loss, "training_reward", "diversity_reward", "task_reward",
		EvaluationSteps)
}

// Names lists the names of the algorithms of some groups, of all groups without any, in order.
func Names(groups ...Group) (list []string) {
	for _, r := range all {
		if len(groups) == 0 || slices.Contains(groups, r.Group) {
			list = append(list, r.Name)
		}
	}
	return list
}

// Find returns an algorithm by name; false if it is unknown.
func Find(name string) (Record, bool) {
	for _, r := range all {
		if r.Name == name {
			return r, true
		}
	}
	return Record{}, false
}

// Of returns an algorithm by name. It panics if it is unknown.
func Of(name string) Record {
	r, ok := Find(name)
	if !ok {
		panic(names.Unknown("algorithm", name, Names()))
	}
	return r
}

// Evolves reports whether the algorithm is neuroevolution, in or after the paper.
func (r Record) Evolves() bool {
	like, _ := Find(cmp.Or(r.Like, r.Name))
	return like.Group == Neuroevolution
}

// Work is the paper's method that does the same work as the algorithm, or else its own name.
func (r Record) Work() string { return cmp.Or(r.Like, r.Name) }

// Compared lists the eight methods of the paper's main experiments, or those of them that have all given parts,
// such as "pga", "aurora", "smerl", "dads" or "-reward", in their names.
func Compared(parts ...string) []string {
	return slices.DeleteFunc(Names(Neuroevolution, Reinforcement), func(name string) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(name, part) })
	})
}

// Compare orders names of algorithms as [Names] does. Others follow alphabetically.
var Compare = names.InOrder(Names())
