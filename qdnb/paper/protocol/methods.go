package protocol

import (
	"cmp"
	"slices"
	"strings"
)

// Algorithms of runs that use the skills of another run.
const (
	Adaptation          = "adaptation"
	HierarchicalControl = "hierarchical-control"
)

// method is an algorithm and the name that the paper prints for it.
type method struct{ id, name string }

// The paper's methods in its order: quality diversity, reinforcement learning with the task's
// reward and without it, and their building blocks. Later methods are not in the paper.
var (
	neuroevolution = []method{{"map-elites", "MAP-Elites"}, {"pga-map-elites", "PGA-MAP-Elites"},
		{"aurora", "AURORA"}, {"pga-aurora", "PGA-AURORA"}}
	reinforcement = []method{{"diayn-reward", "DIAYN+REWARD"}, {"dads-reward", "DADS+REWARD"},
		{"smerl-diayn", "SMERL(DIAYN)"}, {"smerl-dads", "SMERL(DADS)"}}
	unrewarded = []method{{"diayn", "DIAYN"}, {"dads", "DADS"}}
	later      = []method{{"dns", "DNS"}, {"dcrl-map-elites", "DCRL-MAP-Elites"}, {"metra", "METRA"},
		{"cma-mae", "CMA-MAE"}, {"qdac", "QDAC"}, {"ascii-me", "ASCII-ME"}}
	severalObjectives = []method{{"mome", "MOME"}}
	withGradients     = []method{{"cma-mega", "CMA-MEGA"}, {"cma-maega", "CMA-MAEGA"}} // of the task
	evolving          = append(ids(neuroevolution), "dns", "dcrl-map-elites", "cma-mae", "mome", "ascii-me",
		"cma-mega", "cma-maega")
	all = slices.Concat(neuroevolution, reinforcement, unrewarded,
		[]method{{"sac", "SAC"}, {"ppo", "PPO"}}, later, severalObjectives, withGradients)
)

func ids(methods []method) []string {
	list := make([]string, len(methods))
	for i, m := range methods {
		list[i] = m.id
	}
	return list
}

// Neuroevolution lists the quality-diversity methods.
func Neuroevolution() []string { return ids(neuroevolution) }

// Evolves reports whether a method is of the neuroevolution family, which later methods belong to,
// too.
func Evolves(id string) bool { return slices.Contains(evolving, id) }

// Reinforcement lists the reinforcement-learning methods with the task's reward.
func Reinforcement() []string { return ids(reinforcement) }

// Unrewarded lists the methods without the task's reward. "-reward" is appended for the same method
// with it.
func Unrewarded() []string { return ids(unrewarded) }

// Later lists the methods published after the paper that have the same objective.
func Later() []string { return ids(later) }

// Compared lists the eight methods of the main experiments.
func Compared() []string { return append(Neuroevolution(), Reinforcement()...) }

// With lists the compared methods that have a part, such as "pga", "aurora", "smerl", "dads" or
// "-reward", in their identifier.
func With(part string) []string {
	return slices.DeleteFunc(Compared(), func(id string) bool { return !strings.Contains(id, part) })
}

// RewardMethods lists the methods of the experiment "reward": each diversity without the task's
// reward, summed with it, and in SMERL.
func RewardMethods() (list []string) {
	for _, id := range Unrewarded() {
		list = append(append(list, id), With(id)...)
	}
	return list
}

// Rank is the place of an algorithm in the paper's order, which later methods follow, or -1 for a
// name that is unknown.
func Rank(id string) int {
	return slices.IndexFunc(all, func(m method) bool { return m.id == id })
}

// Name returns the name that is printed for an algorithm, or id itself if it is unknown.
func Name(id string) string {
	if i := Rank(id); i >= 0 {
		return all[i].name
	}
	return id
}

// InOrder compares names by their place in a list. Names that are not in it follow, alphabetically.
func InOrder(list []string) func(a, b string) int {
	place := func(name string) int {
		if i := slices.Index(list, name); i >= 0 {
			return i
		}
		return len(list)
	}
	return func(a, b string) int { return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a, b)) }
}

// CompareMethods and CompareEnvironments order names as the paper does. Others follow.
var (
	CompareMethods      = InOrder(ids(all))
	CompareEnvironments = InOrder(Environments())
)
