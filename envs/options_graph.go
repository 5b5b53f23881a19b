package envs

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/pkg/errors"

	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/envs/physics"
	"example.com/qdnb/envs/robots"
	"example.com/qdnb/xla"
)

// Option changes an environment that [Make] builds: a perturbation of the paper's adaptation
// experiments, the start of episodes, or the clipping of positions.
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

// Target moves the target of ant-maze; catalog.Targets lists the paper's positions.
func Target(x, y float64) Option { return func(o *options) { o.target = &[2]float64{x, y} } }

// FixedStart starts all episodes from the initial state of a seed, whatever their keys. AURORA
// evaluates its policies this way.
func FixedStart(seed int64) Option { return func(o *options) { o.fixed, o.start = true, seed } }

// WidePositions stops clipping the state descriptor of ant-omni and ant-trap to its limits. In
// ant-trap only the upper limit of x is lifted. The published DADS runs this way, because a clipped
// position leaves nothing to predict. The limits of the descriptor and of repertoires stay. Other
// environments do not change.
func WidePositions() Option { return func(o *options) { o.wide = true } }

// clipping returns the limits that positions are clipped to: limits, or lower and upper if
// [WidePositions] is set.
func (o options) clipping(limits Descriptor, lower, upper []float32) Descriptor {
	if o.wide {
		limits.Lower, limits.Upper = lower, upper
	}
	return limits
}

// none returns an error if gravity or actuators are set.
func (o options) none() error {
	if o.gravity != 1 || o.actuators != 1 {
		return errors.New("has neither gravity nor actuators to change")
	}
	return nil
}

// rigid builds the task of a model, with the gravity and the strength of the actuators of a leg
// that are set. define sets its functions.
func (o options) rigid(task catalog.Task, model physics.Model, leg []string,
	define func(*Rigid)) (Env, error) {
	model, err := robots.WithGravity(model, o.gravity)
	if err != nil {
		return nil, err
	}
	if model, err = robots.WithStrength(model, o.actuators, leg...); err != nil {
		return nil, err
	}
	system, err := physics.NewSystem(model)
	if err != nil {
		return nil, err
	}
	env := &Rigid{Settings: task.Spec, System: system, Leg: leg}
	define(env)
	return env, nil
}

var errNoTarget = errors.New("has no target to move; only ant-maze has one")

// checkTarget checks that a target is finite and lies within the limits of a descriptor that is a
// position.
func checkTarget(target [2]float64, spec Spec) error {
	for axis, c := range target {
		low, high := math.Inf(-1), math.Inf(1)
		if spec.Positions() {
			low, high = float64(spec.Descriptor.Lower[axis]), float64(spec.Descriptor.Upper[axis])
		}
		if !(c > low && c < high) {
			return errors.Errorf("target (%g, %g) of %s: %c must lie between %g and %g", target[0],
				target[1], spec.Name, "xy"[axis], low, high)
		}
	}
	return nil
}

// StartAt is an environment whose episodes all start from the state of one key: that of a seed,
// folded with the numbers of a path.
func StartAt(env Env, seed int64, path ...int) Env { return fixedStart{env, seed, path} }

type fixedStart struct {
	Env
	seed int64
	path []int
}

func (f fixedStart) Reset(keys xla.Key) State {
	key := xla.NewKey(keys.Hi.Graph(), f.seed)
	for _, number := range f.path {
		key = key.FoldIn(number)
	}
	same := func(word, like *Node) *Node { return BroadcastToDims(word, like.Shape().Dimensions...) }
	return f.Env.Reset(xla.Key{Hi: same(key.Hi, keys.Hi), Lo: same(key.Lo, keys.Lo)})
}
