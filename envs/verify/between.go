package verify

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"example.com/qdnb/xla"
)

// Between says how far a backend is from another one, and from golden files: of all files that it
// was given.
type Between struct {
	platforms [2]*xla.Platform
	apart     map[quantity]*differences
	drifts    []Drift
}

// NewBetween compares a backend with another one.
func NewBetween(p, other *xla.Platform) *Between {
	return &Between{platforms: [2]*xla.Platform{p, other}, apart: map[quantity]*differences{}}
}

// quantity is a row of [Between.Steps].
type quantity struct{ env, what string }

// differences are absolute differences of numbers.
type differences struct{ golden, other []float64 }

// Distance are absolute differences of many numbers.
type Distance struct {
	Median float64 `json:"median"`
	Worst  float64 `json:"worst"` // the largest number there is if one of a pair is none
}

// distance is that of the differences, which it sorts.
func distance(differences []float64) Distance {
	slices.Sort(differences)
	return Distance{differences[len(differences)/2], differences[len(differences)-1]}
}

// off is an absolute difference.
func off(a, b float32) float64 {
	switch d := math.Abs(float64(a) - float64(b)); {
	case a == b:
		return 0
	case math.IsNaN(d) || math.IsInf(d, 0):
		return math.MaxFloat64
	default:
		return d
	}
}

// StepDistance is how far single steps from the same states end from each other.
type StepDistance struct {
	Env      string   `json:"env"`
	Quantity string   `json:"quantity"` // positions, rotations, velocities, observations, rewards
	Numbers  int      `json:"numbers"`  // that were compared
	Golden   Distance `json:"golden"`   // of the backend from the golden files
	Other    Distance `json:"other"`    // of the backend from the other one
}

// quantities are what arrays of single steps hold. Bodies have positions, rotations, velocities,
// angular velocities; the point a position.
var quantities = map[string]string{
	"xy_after": "positions", "pos_after": "positions", "rot_after": "rotations",
	"vel_after": "velocities", "ang_after": "velocities",
	"obs": "observations", "reward": "rewards",
}

// order is that of a robot's rows.
var order = []string{"positions", "rotations", "velocities", "observations", "rewards"}

// File compares what both backends compute of a golden file, and returns the report about the first
// one. Single steps go into [Between.Steps]; a file of trajectories gives the starts of episodes
// for [Between.Drifts].
func (b *Between) File(path string) (Report, error) {
	var found [2]examined
	for i, p := range b.platforms {
		var err error
		if found[i], err = examine(p, path); err != nil {
			return Report{}, errors.WithMessage(err, path)
		}
	}
	switch report := found[0].Report; report.Kind {
	case "onestep", perturbed:
		b.steps(found)
	case "traj":
		drift, err := driftBetween(found)
		if err != nil {
			return Report{}, errors.WithMessage(err, path)
		}
		b.drifts = append(b.drifts, drift)
	}
	return found[0].Report, nil
}

func (b *Between) steps(found [2]examined) {
	for g, group := range found[0].groups {
		for i, n := range group.numbers {
			what, ok := quantities[n.name]
			if !ok {
				continue
			}
			key := quantity{found[0].Env, what}
			if b.apart[key] == nil {
				b.apart[key] = &differences{}
			}
			d, other := b.apart[key], found[1].groups[g].numbers[i].got
			for k := range n.got {
				d.golden, d.other = append(d.golden, off(n.got[k], n.want[k])),
					append(d.other, off(n.got[k], other[k]))
			}
		}
	}
}

// Steps are the distances of single steps, by environment and quantity.
func (b *Between) Steps() (all []StepDistance) {
	for key, d := range b.apart {
		all = append(all, StepDistance{key.env, key.what, len(d.golden), distance(d.golden),
			distance(d.other)})
	}
	slices.SortFunc(all, func(a, b StepDistance) int {
		return cmp.Or(strings.Compare(a.Env, b.Env),
			slices.Index(order, a.Quantity)-slices.Index(order, b.Quantity))
	})
	return all
}

// Drifts are how episodes part, by environment.
func (b *Between) Drifts() []Drift {
	slices.SortFunc(b.drifts, func(a, b Drift) int { return strings.Compare(a.Env, b.Env) })
	return b.drifts
}
