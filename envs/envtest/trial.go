package envtest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/envs"
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
	var first evidence
	for i, platform := range t.Platforms {
		if i > 0 {
			t.Steps = min(t.Steps, agreed)
		}
		e, err := t.observe(platform)
		if err != nil {
			t.breaks("%v", err)
			return
		}
		for _, p := range promises {
			if i > 0 && !p.everywhere {
				continue
			}
			if broken := p.broken(e); broken != "" {
				t.breaks("%s: %s", p.name, broken)
				if p.name == finiteNumbers {
					return
				}
			}
		}
		if i == 0 {
			first = e
		} else {
			t.agree(first, e)
		}
	}
}

// observe runs episodes on a backend, on the last one also of a second build: methods must not have
// hidden randomness or state.
func (t *trial) observe(platform *xla.Platform) (e evidence, err error) {
	e.trial, e.platform = t, platform
	plain, changed := t.inputs(false), t.inputs(true)
	defer xla.Free(&plain, &changed)
	play, err := t.compile(platform)
	if err != nil {
		return e, err
	}
	defer play.Free()
	for _, run := range []struct {
		in episodeIn
		to *recording
	}{{plain, &e.base}, {plain, &e.again}, {changed, &e.changed}} {
		if *run.to, err = t.play(play, run.in); err != nil {
			return e, err
		}
	}
	if platform != t.Platforms[len(t.Platforms)-1] {
		return e, nil
	}
	rebuilt, err := t.compile(platform)
	if err != nil {
		return e, fmt.Errorf("same bytes: it cannot be built twice: %w", err)
	}
	defer rebuilt.Free()
	again, err := t.play(rebuilt, plain)
	if err != nil {
		return e, err
	}
	if at := differ(e.base, again, allCopies); at != "" {
		t.breaks("same bytes: a second build behaves differently (randomness must come from the keys): %s", at)
	}
	return e, nil
}

// episodeIn are the inputs of an episode: the words of the keys, [B] each, and actions [T, B, actions] in
// +-1.
type episodeIn struct{ Hi, Lo, Actions xla.Array }

func (t *trial) inputs(changed bool) episodeIn {
	streams := [batch]uint64{0, 1, 2, 3, 0}
	if changed {
		streams[other] = 9
	}
	var hi, lo []uint32
	actions := make([]float32, t.Steps*batch*t.spec.Actions)
	for i, stream := range streams {
		hi, lo = append(hi, 1), append(lo, uint32(stream))
		draws := rand.New(rand.NewPCG(1, stream))
		for step := range t.Steps {
			for a := range t.spec.Actions {
				action := 2*draws.Float32() - 1
				if changed && i == spoiled {
					action = float32(math.NaN())
				}
				actions[(step*batch+i)*t.spec.Actions+a] = action
			}
		}
	}
	return episodeIn{xla.Single(tensors.FromValue(hi)), xla.Single(tensors.FromValue(lo)),
		xla.FromFloats(actions, t.Steps, batch, t.spec.Actions)}
}

// episode is a compiled episode, and its recording in the graph.
type episode struct {
	*xla.Program[episodeIn, xla.State[[]*graph.Node]]
	recording
}

// compile compiles an episode.
func (t *trial) compile(platform *xla.Platform) (e episode, err error) {
	words := xla.Declare(dtypes.Uint32, batch)
	axes := append([]xla.Axis{{Size: batch, Meaning: "copies"}, {Size: t.Steps, Meaning: "steps"}}, envs.Axes(t.spec)...)
	e.Program, err = xla.Compile(platform, "episode",
		episodeIn{words, words, xla.Declare(dtypes.Float32, t.Steps, batch, t.spec.Actions)},
		func(in episodeIn) xla.State[[]*graph.Node] {
			e.recording = play(t.env, random.Key{Hi: in.Hi.Tree, Lo: in.Lo.Tree}, in.Actions.Tree)
			out := make([]*graph.Node, len(e.recording))
			for i, a := range e.recording {
				out[i] = a.node
			}
			return xla.Out(out)
		}, axes...)
	return e, err
}

// play runs an episode and copies what it records to the host.
func (t *trial) play(e episode, in episodeIn) (recording, error) {
	out, err := e.Run(in)
	if err != nil {
		return nil, err
	}
	defer out.Free()
	lists, err := out.Lists()
	if err != nil {
		return nil, err
	}
	r := slices.Clone(e.recording)
	for i, list := range lists {
		r[i].rows = slices.Collect(slices.Chunk(list, len(list)/batch))
	}
	return r, nil
}

// agreed is the number of steps on all backends except the first: later, contacts may amplify
// rounding, and pure Go is slow.
const agreed = 2

// agree compares the first steps on two backends.
func (t *trial) agree(a, b evidence) {
	for k, array := range a.base {
		if array.width == 0 && array.name != resetState {
			continue // recorded at the end, which is at another step
		}
		n := len(b.base[k].rows[0])
		if strings.HasPrefix(array.name, variable) {
			n = array.width // as above
		}
		for copy := range batch {
			if at, off := array.off(b.base[k], copy, copy, n); off > t.Tolerance {
				t.breaks("agreement: %s and %s differ by %.2g, %.2g is allowed (Suite.Tolerance allows more): %s",
					a.platform.Name(), b.platform.Name(), off, t.Tolerance, at)
				break
			}
		}
	}
}

var allCopies = []int{0, 1, 2, 3, 4}
