package envtest

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/physics"
	"example.com/qdnb/xla"
)

// evidence is what a backend shows: an episode twice, and one with changed inputs.
type evidence struct {
	*trial
	platform             *xla.Platform
	base, again, changed recording
}

// promise is a promise of environments.
type promise struct {
	name       string
	everywhere bool // on all backends; otherwise on the first only
	// broken says how the promise is broken, or returns "".
	broken func(e evidence) string
}

// finiteNumbers is the promise that those after it depend on.
const finiteNumbers = "finite"

var promises = []promise{
	{"done", false, func(e evidence) string {
		return say(e.base.first(func(_ int, x float32) bool { return x != 0 && x != 1 }, done), "it must be 0 or 1: %s")
	}},
	{"done", false, func(e evidence) string {
		if e.spec.Length > 1 && slices.Max(e.lengths()) == 1 {
			return fmt.Sprintf("all %d copies are done in step 1 of %d", batch, e.spec.Length)
		}
		return ""
	}},
	{finiteNumbers, false, func(e evidence) string {
		return say(e.base.first(func(_ int, x float32) bool { return !finite(x) }),
			"random actions lead to a number that is not finite, or a body beyond %g m, m/s or rad/s: %s", physics.MaxState)
	}},
	{"zero", false, func(e evidence) string {
		return say(e.base.first(func(i int, x float32) bool {
			return x != 0 && slices.Contains(e.spec.Zero, i%e.spec.Observations)
		}, observation), "%s, but Spec says that it is always 0")
	}},
	{"limits", false, evidence.outside},
	{"reset", false, func(e evidence) string {
		return say(e.base.first(func(i int, x float32) bool { return i == 0 && x != 0 }, done, reward),
			"it must give reward 0 and done 0: %s")
	}},
	{"reset", false, func(e evidence) string {
		state := e.base.named(resetState)
		at, off := state.off(state, 0, twin, len(state.rows[0]))
		if off <= 1e-5 {
			return ""
		}
		return "the same key gives another state at another batch index: " + at
	}},
	{"reset", false, func(e evidence) string {
		rows := e.base.named(resetState).rows
		varies := slices.ContainsFunc(rows[1:twin], func(row []float32) bool { return !slices.Equal(row, rows[0]) })
		switch {
		case !varies && !e.FixedStart:
			return "all keys give the same state; set FixedStart if this is intended"
		case varies && e.FixedStart:
			return "keys give different states in an environment with a fixed start"
		}
		return ""
	}},
	{"memory", false, func(e evidence) string {
		for _, a := range e.base {
			if name, ok := strings.CutPrefix(a.name, variable); ok && a.constant() != "" &&
				slices.Equal(a.rows[0][:a.width], a.rows[0][a.width:]) {
				return fmt.Sprintf("%s is %g in all copies, at the start and at the end: remember what differs", name,
					a.rows[0][:a.width])
			}
		}
		return ""
	}},
	{"offset", false, evidence.belowOffset},
	{"observation", false, func(e evidence) string { return e.base.named(observation).constant() }},
	{"descriptor", false, func(e evidence) string { return e.base.named(descriptor).constant() }},
	{"actions", false, func(e evidence) string {
		// A NaN leaves a trace wherever an action is used, and always in rewards and ends, see [envs.Step].
		if e.spec.Descriptor.Kind == envs.None ||
			differ(e.base, e.changed, []int{spoiled}, observation, descriptor, endState) != "" {
			return ""
		}
		return "they change neither the physics state nor the observation nor the descriptor"
	}},
	{"same bytes", true, func(e evidence) string {
		return say(differ(e.base, e.again, allCopies), "the same keys and actions give other bytes when %s "+
			"runs them again: %s", e.platform.Name())
	}},
	{"independence", true, func(e evidence) string {
		return say(differ(e.base, e.changed, []int{0, 2, twin}), "a copy depends on the other copies, on %s: %s",
			e.platform.Name())
	}},
}

// say formats a message that ends with at, or returns "" if at is "".
func say(at, format string, args ...any) string {
	if at == "" {
		return ""
	}
	return fmt.Sprintf(format, append(args, at)...)
}

// lengths returns the number of valid steps of each copy.
func (e evidence) lengths() (steps []int) {
	for _, row := range e.base.named(done).rows {
		n := len(row) - 1
		if i := slices.IndexFunc(row[1:], func(x float32) bool { return x > 0 }); i >= 0 {
			n = i + 1
		}
		steps = append(steps, n)
	}
	return steps
}

// belowOffset says which reward is below what Offset allows for.
func (e evidence) belowOffset() string {
	lowest, at, steps := math.Inf(1), "", e.lengths()
	rewards := e.base.named(reward)
	for copy, row := range rewards.rows {
		for i, x := range row[1 : steps[copy]+1] {
			if float64(x) < lowest {
				lowest, at = float64(x), rewards.at(copy, i+1)
			}
		}
	}
	offset := e.spec.Offset
	if e.spec.Descriptor.Kind == envs.None || lowest >= -offset-1e-5*math.Abs(offset) {
		return ""
	}
	return fmt.Sprintf("%s is %g, but Offset is %g: it must be at least %g, or the QD score falls as cells "+
		"are filled", at, lowest, offset, -lowest)
}

// outside says which component of the descriptors of episodes is outside of its limits in all copies.
func (e evidence) outside() string {
	d := e.spec.Descriptor
	if d.Kind == envs.None {
		return ""
	}
	ends := e.base.named(outcome).rows
	for k, name := range d.Components {
		values := make([]float32, batch)
		for copy := range values {
			values[copy] = ends[copy][k]
		}
		within := func(x float32) bool { return x >= d.Lower[k] && x <= d.Upper[k] }
		if !slices.ContainsFunc(values, within) {
			return fmt.Sprintf("%q is from %g to %g at the end of all copies, outside of its limits, %g and %g",
				name, slices.Min(values), slices.Max(values), d.Lower[k], d.Upper[k])
		}
	}
	return ""
}
