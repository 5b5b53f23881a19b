package envs

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/pkg/errors"

	"example.com/qdnb/xla"
)

// Option changes an environment that [Make] builds: the perturbations of the paper's adaptation
// experiments, or the start.
type Option func(*options)

type options struct {
	gravity, actuators float64
	target             *[2]float64
	fixed              bool
	start              int64
	wide               bool
}

// Gravity multiplies gravity.
func Gravity(multiplier float64) Option { return func(o *options) { o.gravity = multiplier } }

// Actuators multiplies the strength of the actuators of one leg: the paper's leg dysfunction.
func Actuators(multiplier float64) Option { return func(o *options) { o.actuators = multiplier } }

// Target puts the target of ant-maze elsewhere; see robots.Targets for the paper's.
func Target(x, y float64) Option { return func(o *options) { o.target = &[2]float64{x, y} } }

// FixedStart gives all episodes the initial state of a seed, whatever their keys: AURORA evaluates
// its policies so.
func FixedStart(seed int64) Option { return func(o *options) { o.fixed, o.start = true, seed } }

// WidePositions lets the state descriptor of ant-omni and ant-trap go beyond its limits, which it
// is else clipped to: in ant-trap x alone, from 0 on. The published DADS runs so, for where a
// position is clipped nothing is left to foretell. The limits of the descriptor, and so of
// repertoires, stay; other environments are not changed.
func WidePositions() Option { return func(o *options) { o.wide = true } }

// clipping is what positions are clipped to: the limits, of which the named axes are widened if the
// option is set.
func (o options) clipping(limits Descriptor, lower, upper []float32) Descriptor {
	if o.wide {
		limits.Lower, limits.Upper = lower, upper
	}
	return limits
}

// none says that an environment has no perturbations.
func (o options) none() error {
	if o.gravity != 1 || o.actuators != 1 {
		return errors.New("has neither gravity nor actuators to change")
	}
	return o.noTarget()
}

func (o options) noTarget() error {
	if o.target != nil {
		return errNoTarget
	}
	return nil
}

var errNoTarget = errors.New("has no target to move; ant-maze has")

// within checks a position of the target.
func within(target [2]float64, low, high float64) error {
	for _, c := range target {
		if !(c > low && c < high) || math.IsInf(c, 0) {
			return errors.Errorf("a target at (%g, %g) is outside of the maze: x and y must lie between "+
				"%g and %g", target[0], target[1], low, high)
		}
	}
	return nil
}

// fixedStart is an environment in which all episodes start from the state of one key.
type fixedStart struct {
	Env
	seed int64
}

// Reset implements [Env].
func (f fixedStart) Reset(keys xla.Key) State {
	key := xla.NewKey(keys.Hi.Graph(), f.seed)
	same := func(word, like *Node) *Node { return BroadcastToDims(word, like.Shape().Dimensions...) }
	return f.Env.Reset(xla.Key{Hi: same(key.Hi, keys.Hi), Lo: same(key.Lo, keys.Lo)})
}
