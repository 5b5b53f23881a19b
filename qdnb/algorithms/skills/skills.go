package skills

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// Distribution is a distribution of skills. The zero value has none: the policy learns only the task.
type Distribution struct {
	// OneHot is the number of one-hot skills. Environment k plays skill k mod OneHot during the whole
	// run. Otherwise skills are vectors, given by Draw and Evaluated.
	OneHot int
	// Draw returns the skills of new episodes, vectors [keys, size].
	Draw func(keys random.Key) *Node
	// Evaluated are the vectors that are evaluated, [count][size], the same ones during the whole run.
	Evaluated [][]float32
	// Redraw is the share of the sampled transitions whose vector is replaced by a new one of Draw.
	Redraw float64
}

// Count is the number of evaluated skills.
func (d Distribution) Count() int { return max(d.OneHot, len(d.Evaluated)) }

// Size is the number of network inputs that hold a skill.
func (d Distribution) Size() int {
	if d.vectors() && len(d.Evaluated) > 0 {
		return len(d.Evaluated[0])
	}
	return d.OneHot
}

func (d Distribution) vectors() bool { return d.Draw != nil }

// axis names [Distribution.Size] in error messages.
func (d Distribution) axis() string {
	if d.vectors() {
		return "components of a skill"
	}
	return "skills"
}

// check returns an error if the parts do not fit each other.
func (d Distribution) check() error {
	if d.vectors() != (len(d.Evaluated) > 0) || d.vectors() && d.OneHot > 0 {
		return errors.New("skills are either one-hot, or vectors with Draw and Evaluated")
	}
	for i, skill := range d.Evaluated {
		if len(skill) != d.Size() || len(skill) == 0 {
			return fmt.Errorf("evaluated skill %d has %d components, the first has %d", i, len(skill), d.Size())
		}
	}
	if !(d.Redraw >= 0 && d.Redraw <= 1) || d.Redraw > 0 && !d.vectors() {
		return fmt.Errorf("the share of redrawn skills is %g: it must be from 0 to 1, and 0 for one-hot skills", d.Redraw)
	}
	return nil
}

// unitVectors are uniformly distributed unit vectors. The evaluated ones are evenly spaced on a
// circle, or else drawn once for all runs.
func unitVectors(count, size int) Distribution {
	rng, d := rand.New(rand.NewPCG(1, 2)), Distribution{Evaluated: make([][]float32, count)}
	for i := range d.Evaluated {
		x, square := make([]float64, size), 0.0
		for k := range x {
			x[k] = rng.NormFloat64()
		}
		if size == 2 {
			x[1], x[0] = math.Sincos(2 * math.Pi * float64(i) / float64(count))
		}
		for _, c := range x {
			square += c * c
		}
		for _, c := range x {
			d.Evaluated[i] = append(d.Evaluated[i], float32(c/math.Sqrt(square)))
		}
	}
	d.Draw = func(keys random.Key) *Node {
		x := keys.Normal(keys.Hi.Shape().Dimensions[0], size)
		return Div(x, Sqrt(AddScalar(InsertAxes(ReduceSum(Square(x), 1), -1), 1e-12)))
	}
	return d
}

// cube are skills uniform in [-1, 1]^size. The evaluated ones fill it evenly for every count:
// multiples of the powers of 1/x modulo 1, where x is the positive root of x^(size+1) = x + 1
// (Roberts 2018, "The unreasonable effectiveness of quasirandom sequences").
func cube(count, size int) Distribution {
	root := 1.0
	for range 100 {
		root = math.Pow(1+root, 1/float64(size+1))
	}
	d := Distribution{Evaluated: make([][]float32, count)}
	for i := range d.Evaluated {
		step := 1.0
		for range size {
			step /= root
			_, share := math.Modf(0.5 + float64(i+1)*step)
			d.Evaluated[i] = append(d.Evaluated[i], float32(2*share-1))
		}
	}
	d.Draw = func(keys random.Key) *Node {
		return keys.Uniform(-1, 1, keys.Hi.Shape().Dimensions[0], size)
	}
	return d
}

// width is the number of float32 values that store a skill: the index of a one-hot one.
func (d Distribution) width() int {
	if d.vectors() {
		return d.Size()
	}
	return min(1, d.OneHot)
}

// inputs returns skills as they are stored, [B, width], as network inputs, [B, size].
func (d Distribution) inputs(stored *Node) *Node {
	if d.vectors() {
		return stored
	}
	shape := shapes.Make(dtypes.Float32, stored.Shape().Dimensions[0], d.OneHot)
	column := Iota(stored.Graph(), shape, 1)
	return ConvertDType(Equal(BroadcastToDims(stored, shape.Dimensions...), column), dtypes.Float32)
}

// playing returns the index of the one-hot skill of each of n environments, [n, 1].
func (d Distribution) playing(g *Graph, n int) *Node {
	return ModScalar(Iota(g, shapes.Make(dtypes.Float32, n, 1), 0), float64(max(1, d.OneHot)))
}

// drawn returns a vector for each of n keys split from a key, [n, size].
func (d Distribution) drawn(key random.Key, n int) *Node {
	x := d.Draw(key.Split(n))
	xla.CheckShape(d.Draw, "Draw", "skills", x, dtypes.Float32, n, d.Size())
	return x
}

// redrawn replaces the vectors of the first Redraw of the rows [B, size].
func (d Distribution) redrawn(stored *Node, key random.Key) *Node {
	rows := stored.Shape().Dimensions[0]
	n := int(math.Round(d.Redraw * float64(rows)))
	if n == 0 {
		return stored
	}
	row := Iota(stored.Graph(), shapes.Make(dtypes.Int32, rows), 0)
	first := InsertAxes(LessThan(row, ConstAs(row, int32(n))), -1)
	return Where(BroadcastToDims(first, stored.Shape().Dimensions...), d.drawn(key, rows), stored)
}

// Features are what distinguishes skills: Now and Next of a [Batch]. The zero value stands for whole
// observations.
type Features struct {
	// Columns are the sizes of what Of returns, which is stored with a transition: [d, d] for features
	// before and after a step, or [d] for features of the step, which are both Now and Next.
	Columns []int
	// Of returns the features of n steps from one state to the next, [n, d] each.
	Of func(before, after envs.State) []*Node
}

// Descriptors are the state descriptors before and after a step.
func (p Problem) Descriptors() Features {
	d := len(p.Env.Spec().Descriptor.Lower)
	return Features{[]int{d, d}, func(before, after envs.State) []*Node {
		return []*Node{before.Descriptor, after.Descriptor}
	}}
}

// EpisodeDescriptors are [Problem.Descriptors] of the same episode before a step: in an environment
// that keeps its descriptor when an episode ends, too, the first step starts from the initial one
// (see [envs.Descriptor]).
func (p Problem) EpisodeDescriptors() Features {
	f := p.Descriptors()
	f.Of = func(before, after envs.State) []*Node {
		return []*Node{p.descriptor(before), after.Descriptor}
	}
	return f
}

// descriptor returns the state descriptor of a state, [n, d]; of the initial state if an episode has
// just ended.
func (p Problem) descriptor(s envs.State) *Node {
	return Where(ended(s, s.Descriptor), envs.AutoReset(p.Env, p.Length).Start(s), s.Descriptor)
}

// ended returns where the step to a state ended an episode, with the shape of x [n, d].
func ended(s envs.State, x *Node) *Node {
	return BroadcastToDims(InsertAxes(GreaterThan(s.Done, ZerosLike(s.Done)), -1), x.Shape().Dimensions...)
}
