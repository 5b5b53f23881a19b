package scoring

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/envs"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// defaultSlice is the slice size for a backend. On a CPU it is the number of policies whose weights
// fit the cache of one core, but at least two, because XLA multiplies a single row slowly. On other
// backends it is the whole batch.
func defaultSlice(kind backend.Kind, batch, params int) int {
	if kind != backend.CPU {
		return batch
	}
	const cache = 1536 << 10 // bytes of weights; a core has 1 to 2 MB of private cache
	slice := 8               // a power of two, so that the physics fills vector registers
	for slice > 2 && slice*4*params > cache {
		slice /= 2
	}
	return min(batch, slice)
}

// Plan says which episodes an [Evaluator] plays.
type Plan struct {
	Policies int
	// Episodes is the number of episodes, each from an initial state of its own: episode i is
	// played by policy i mod Policies. 0 is one episode per policy.
	Episodes int
	// States is the number of initial states that all policies share, instead of Episodes: episode
	// i is played by policy i / States from initial state i mod States. The results for a policy do
	// not depend on the other policies.
	States int
	// OneStart lets all episodes start in the state that the seed alone draws.
	OneStart  bool
	Slice     int // policies rolled out together; 0: [Task.DefaultSlice]
	Recorders []envs.Recorder
}

// Evaluator rolls out given policies in slices on all workers, like a generation.
type Evaluator struct {
	*xla.Program[evaluatorIn, evaluatorOut]
	plan     Plan
	batch    Rollout
	platform *xla.Platform
	// Choices are the actions of a [envs.Discrete] environment, on all workers; empty for others.
	Choices xla.Array
}

// Results are the results of the episodes of an [Evaluator].
type Results struct {
	Fitnesses   []float32   // [episodes]
	Descriptors []float32   // [episodes * d]
	Records     [][]float32 // [episodes * rows * width], of each recorder
}

// evaluatorIn are the inputs of an evaluator's program.
type evaluatorIn struct {
	Genotypes    xla.Array // [policies, N]
	Seed, Worker xla.Array
	Conditions   xla.Array // of tasks that are adjustable, see [envs.Adjust]
	Choices      xla.Array
}

// evaluatorOut are its outputs: [scores] of the episodes.
type evaluatorOut struct {
	Fitness, Descriptors xla.Array
	Records              xla.State[[]*Node]
}

// Evaluator compiles the rollout of policies for whole episodes.
func (t Task) Evaluator(p *xla.Platform, plan Plan) (*Evaluator, error) {
	params := t.Policy.Params()
	if plan.States != 0 {
		plan.Episodes = plan.Policies * plan.States
	}
	plan.Episodes = cmp.Or(plan.Episodes, plan.Policies)
	if m, ok := t.Policy.(nn.MLP); ok && slices.Min(m.Sizes[1:]) < 1 {
		return nil, fmt.Errorf("layers of a policy must have at least 1 unit, not %v", m.Sizes[1:])
	} else if ok && slices.Max(m.Sizes) > 1<<24 || params > 1<<40 { // of more, products overflow
		return nil, fmt.Errorf("a policy has at most %d units in a layer and %d parameters: lower hidden", 1<<24, 1<<40)
	}
	plan.Slice = cmp.Or(plan.Slice, t.DefaultSlice(p.Kind, plan.Episodes))
	if plan.Policies < 1 || plan.Policies > plan.Episodes || plan.Slice < 1 || t.Length < 1 {
		return nil, fmt.Errorf("a rollout needs at least 1 policy, 1 step, slices of 1 and an "+
			"episode per policy, not %d, %d, %d and %d", plan.Policies, t.Length, plan.Slice, plan.Episodes)
	}
	plan.Slice = min(plan.Slice, plan.Episodes)
	if err := p.CheckMemory(4*int64(params)*int64(plan.Policies), 4*int64(params)*int64(plan.Slice)); err != nil {
		return nil, err
	}
	e := &Evaluator{plan: plan, platform: p, batch: Rollout{Task: t, Recorders: plan.Recorders,
		Slices: xla.Slices{N: plan.Episodes, Size: plan.Slice, Workers: p.Workers}}}
	in := evaluatorIn{Genotypes: xla.Declare(dtypes.Float32, plan.Policies, params),
		Seed: xla.Declare(dtypes.Uint32, 2), Worker: xla.Declare(dtypes.Int32)}
	if live := adjustable(t.Env); live != nil {
		in.Conditions = xla.Declare(dtypes.Float32, live.Width())
	}
	if d, ok := t.Env.(envs.Discrete); ok {
		choices := d.Choices()
		if err := p.CheckMemory(4*int64(choices.Len()), 0); err != nil {
			return nil, err
		}
		value, err := xla.Uploads(choices, p.Copies())
		if err != nil {
			return nil, err
		}
		e.Choices = xla.Value(value)
	}
	in.Choices = e.Choices
	var err error
	e.Program, err = xla.CompileParallel(p, "evaluation", in, e.build, t.Axes(plan.Episodes, plan.Slice, 0)...)
	if err != nil {
		e.Choices.Free()
		return nil, err
	}
	return e, nil
}

// Free releases the program and the choices.
func (e *Evaluator) Free() {
	e.Choices.Free()
	e.Program.Free()
}

// Slice is the number of policies rolled out together.
func (e *Evaluator) Slice() int { return e.plan.Slice }

// build returns the scores of the episodes.
func (e *Evaluator) build(in evaluatorIn) evaluatorOut {
	type carried struct {
		Genotypes  *Node
		Key        random.Key
		Worker     *Node
		Conditions *Node
		Choices    *Node
	}
	env, slices, worker := e.batch.Env, e.batch.Slices, in.Worker.Tree
	start := carried{in.Genotypes.Tree, random.KeyOf(in.Seed.Tree), worker, in.Conditions.Tree, in.Choices.Tree}
	numbers := func(turn *Node, c carried) (first, episodes *Node) {
		// the last slice may repeat some episodes
		first = MinScalar(slices.First(turn, c.Worker), slices.N-slices.Size)
		return first, slices.From(first)
	}
	keys := func(turn *Node, c carried) random.Key { // of the initial states
		_, states := numbers(turn, c)
		if e.plan.States > 0 {
			states = ModScalar(states, int32(e.plan.States))
		}
		key := c.Key.FoldInEach(states).FoldIn(streamReset)
		if e.plan.OneStart {
			same := func(word *Node) *Node { return BroadcastToDims(word, states.Shape().Dimensions...) }
			key = random.Key{Hi: same(c.Key.Hi), Lo: same(c.Key.Lo)}
		}
		return key
	}
	reset := func(turn *Node, c carried) envs.State {
		start := envs.Reset(env, keys(turn, c))
		start.Noise = envs.Noise{}
		if live := adjustable(env); live != nil {
			start = live.Under(start, c.Conditions)
		}
		return start
	}
	local := Score(e.batch, worker, start, reset, func(turn *Node, c carried) (carried, chooser) {
		first, episodes := numbers(turn, c)
		var genotypes *Node
		switch {
		case e.plan.States > 0:
			states := ModScalar(episodes, int32(e.plan.States))
			policy := DivScalar(Sub(episodes, states), int32(e.plan.States))
			genotypes = Gather(c.Genotypes, InsertAxes(policy, -1))
		case e.plan.Policies == slices.N:
			genotypes = xla.Rows(c.Genotypes, first, slices.Size)
		default:
			genotypes = Gather(c.Genotypes, InsertAxes(ModScalar(episodes, int32(e.plan.Policies)), -1))
		}
		policies := chooser{Net: e.batch.View(genotypes), Choices: c.Choices}
		if c.Choices != nil {
			policies.Noise = envs.Noise{Keys: keys(turn, c).FoldIn(streamDraws), Step: ZerosLike(episodes)}
		}
		return c, policies
	})
	all := xla.Map(local, func(x *Node) *Node { return e.byEpisode(slices.Gather(x, worker)) })
	return evaluatorOut{xla.Out(all.Fitness), xla.Out(all.Descriptors), xla.Out(all.Records)}
}

// byEpisode reorders the slices' results by episode: the last slices may have been shifted back to stay
// within the batch.
func (e *Evaluator) byEpisode(flat *Node) *Node {
	n, size := e.batch.Slices.N, e.batch.Slices.Size
	index := make([]int32, n)
	for i := range e.batch.Slices.Turns() * e.batch.Slices.Workers {
		first := min(i*size, n-size)
		for k := range size {
			index[first+k] = int32(i*size + k)
		}
	}
	return Gather(flat, InsertAxes(Const(flat.Graph(), index), -1))
}

// Evaluate rolls out the policies: genotypes [policies, N], with initial states drawn from the
// seed. Conditions other than nil need a task that is adjustable, see [envs.Adjust].
func (e *Evaluator) Evaluate(genotypes xla.Sharded, seed int64, conditions envs.Conditions) (r Results, err error) {
	live := adjustable(e.batch.Env)
	if conditions != nil && live == nil {
		return r, fmt.Errorf("the conditions of %s cannot be changed", e.batch.Env.Spec().Name)
	}
	in := evaluatorIn{Genotypes: xla.Value(genotypes), Seed: e.platform.Seed(seed),
		Worker: xla.Value(e.platform.WorkerNumbers()), Choices: e.Choices}
	defer in.Seed.Free()
	defer in.Worker.Free()
	if live != nil {
		values, err := live.Values(conditions)
		if err != nil {
			return r, err
		}
		in.Conditions = xla.Value(e.platform.Replicated(func() *tensors.Tensor {
			return tensors.FromValue(values)
		}))
		defer in.Conditions.Free()
	}
	out, err := e.Run(in)
	if err != nil {
		return r, err
	}
	defer xla.Free(&out)
	var failed [3]error
	r.Fitnesses, failed[0] = out.Fitness.Floats()
	r.Descriptors, failed[1] = out.Descriptors.Floats()
	r.Records, failed[2] = out.Records.Lists()
	return r, cmp.Or(failed[:]...)
}

// adjustable returns the task of an environment if it is adjustable, see [envs.Adjust]; else nil.
func adjustable(env envs.Env) *envs.Rigid {
	if r, ok := env.(*envs.Rigid); ok && r.Adjustable() {
		return r
	}
	return nil
}

// chooser is the policy that acts in an episode: a pytree. In a [envs.Discrete] environment it
// draws one of the choices by the logits that the network returns.
type chooser struct {
	Net     nn.Policy
	Choices *Node      // [choices, actions]; nil: the network returns actions
	Noise   envs.Noise // of the draws
}

// Memory implements [nn.Policy]. The noise of the next draw comes first.
func (c chooser) Memory() []*Node { return append(xla.Flatten(c.Noise), c.Net.Memory()...) }

// Act implements [nn.Policy].
func (c chooser) Act(memory []*Node, obs *Node) (next []*Node, action *Node) {
	drawn := len(xla.Flatten(c.Noise))
	next, out := c.Net.Act(memory[drawn:], obs)
	if c.Choices == nil {
		return next, out
	}
	noise := xla.Unflatten(c.Noise, memory[:drawn])
	choice := nn.Choose(out, noise.Now().Uniform(0, 1, out.Shape().Dimensions...))
	return append(xla.Flatten(noise.Next()), next...), Gather(c.Choices, InsertAxes(choice, -1))
}
