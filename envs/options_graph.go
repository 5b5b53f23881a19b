package envs

import (
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/envs/physics"
	"example.com/qdnb/xla/random"
)

// Option changes an environment that [Make] builds: the start of episodes, or the clipping of
// positions. [WithVariations] changes gravity, actuators and targets.
type Option func(*options)

type options struct {
	fixed bool
	start int64
	wide  bool
}

// FixedStart starts all episodes from the initial state of a seed, whatever their keys. AURORA
// evaluates its policies this way.
func FixedStart(seed int64) Option { return func(o *options) { o.fixed, o.start = true, seed } }

// WidePositions stops clipping the state descriptor of ant-omni, humanoid-omni and ant-trap to its limits. In
// ant-trap only the upper limit of x is lifted. The published DADS runs this way, because a clipped
// position leaves nothing to predict. The limits of the descriptor and of repertoires stay. Other
// environments do not change.
func WidePositions() Option { return func(o *options) { o.wide = true } }

const far = 1e10

// clipping returns the limits that positions are clipped to: limits, or lower and upper if
// [WidePositions] is set.
func (o options) clipping(limits Descriptor, lower, upper []float32) Descriptor {
	if o.wide {
		limits.Lower, limits.Upper = lower, upper
	}
	return limits
}

// rigid builds the task of a model. define sets its functions.
func rigid(task catalog.Task, model physics.Model, leg []string, define func(*Rigid)) (Env, error) {
	system, err := physics.NewSystem(model)
	if err != nil {
		return nil, err
	}
	env := &Rigid{Settings: task.Spec, System: system, Leg: leg}
	define(env)
	return env, nil
}

// brax returns the system of a built-in robot.
func (r *Rigid) brax() *physics.System { return r.System.(*physics.System) }

// StartAt is an environment whose episodes all start from the state of one key: the seed's, folded
// with the numbers of a path.
func StartAt(env Env, seed int64, path ...int) Env { return fixedStart{env, seed, path} }

type fixedStart struct {
	Env
	seed int64
	path []int
}

func (f fixedStart) Reset(keys random.Key) State {
	key := random.NewKey(keys.Hi.Graph(), f.seed)
	for _, number := range f.path {
		key = key.FoldIn(number)
	}
	same := func(word, like *Node) *Node { return BroadcastToDims(word, like.Shape().Dimensions...) }
	return f.Env.Reset(random.Key{Hi: same(key.Hi, keys.Hi), Lo: same(key.Lo, keys.Lo)})
}

// Unwrap returns the task whose episodes start from one state; see [StartAt].
func (f fixedStart) Unwrap() Env { return f.Env }
