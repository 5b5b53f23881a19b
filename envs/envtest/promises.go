package envtest

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/envs"
	"example.com/qdnb/xla"
)

// The copies of the trials. Copies 0 and 4 begin and act alike. In the changed trial copy 1 does
// what is not a number and copy 3 begins and acts otherwise, while copies 0, 2 and 4 are as before.
const (
	spoiled = 1
	other   = 3
	twin    = 4
)

// try goes from what all the rest needs to what is of less consequence.
func (t *trial) try() {
	var first recording // of the first platform
	for i, platform := range t.Platforms {
		if i > 0 {
			t.Steps = min(t.Steps, agreed)
		}
		plain, changed := t.inputs(false), t.inputs(true)
		player, err := t.compile(platform)
		if err != nil {
			t.breaks("%v", err)
			return
		}
		if player == nil { // shapes: said, and the same on all platforms
			return
		}
		base, again, beside := t.play(player, plain), t.play(player, plain), t.play(player, changed)
		player.Free()
		if base == nil || again == nil || beside == nil {
			return
		}
		if i == 0 {
			first = base
			t.sound(base)
		} else {
			t.agree(t.Platforms[0].Name(), first, platform.Name(), base)
		}
		if at := differ(base, again, allCopies); at != "" {
			t.breaks("same bytes: the same keys and actions give others when %s runs them again: %s",
				platform.Name(), at)
		}
		t.independent(platform.Name(), base, beside)
		if i == len(t.Platforms)-1 {
			t.rebuilt(platform, plain, base)
			t.spoiledPolicy(platform, plain)
		}
	}
}

// inputs are the words of the keys [B], twice, and actions [T, B, actions] in +-1.
type inputs struct {
	hi, lo  []uint32
	actions []float32
}

func (t *trial) inputs(changed bool) inputs {
	streams := [batch]uint64{0, 1, 2, 3, 0}
	if changed {
		streams[other] = 9
	}
	in := inputs{actions: make([]float32, t.Steps*batch*t.spec.Actions)}
	for i, stream := range streams {
		in.hi, in.lo = append(in.hi, 1), append(in.lo, uint32(stream))
		random := rand.New(rand.NewPCG(1, stream))
		for step := range t.Steps {
			for a := range t.spec.Actions {
				action := 2*random.Float32() - 1
				if changed && i == spoiled {
					action = float32(math.NaN())
				}
				in.actions[(step*batch+i)*t.spec.Actions+a] = action
			}
		}
	}
	return in
}

// player is a compiled episode.
type player struct {
	*xla.Program
	columns []column
}

// compile returns nil if shapes are wrong, after saying so.
func (t *trial) compile(platform *xla.Platform) (*player, error) {
	words := xla.Input{Shape: shapes.Make(dtypes.Uint32, batch)}
	actions := xla.Input{Shape: shapes.Make(dtypes.Float32, t.Steps, batch, t.spec.Actions)}
	p := &player{}
	var wrong error
	var err error
	p.Program, err = platform.Compile("episode", []xla.Input{words, words, actions},
		func(in []*graph.Node) []*graph.Node {
			p.columns, wrong = play(t.env, xla.Key{Hi: in[0], Lo: in[1]}, in[2])
			if wrong != nil {
				return in[:1]
			}
			out := make([]*graph.Node, len(p.columns))
			for i, c := range p.columns {
				out[i] = c.node
			}
			return out
		}, t.axes()...)
	if err == nil && wrong != nil {
		p.Free()
		t.breaks("%v", wrong)
		return nil, nil
	}
	return p, err
}

// axes names the sizes of the episodes.
func (t *trial) axes() []xla.Axis {
	return append([]xla.Axis{{Size: batch, Meaning: "copies"}, {Size: t.Steps, Meaning: "steps"}},
		t.spec.Axes()...)
}

// play runs an episode; nil if that fails, after saying so.
func (t *trial) play(p *player, in inputs) recording {
	arrays, err := fetch(p.Program, tensors.FromValue(in.hi), tensors.FromValue(in.lo),
		tensors.FromFlatDataAndDimensions(in.actions, t.Steps, batch, t.spec.Actions))
	if err != nil {
		t.breaks("%v", err)
		return nil
	}
	var r recording
	for i, c := range p.columns {
		r = append(r, array{c.name, c.width, slices.Collect(slices.Chunk(arrays[i],
			len(arrays[i])/batch))})
	}
	return r
}

// fetch runs a program and copies what it returns.
func fetch(p *xla.Program, in ...*tensors.Tensor) ([][]float32, error) {
	values := make([]xla.Sharded, len(in))
	for i, tensor := range in {
		values[i] = xla.Sharded{tensor}
		defer values[i].Free()
	}
	out, err := p.Run(values...)
	if err != nil {
		return nil, err
	}
	arrays := make([][]float32, len(out))
	for i, value := range out {
		defer value.Free()
		if arrays[i], err = tensors.CopyFlatData[float32](value[0]); err != nil {
			return nil, err
		}
	}
	return arrays, nil
}

// sound looks at an episode by itself.
func (t *trial) sound(r recording) {
	d := t.spec.Descriptor
	for _, a := range r {
		if at := a.first(allCopies, func(_, i int, x float32) bool { return !finite(x) }); at != "" {
			t.breaks("finite: random actions lead to something that is not a number: %s", at)
		}
		switch a.name {
		case "done":
			if at := a.first(allCopies, func(_, i int,
				x float32) bool {
				return x != 0 && x != 1
			}); at != "" {
				t.breaks("done: it is neither 0 nor 1: %s", at)
			}
		case "the descriptor", "the episode's descriptor":
			outside := func(_, i int, x float32) bool {
				k := i % len(d.Lower)
				return x < d.Lower[k] || x > d.Upper[k]
			}
			if d.Kind == envs.Mean {
				if at := a.first(allCopies, outside); at != "" {
					t.breaks("limits: %s, which Spec says cannot be", at)
				}
			}
		}
		if a.name == "done" || a.name == "the reward" {
			if at := a.first(allCopies, func(_, i int,
				x float32) bool {
				return i == 0 && x != 0
			}); at != "" {
				t.breaks("reset: it must give reward 0 and done 0: %s", at)
			}
		}
		if a.name == "the world after the reset" {
			t.starts(a)
		}
	}
}

// starts looks at the worlds after a reset, of which those of the twins must be alike and others
// not.
func (t *trial) starts(world array) {
	if at, off := world.off(world, 0, twin, len(world.rows[0])); off > 1e-5 {
		t.breaks("reset: the same key gives another state in another place of the batch: %s", at)
	}
	varies := false
	for _, row := range world.rows[1:twin] {
		varies = varies || !slices.Equal(row, world.rows[0])
	}
	if !varies && !t.FixedStart {
		t.breaks("reset: all keys give the same state; if that is meant, set FixedStart")
	}
	if varies && t.FixedStart {
		t.breaks("reset: keys give different states in an environment with a fixed start")
	}
}

// independent compares an episode with one in which neighbours do something else, one of them what
// is not a number.
func (t *trial) independent(platform string, base, beside recording) {
	if at := differ(base, beside, []int{0, 2, twin}); at != "" {
		t.breaks("independence: a copy feels what its neighbours do, on %s: %s", platform, at)
	}
	for _, a := range beside {
		if fitness := a.rows[spoiled][0]; a.name == "the fitness" && !math.IsInf(float64(fitness), -1) {
			t.breaks("NaN: actions that are not numbers give fitness %g on %s; it must be -Inf "+
				"(ClipScalar, Min and Max may lose NaN)", fitness, platform)
		}
	}
}

// rebuilt builds an environment once more: methods must not draw numbers or count by themselves.
func (t *trial) rebuilt(platform *xla.Platform, in inputs, base recording) {
	player, err := t.compile(platform)
	if err != nil || player == nil {
		t.breaks("same bytes: it cannot be built twice: %v", err)
		return
	}
	defer player.Free()
	if again := t.play(player, in); again != nil {
		if at := differ(base, again, allCopies); at != "" {
			t.breaks("same bytes: built once more it does something else (randomness must come from the "+
				"keys): %s", at)
		}
	}
}

// spoiledPolicy rolls out policies of which one does what is not a number.
func (t *trial) spoiledPolicy(platform *xla.Platform, in inputs) {
	words := xla.Input{Shape: shapes.Make(dtypes.Uint32, batch)}
	actions := xla.Input{Shape: shapes.Make(dtypes.Float32, batch, t.spec.Actions)}
	program, err := platform.Compile("rollout", []xla.Input{words, words, actions},
		func(in []*graph.Node) []*graph.Node {
			fitness, _ := envs.Rollout(t.env, steady{in[2]}, t.env.Reset(xla.Key{Hi: in[0], Lo: in[1]}),
				min(3, t.Steps))
			return []*graph.Node{fitness}
		}, t.axes()...)
	if err != nil {
		t.breaks("%v", err)
		return
	}
	defer program.Free()
	action := slices.Clone(in.actions[:batch*t.spec.Actions])
	for a := range t.spec.Actions {
		action[spoiled*t.spec.Actions+a] = float32(math.NaN())
	}
	out, err := fetch(program, tensors.FromValue(in.hi), tensors.FromValue(in.lo),
		tensors.FromFlatDataAndDimensions(action, batch, t.spec.Actions))
	if err != nil {
		t.breaks("%v", err)
		return
	}
	for i, fitness := range out[0] {
		if i == spoiled && !math.IsInf(float64(fitness), -1) {
			t.breaks("NaN: a policy whose actions are NaN has fitness %g on %s; it must be -Inf "+
				"(ClipScalar, Min and Max may lose NaN)", fitness, platform.Name())
		}
		if i != spoiled && !finite(fitness) {
			t.breaks("NaN: a policy beside one whose actions are NaN has fitness %g on %s", fitness,
				platform.Name())
		}
	}
}

// agreed is the number of steps on all backends but the first: later on contacts may make much of
// the rounding, and pure Go takes its time.
const agreed = 2

// agree compares the first steps on two backends.
func (t *trial) agree(one string, a recording, another string, b recording) {
	for k := range a {
		n := len(b[k].rows[0])
		if a[k].width == 0 && a[k].name != "the world after the reset" {
			continue // it is of the end, which is not the same
		}
		for copy := range batch {
			if at, off := a[k].off(b[k], copy, copy, n); off > t.Tolerance {
				t.breaks("agreement: %s and %s are %.2g apart, %.2g is allowed: %s", one, another, off,
					t.Tolerance, at)
				break
			}
		}
	}
}

var allCopies = []int{0, 1, 2, 3, 4}
