package verify

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"example.com/qdnb/xla"
)

// Between accumulates the differences of a backend from another one and from golden files.
type Between struct {
	platforms [2]*xla.Platform
	apart     map[quantity]*differences
	drifts    []Drift
}

// NewBetween returns an empty comparison of a backend with another one; see [Between.File].
func NewBetween(p, other *xla.Platform) *Between {
	return &Between{platforms: [2]*xla.Platform{p, other}, apart: map[quantity]*differences{}}
}

// quantity identifies a row of [Between.Steps].
type quantity struct{ env, what string }

// differences holds absolute differences from the golden files and from the other backend.
type differences struct{ golden, other []float64 }

// Distance summarises the absolute differences of many numbers.
type Distance struct {
	Median float64 `json:"median"`
	Worst  float64 `json:"worst"` // math.MaxFloat64 if a number is not finite
}

// distance summarises differences. It sorts them.
func distance(differences []float64) Distance {
	slices.Sort(differences)
	return Distance{differences[len(differences)/2], differences[len(differences)-1]}
}

// off is the absolute difference of a and b; math.MaxFloat64 if it is not finite.
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

// StepDistance summarises the differences of single steps from the same states.
type StepDistance struct {
	Env      string   `json:"env"`
	Quantity string   `json:"quantity"` // positions, rotations, velocities, observations, rewards
	Numbers  int      `json:"numbers"`  // how many were compared
	Golden   Distance `json:"golden"`   // from the golden files
	Other    Distance `json:"other"`    // from the other backend
}

// quantities maps arrays of single steps to quantities. Bodies have positions, rotations and linear
// and angular velocities; the point has only a position.
var quantities = map[string]string{
	"xy_after": "positions", "pos_after": "positions", "rot_after": "rotations",
	"vel_after": "velocities", "ang_after": "velocities",
	"obs": "observations", "reward": "rewards",
}

// order is the order of the rows of an environment in [Between.Steps].
var order = []string{"positions", "rotations", "velocities", "observations", "rewards"}

// File runs a golden file on both backends and returns the report of the first. Single steps add to
// [Between.Steps]. The starts of trajectories are used for episodes in [Between.Drifts].
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

// Steps returns the distances of single steps, sorted by environment and quantity.
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

// Drifts returns the divergence of episodes, sorted by environment.
func (b *Between) Drifts() []Drift {
	slices.SortFunc(b.drifts, func(a, b Drift) int { return strings.Compare(a.Env, b.Env) })
	return b.drifts
}
