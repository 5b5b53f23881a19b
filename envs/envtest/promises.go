package envtest

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/physics"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// Roles of the copies. Copies 0 and twin have the same key and actions. In the changed inputs copy
// spoiled has NaN actions and copy other another key and other actions; the rest do not change.
const (
	spoiled = 1
	other   = 3
	twin    = 4
)

// try runs all checks. It stops early if a check fails that the others depend on.
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
			t.breaks("same bytes: the same keys and actions give other bytes when %s runs them again: %s",
				platform.Name(), at)
		}
		t.independent(platform.Name(), base, beside)
		if i == 0 {
			t.acts(base, beside)
		}
		if i == len(t.Platforms)-1 {
			t.rebuilt(platform, plain, base)
		}
	}
}

// inputs are the two words of the keys, [B] each, and actions [T, B, actions] in +-1.
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
	*xla.Program[episodeIn, xla.State[[]*graph.Node]]
	columns []column
}

// episodeIn are the inputs of an episode: the words of the keys, and the actions.
type episodeIn struct{ Hi, Lo, Actions xla.Array }

// episode copies inputs to the device. actions has the given shape.
func (in inputs) episode(actions []float32, dims ...int) episodeIn {
	return episodeIn{xla.Single(tensors.FromValue(in.hi)), xla.Single(tensors.FromValue(in.lo)),
		xla.Single(tensors.FromFlatDataAndDimensions(actions, dims...))}
}

// compile compiles an episode.
func (t *trial) compile(platform *xla.Platform) (*player, error) {
	words := xla.Declare(dtypes.Uint32, batch)
	p := &player{}
	var err error
	p.Program, err = xla.Compile(platform, "episode",
		episodeIn{words, words, xla.Declare(dtypes.Float32, t.Steps, batch, t.spec.Actions)},
		func(in episodeIn) xla.State[[]*graph.Node] {
			p.columns = play(t.env, random.Key{Hi: in.Hi.Tree, Lo: in.Lo.Tree}, in.Actions.Tree)
			out := make([]*graph.Node, len(p.columns))
			for i, c := range p.columns {
				out[i] = c.node
			}
			return xla.Out(out)
		}, t.axes()...)
	return p, err
}

// axes names the array sizes of episodes, for compiling.
func (t *trial) axes() []xla.Axis {
	return append([]xla.Axis{{Size: batch, Meaning: "copies"}, {Size: t.Steps, Meaning: "steps"}},
		envs.Axes(t.spec)...)
}

// play runs an episode. It reports a failure and then returns nil.
func (t *trial) play(p *player, in inputs) recording {
	arrays, err := fetch(p.Program, in.episode(in.actions, t.Steps, batch, t.spec.Actions))
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

// fetch runs a program, frees its inputs, and copies its outputs to the host.
func fetch[T any](p *xla.Program[episodeIn, xla.State[T]], in episodeIn) ([][]float32, error) {
	defer xla.Free(&in)
	out, err := p.Run(in)
	if err != nil {
		return nil, err
	}
	defer out.Free()
	return out.Lists()
}

// sound checks the values of a single episode.
func (t *trial) sound(r recording) {
	d := t.spec.Descriptor
	for _, a := range r {
		if at := a.first(allCopies, func(_, i int, x float32) bool { return !finite(x) }); at != "" {
			t.breaks("finite: random actions lead to a number that is not finite, or a body beyond %g m, "+
				"m/s or rad/s: %s", physics.MaxState, at)
		}
		switch a.name {
		case "done":
			binary := func(_, _ int, x float32) bool { return x != 0 && x != 1 }
			if at := a.first(allCopies, binary); at != "" {
				t.breaks("done: it must be 0 or 1: %s", at)
			}
		case "the observation":
			nonzero := func(_, i int, x float32) bool {
				return x != 0 && slices.Contains(t.spec.Zero, i%t.spec.Observations)
			}
			if at := a.first(allCopies, nonzero); at != "" {
				t.breaks("zero: %s, but Spec says that it is always 0", at)
			}
		case "the descriptor", "the episode's descriptor":
			outside := func(_, i int, x float32) bool {
				k := i % len(d.Lower)
				return x < d.Lower[k] || x > d.Upper[k]
			}
			if d.Kind == envs.Mean {
				if at := a.first(allCopies, outside); at != "" {
					t.breaks("limits: %s, outside of the limits in Spec", at)
				}
			}
		}
		if a.name == "done" || a.name == "the reward" {
			nonzero := func(_, i int, x float32) bool { return i == 0 && x != 0 }
			if at := a.first(allCopies, nonzero); at != "" {
				t.breaks("reset: it must give reward 0 and done 0: %s", at)
			}
		}
		if a.name == resetState {
			t.starts(a)
		}
	}
	t.useful(r)
}

// useful checks that episodes can be told apart and scored.
func (t *trial) useful(r recording) {
	d := t.spec.Descriptor
	var steps [batch]int // valid ones
	for copy, row := range r.named("done").rows {
		steps[copy] = t.Steps
		if i := slices.IndexFunc(row[1:], func(x float32) bool { return x > 0 }); i >= 0 {
			steps[copy] = i + 1
		}
	}
	if t.spec.Length > 1 && slices.Max(steps[:]) == 1 {
		t.breaks("done: all %d copies are done in step 1 of %d", batch, t.spec.Length)
	}
	lowest, at := math.Inf(1), ""
	rewards := r.named("the reward")
	for copy, row := range rewards.rows {
		for i, x := range row[1 : steps[copy]+1] {
			if float64(x) < lowest {
				lowest, at = float64(x), rewards.at(copy, i+1)
			}
		}
	}
	if offset := t.spec.Offset; d.Kind != envs.None && lowest < -offset-1e-5*math.Abs(offset) {
		t.breaks("offset: %s is %g, but Offset is %g: it must be at least %g, or the QD score falls as "+
			"cells are filled", at, lowest, offset, -lowest)
	}
	for _, name := range []string{"the observation", "the descriptor"} {
		if a := r.named(name); a.width > 0 && a.constant() {
			t.breaks("%s: it is %g in all steps of all copies (Suite.Steps allows longer episodes)",
				strings.TrimPrefix(name, "the "), a.rows[0][a.width:2*a.width])
		}
	}
	if d.Kind != envs.Final && d.Kind != envs.Outcome {
		return
	}
	ends := r.named("the episode's descriptor").rows
	for k, name := range d.Components {
		values := make([]float32, batch)
		inside := false
		for copy := range values {
			values[copy] = ends[copy][k]
			inside = inside || values[copy] >= d.Lower[k] && values[copy] <= d.Upper[k]
		}
		if !inside {
			t.breaks("limits: %q is from %g to %g at the end of all copies, outside of its limits, %g and %g",
				name, slices.Min(values), slices.Max(values), d.Lower[k], d.Upper[k])
		}
	}
}

// starts checks the physics states after a reset: equal for the twins, different for other keys.
func (t *trial) starts(state array) {
	if at, off := state.off(state, 0, twin, len(state.rows[0])); off > 1e-5 {
		t.breaks("reset: the same key gives another state at another batch index: %s", at)
	}
	varies := false
	for _, row := range state.rows[1:twin] {
		varies = varies || !slices.Equal(row, state.rows[0])
	}
	if !varies && !t.FixedStart {
		t.breaks("reset: all keys give the same state; set FixedStart if this is intended")
	}
	if varies && t.FixedStart {
		t.breaks("reset: keys give different states in an environment with a fixed start")
	}
}

// independent compares an episode with one in which other copies act differently, one of them with
// NaN actions.
func (t *trial) independent(platform string, base, beside recording) {
	if at := differ(base, beside, []int{0, 2, twin}); at != "" {
		t.breaks("independence: a copy depends on the other copies, on %s: %s", platform, at)
	}
}

// acts checks that actions have an effect that a descriptor could see. A NaN leaves a trace wherever
// an action is used, and always in rewards and ends, see [envs.Step].
func (t *trial) acts(base, beside recording) {
	var plain, changed recording
	for i, a := range base {
		switch a.name {
		case "the observation", "the descriptor", "the physics state at the end":
			plain, changed = append(plain, a), append(changed, beside[i])
		}
	}
	if t.spec.Descriptor.Kind != envs.None && differ(plain, changed, []int{spoiled}) == "" {
		t.breaks("actions: they change neither the physics state nor the observation nor the descriptor")
	}
}

// rebuilt builds the environment a second time: its methods must not have hidden randomness or
// state.
func (t *trial) rebuilt(platform *xla.Platform, in inputs, base recording) {
	player, err := t.compile(platform)
	if err != nil {
		t.breaks("same bytes: it cannot be built twice: %v", err)
		return
	}
	defer player.Free()
	if again := t.play(player, in); again != nil {
		if at := differ(base, again, allCopies); at != "" {
			t.breaks("same bytes: a second build behaves differently (randomness must come from the "+
				"keys): %s", at)
		}
	}
}

// agreed is the number of steps on all backends except the first: later, contacts may amplify
// rounding, and pure Go is slow.
const agreed = 2

// agree compares the first steps on two backends.
func (t *trial) agree(one string, a recording, another string, b recording) {
	for k := range a {
		n := len(b[k].rows[0])
		if a[k].width == 0 && a[k].name != resetState {
			continue // recorded at the end, which is at another step
		}
		for copy := range batch {
			if at, off := a[k].off(b[k], copy, copy, n); off > t.Tolerance {
				t.breaks("agreement: %s and %s differ by %.2g, %.2g is allowed: %s", one, another, off,
					t.Tolerance, at)
				break
			}
		}
	}
}

var allCopies = []int{0, 1, 2, 3, 4}
