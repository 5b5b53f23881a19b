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

// method is an algorithm as tables and figures show it.
type method struct {
	id, name string
	like     string // the paper's method that does the same work as a later one
	color    uint32 // 0xRRGGBB
	dashes   Dashes
}

// Dashes are a pattern of lines.
type Dashes int

// The patterns.
const (
	Solid Dashes = iota
	Dashed
	Dotted
	DashDot
	LongDash
	DashDotDot
)

// The paper's methods in its order: quality diversity, reinforcement learning with the task's
// reward and without it, and their building blocks. Later methods are not in the paper, nor are those
// of other tasks, which have several objectives or gradients. The colours are from Okabe and Ito
// (2008), with four from Tol once those run out. Methods whose colours a colour-blind reader confuses
// differ in dashes.
var (
	neuroevolution = []method{
		{"map-elites", "MAP-Elites", "", 0x0072b2, Solid},
		{"pga-map-elites", "PGA-MAP-Elites", "", 0xd55e00, Solid},
		{"aurora", "AURORA", "", 0x56b4e9, Dashed},
		{"pga-aurora", "PGA-AURORA", "", 0xe69f00, Dashed},
	}
	reinforcement = []method{
		{"diayn-reward", "DIAYN+REWARD", "", 0x009e73, Solid},
		{"dads-reward", "DADS+REWARD", "", 0xcc79a7, Solid},
		{"smerl-diayn", "SMERL(DIAYN)", "", 0x225522, DashDot},
		{"smerl-dads", "SMERL(DADS)", "", 0x882255, DashDot},
	}
	unrewarded = []method{
		{"diayn", "DIAYN", "", 0x999933, Dotted},
		{"dads", "DADS", "", 0x332288, Dotted},
	}
	blocks = []method{
		{"sac", "SAC", "", 0x555555, Solid},
		{"ppo", "PPO", "", 0x111111, Solid},
	}
	later = []method{
		{"dns", "DNS", "map-elites", 0x7b4f1d, Dotted},
		{"dcrl-map-elites", "DCRL-MAP-Elites", "pga-map-elites", 0x9b4dff, Solid},
		{"metra", "METRA", "diayn", 0xdc050c, LongDash},
		{"cma-mae", "CMA-MAE", "map-elites", 0x00b3c8, LongDash},
		{"qdac", "QDAC", "diayn", 0xa3be00, DashDotDot},
		{"ascii-me", "ASCII-ME", "map-elites", 0xff2fa8, DashDotDot},
		{"dms", "DMS", "map-elites", 0x00d200, DashDot},
		{"csf", "CSF", "diayn", 0x8787ff, LongDash},
		{"ppga", "PPGA", "map-elites", 0xc49a6c, Dashed},
		{"aurora-xcon", "AURORA-XCon", "aurora", 0x1f4fd8, Dotted},
	}
	otherTasks = []method{
		{"mome", "MOME", "map-elites", 0x6b8e00, LongDash},
		{"cma-mega", "CMA-MEGA", "map-elites", 0x006d5b, DashDot},
		{"cma-maega", "CMA-MAEGA", "map-elites", 0xf0027f, DashDotDot},
	}
	all = slices.Concat(neuroevolution, reinforcement, unrewarded, blocks, later, otherTasks)
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
func Evolves(id string) bool { return slices.Contains(Neuroevolution(), SameWork(id)) }

// SameWork returns the paper's method that does the same work as a later one, or else id.
func SameWork(id string) string {
	if i := Rank(id); i >= 0 {
		return cmp.Or(all[i].like, id)
	}
	return id
}

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

// Line returns the colour and the dashes of an algorithm's lines; false if it is unknown.
func Line(id string) (color uint32, dashes Dashes, ok bool) {
	if i := Rank(id); i >= 0 {
		return all[i].color, all[i].dashes, true
	}
	return 0, 0, false
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
