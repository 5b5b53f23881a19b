package envs_test

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/envs/physics"
	"example.com/qdnb/envs/robots"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla/random"
)

// format specifies how golden files store an environment, with the tolerance of each array. Column
// names lack the affixes for the time: a file has pos_before, init_pos, pos.
type format struct {
	env   envs.Env
	rigid *envs.Rigid                    // nil unless the environment is a system of rigid bodies
	state []column                       // the arrays of a state
	posed []column                       // the same of a state made from joint angles
	start func(state []*Node) envs.State // builds B states from arrays [B, ...]
	read  func(s envs.State) []*Node     // the inverse of start

	stepped []column // of a single step, without the state after it
	started []column // of the start of a trajectory: observation and descriptor
	traced  []column // of each step of a trajectory
	percent int      // percentage of steps that may be outside of the tolerance
	restart bool     // steps of trajectories start from the stored states, not from the computed ones
	bounded bool     // rounding grows along trajectories: the horizon arrays limit the compared steps
}

// view is what a step or a start gives.
type view struct {
	envs.State
	arrays  []*Node // of the state
	contact algebra.Contact
}

func (v view) show(columns []column) (nodes []*Node) {
	for _, c := range columns {
		nodes = append(nodes, c.of(v))
	}
	return nodes
}

// view returns the view of a start.
func (f format) view(s envs.State) view { return view{State: s, arrays: f.read(s)} }

// step returns the view of a step, with its contacts.
func (f format) step(s envs.State, action *Node) view {
	if f.rigid == nil {
		return f.view(f.env.Step(s, action))
	}
	var contact algebra.Contact
	witness := *f.env.(*envs.Rigid)
	witness.Observe = func(m envs.StepView) *Node {
		contact = m.Contact
		return f.rigid.Observe(m)
	}
	v := f.view(witness.Step(s, action))
	v.contact = contact
	return v
}

func formatOf(env envs.Env) format {
	spec := env.Spec()
	switch env := env.(type) {
	case envs.Pointmaze: // exact up to rounding
		near := tolerance{base: 1e-6}
		xy := column{name: "xy", dims: []int{2}, tolerance: near}
		stepped := append([]column{observation(spec, near)}, outcome(spec, near, near)...)
		return format{env: env, state: []column{xy},
			start: func(state []*Node) envs.State {
				component := func(k int) *Node { return Reshape(Slice(state[0], AxisRange(), AxisElem(k)), -1) }
				return env.At(component(0), component(1))
			},
			read:    func(s envs.State) []*Node { return []*Node{Stack(s.PhysicsState, -1)} },
			stepped: stepped,
			started: append([]column{observation(spec, near)}, descriptor(spec, near)...),
			traced:  append(stepped[:len(stepped):len(stepped)], stateArray(xy, 0)),
		}
	case *envs.BlackBox: // the state is the last solution
		near := tolerance{base: 1e-6, value: 3e-6}
		return format{env: env, state: []column{{name: "solution", dims: []int{spec.Actions}}},
			start: func(state []*Node) envs.State {
				return envs.State{PhysicsState: []*Node{swap(state[0])}}
			},
			read:    func(s envs.State) []*Node { return []*Node{swap(s.PhysicsState[0])} },
			stepped: outcome(spec, near, near),
		}
	}
	return formatOfRigid(env.(*envs.Rigid))
}

// chaotic lists the environments in which a step loses a digit or more of precision, with the
// tolerance of trajectory steps.
var chaotic = map[string]float64{"halfcheetah-uni": 1e-2, "halfcheetah-hurdles": 5e-2}

// formatOfRigid returns the format of a rigid-body task. Steps must be as exact as the published code's
// float32 is compared with its float64.
func formatOfRigid(env *envs.Rigid) format {
	spec, bodies := env.Spec(), len(env.System.BodyNames())
	pose, speed := tolerance{base: 1e-5, err64: "err64_posrot"}, tolerance{base: 1e-3, err64: "err64_velang"}
	touch, desc := tolerance{base: 1e-3, err64: "err64_velang", value: 1e-5}, pose
	startDesc := tolerance{base: 1e-5}
	if spec.Descriptor.Kind == envs.Mean {
		desc, startDesc = tolerance{}, tolerance{} // contact bits must be equal
	}
	f := format{env: env, rigid: env, state: coordinates(bodies, pose, speed),
		stepped: slices.Concat([]column{observation(spec, tolerance{base: 1e-3, err64: "err64_obs"})},
			outcome(spec, tolerance{base: 1e-4, err64: "err64_reward"}, desc), impulses(bodies, touch)),
		started: append([]column{observation(spec, tolerance{base: 1e-3})}, descriptor(spec, startDesc)...),
		percent: 1,
		bounded: true,
	}
	apart := tolerance{base: 1e-2}
	if base, ok := chaotic[spec.Name]; ok {
		// Of 256 single steps 6 to 8 are outside, by the processor and the backend.
		apart.base, f.percent, f.restart, f.bounded = base, 4, true, false
	}
	obs := observation(spec, apart)
	obs.ignore = env.Contacts // a contact one substep later changes them by its whole impulse
	f.traced = []column{obs, stateArray(bodyArray("pos", bodies, 3, apart), 0)}
	return f.withSystem()
}

// withSystem completes the format of a system of rigid bodies.
func (f format) withSystem() format {
	env := f.rigid
	f.posed = coordinates(len(env.System.BodyNames()), tolerance{base: 1e-5}, tolerance{base: 1e-4})
	f.start = func(state []*Node) envs.State {
		return env.Begin(random.Key{}, env.System.(*physics.System).Import(state[0], state[1], state[2], state[3]))
	}
	f.read = func(s envs.State) []*Node { return export(env.System, algebra.State{Parts: s.PhysicsState}) }
	return f
}

// formatOfSystem returns the format of a system that is read from its description in a folder. Its task
// observes and rewards nothing.
func formatOfSystem(dir, name string) format {
	model, _, err := robots.ReadFile(filepath.Join(dir, "config_"+name+".txt"))
	must.Do(err)
	engine := must.Get(physics.NewSystem(model))
	nothing := func(m envs.StepView) *Node { return m.Frame(model.Bodies[0].Name).Position[0] }
	env := &envs.Rigid{System: engine, Settings: envs.Spec{Name: name, Actions: engine.Actions()}, Observe: nothing,
		Reward: func(before, _ envs.StepView, _ *Node) *Node { return nothing(before) }}
	speed := tolerance{base: 1e-4, err64: "err64_velang"}
	touch := speed
	touch.value = 1e-5 // an impulse is the sum of those of all substeps
	f := format{env: env, rigid: env, stepped: impulses(len(model.Bodies), touch),
		state: coordinates(len(model.Bodies), tolerance{base: 1e-6, err64: "err64_posrot"}, speed)}
	return f.withSystem()
}

// impulses returns the outputs of the velocity changes by contacts.
func impulses(bodies int, t tolerance) []column {
	linear, angular := bodyArray("contact_vel", bodies, 3, t), bodyArray("contact_ang", bodies, 3, t)
	linear.of = func(v view) *Node { return byBody(v.contact.Velocity) }
	angular.of = func(v view) *Node { return byBody(v.contact.AngularVelocity) }
	return []column{linear, angular}
}

func bodyArray(name string, bodies, components int, t tolerance) column {
	return column{name: name, dims: []int{bodies, components}, tolerance: t}
}

// coordinates returns the arrays of a state of rigid bodies.
func coordinates(bodies int, pose, speed tolerance) []column {
	return []column{bodyArray("pos", bodies, 3, pose), bodyArray("rot", bodies, 4, pose),
		bodyArray("vel", bodies, 3, speed), bodyArray("ang", bodies, 3, speed)}
}

// byBody stacks components [bodies, B] to an array [B, bodies, 3].
func byBody(components [3]*Node) *Node { return TransposeAllAxes(Stack(components[:], 0), 2, 1, 0) }

// export returns the arrays of a state of rigid bodies.
func export(system envs.System, s algebra.State) []*Node {
	position, rotation, velocity, angular := system.Export(s)
	return []*Node{position, rotation, velocity, angular}
}

func stateArray(c column, i int) column {
	c.of = func(v view) *Node { return v.arrays[i] }
	return c
}

func observation(spec envs.Spec, t tolerance) column {
	return column{name: "obs", dims: []int{spec.Observations}, tolerance: t, of: func(v view) *Node { return v.Observation }}
}

// descriptor returns the output of the descriptor, or none if the task has no descriptor.
func descriptor(spec envs.Spec, t tolerance) []column {
	if spec.Descriptor.Kind == envs.None {
		return nil
	}
	return []column{{name: "desc", dims: []int{len(spec.Descriptor.Lower)}, tolerance: t,
		of: func(v view) *Node { return v.Descriptor }}}
}

// outcome returns the outputs of a step's reward, done and descriptor.
func outcome(spec envs.Spec, reward, desc tolerance) []column {
	return append([]column{{name: "reward", tolerance: reward, of: func(v view) *Node { return v.Reward }},
		{name: "done", of: func(v view) *Node { return v.Done }}}, descriptor(spec, desc)...)
}

// perturb puts the environment of a format under the conditions of a file. what is their name in the
// file's name; the array parameter has the value.
func (f *format) perturb(what string, stored *goldenFile) {
	live := must.Get(envs.Adjust(f.env))
	parameter, _ := stored.get(column{name: "parameter", dims: []int{1}})
	conditions := envs.Conditions{}
	switch k := float64(parameter[0]); what {
	case "gravity":
		conditions[envs.GravityMultiplier] = []float64{k}
	case "actuator":
		conditions[envs.ActuatorsMultiplier] = []float64{k}
	case "target": // of the paper, by its number
		at := catalog.Targets()[int(k)]
		where, _ := stored.get(column{name: "target", dims: []int{3}})
		if x, y := float64(where[0]), float64(where[1]); math.Hypot(x-at[0], y-at[1]) > 1e-5 {
			stored.Fatalf("%s: target %g is at (%g, %g), not %v", stored.path, k, x, y, at)
		}
		conditions[envs.TargetPosition] = at[:]
		f.state[0].ignore = 3 // the target, the last body, stays at its nominal position
	default:
		stored.Fatalf("%s: unknown perturbation %s", stored.path, what)
	}
	values := must.Get(live.Values(conditions))
	start, read := f.start, f.read
	f.env = live
	f.start = func(state []*Node) envs.State {
		s := start(state)
		s.PhysicsState = append(s.PhysicsState, nil) // the conditions, which Under sets
		return live.Under(s, Const(state[0].Graph(), values))
	}
	f.read = func(s envs.State) []*Node {
		s.PhysicsState = s.PhysicsState[:len(s.PhysicsState)-1]
		return read(s)
	}
}

// axis names an axis whose length depends on the file but is the same in all of its arrays.
type axis string

const (
	samples axis = "samples"
	steps   axis = "steps"
	starts  axis = "starts" // of a system
)

// column specifies an array of a golden file: float32 [axes..., dims...].
type column struct {
	name      string
	axes      []axis
	dims      []int
	tolerance tolerance          // of arrays that are compared
	ignore    int                // number of last elements of dims that are not compared
	of        func(v view) *Node // of arrays that a step gives
}

// at returns the columns of the same quantities at another time, given by the affixes of their names.
func at(columns []column, prefix, suffix string, axes ...axis) []column {
	out := slices.Clone(columns)
	for i, c := range columns {
		out[i].name, out[i].axes = prefix+c.name+suffix, axes
	}
	return out
}

// goldenFile holds the contents of a golden file.
type goldenFile struct {
	testing.TB
	path   string
	arrays map[string]npz.Array
	sizes  map[axis]int // set by the first array that was read
}

// get returns an array. A missing array, a wrong shape or an element that is not finite fails the test.
func (f *goldenFile) get(c column) (flat []float32, shape []int) {
	stored, ok := f.arrays[c.name]
	if !ok {
		f.Fatalf("%s has no array %q", f.path, c.name)
	}
	for i, axis := range c.axes {
		if _, known := f.sizes[axis]; !known && i < len(stored.Shape) {
			f.sizes[axis] = stored.Shape[i]
		}
		shape = append(shape, f.sizes[axis])
	}
	shape = append(shape, c.dims...)
	flat = must.Get(stored.Float32s())
	if !slices.Equal(stored.Shape, shape) || len(flat) == 0 {
		f.Fatalf("%s: array %q has shape %v, not %v (%v, then %v)", f.path, c.name, stored.Shape, shape, c.axes, c.dims)
	}
	if i := slices.IndexFunc(flat, func(x float32) bool { return x-x != 0 }); i >= 0 {
		f.Fatalf("%s: array %q holds %v, at element %d", f.path, c.name, flat[i], i)
	}
	return flat, shape
}

// tolerance is the largest difference that counts as rounding. The zero value requires equality.
type tolerance struct {
	base float64
	// err64 names the array with the published code's rounding error per sample. Ten times this is added to the tolerance.
	err64 string
	value float64 // added after multiplication by the absolute stored number
}

// compared is the comparison of one array.
type compared struct {
	name    string
	worst   float64 // largest absolute difference; +Inf if this build computed NaN
	share   float64 // largest difference as a fraction of its tolerance; above 1 it is outside
	outside int     // parts with a difference outside of the tolerance
	passes  bool    // outside is no more than the group allows
}

// group compares arrays with the same parts: samples, starts of trajectories, or their steps. A part is
// outside if any of its arrays is outside of its tolerance.
type group struct {
	parts       string
	of, allowed int
	edges       int // starts that differ from the file only by a marginal contact, which are not outside
	outside     map[int]bool
	results     []compared
}

// newGroup returns an empty group. Only parts with counts set are compared. percent of them may be
// outside, at least one unless percent is 0.
func newGroup(parts string, counts []bool, percent int) *group {
	g := &group{parts: parts, outside: map[int]bool{}}
	for _, count := range counts {
		if count {
			g.of++
		}
	}
	if percent > 0 {
		g.allowed = max(1, g.of*percent/100)
	}
	return g
}

// compare compares computed arrays with stored ones, in the parts with counts set.
func (g *group) compare(f *goldenFile, columns []column, computed [][]float32, counts []bool) {
	for i, c := range columns {
		want, _ := f.get(c)
		var err64 []float32
		if name := c.tolerance.err64; name != "" {
			err64, _ = f.get(column{name: name, axes: c.axes})
		}
		worst, share, outside := compare(c, counts, computed[i], want, err64)
		for _, part := range outside {
			g.outside[part] = true
		}
		g.results = append(g.results, compared{c.name, worst, share, len(outside), len(outside) <= g.allowed})
	}
}

// every returns counts for all of n parts.
func every(n int) []bool { return slices.Repeat([]bool{true}, n) }

// compare returns the worst differences of an array and its parts (samples, steps) outside of the
// tolerance. It compares the parts with counts set. err64 has a number per part, or is nil.
func compare(c column, counts []bool, got, want, err64 []float32) (worst, share float64, outside []int) {
	size := len(want) / len(counts)
	for part, count := range counts {
		if !count {
			continue
		}
		allowed, out := c.tolerance.base, false
		if err64 != nil {
			allowed += 10 * float64(err64[part])
		}
		for i := part * size; i < (part+1)*size-c.ignore; i++ {
			off := math.Abs(float64(got[i]) - float64(want[i]))
			if math.IsNaN(off) { // want is finite
				off = math.Inf(1)
			}
			if off == 0 {
				continue
			}
			most := allowed + c.tolerance.value*math.Abs(float64(want[i]))
			worst, share = max(worst, off), max(share, off/most)
			out = out || off > most
		}
		if out {
			outside = append(outside, part)
		}
	}
	return worst, share, outside
}

// comparison is the comparison with one golden file.
type comparison []*group

// pass reports whether no group has more parts outside than allowed.
func (c comparison) pass() bool {
	return !slices.ContainsFunc(c, func(g *group) bool { return len(g.outside) > g.allowed })
}

// failing returns the names of the arrays that do not pass.
func (c comparison) failing() (names []string) {
	for _, g := range c {
		for _, r := range g.results {
			if !r.passes {
				names = append(names, r.name)
			}
		}
	}
	return names
}

// String has a line per array, then one that counts the parts outside.
func (c comparison) String() string {
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "array\tworst\tof tolerance\toutside\t")
	var counts []string
	for _, g := range c {
		for _, r := range g.results {
			fmt.Fprintf(table, "%s\t%.2g\t%.2g\t%d\t\n", r.name, r.worst, r.share, r.outside)
		}
		counts = append(counts, fmt.Sprintf("%d/%d %s outside (%d allowed; %d marginal contacts)", len(g.outside), g.of,
			g.parts, g.allowed, g.edges))
	}
	_ = table.Flush()
	return b.String() + strings.Join(counts, ", ")
}

func TestCompare(t *testing.T) {
	nan := float32(math.NaN())
	for name, test := range map[string]struct {
		c                column
		counts           []bool
		got, want, err64 []float32
		outside          []int
		share            float64 // the worst
	}{
		"not equal": {column{}, every(2), []float32{1, 2}, []float32{1, 2.5}, nil, []int{1}, math.Inf(1)},
		"NaN of this build": {column{tolerance: tolerance{base: 1}}, every(2), []float32{1, nan}, []float32{1, 1}, nil,
			[]int{1}, math.Inf(1)},
		"not counted": {column{}, []bool{true, false}, []float32{1, nan}, []float32{1, 1}, nil, nil, 0},
		"ignored":     {column{ignore: 1}, every(2), []float32{1, 2, 3, 4}, []float32{1, 0, 3, 0}, nil, nil, 0},
		"err64 of each part": {column{tolerance: tolerance{base: 1, err64: "err64_obs"}}, every(2), []float32{4, 4},
			[]float32{0, 0}, []float32{0.75, 0.25}, []int{1}, 4 / 3.5},
		"share of the value": {column{tolerance: tolerance{base: 1, value: 0.25}}, every(2), []float32{-10, 2},
			[]float32{-8, 1}, nil, nil, 0.8},
	} {
		if _, share, outside := compare(test.c, test.counts, test.got, test.want, test.err64); share != test.share ||
			!slices.Equal(outside, test.outside) {
			t.Errorf("%s: share %g, outside %v", name, share, outside)
		}
	}
	for _, g := range []struct{ of, percent, allowed int }{{256, 1, 2}, {64, 1, 1}, {256, 3, 7}, {500, 3, 15}, {256, 0, 0}} {
		errtest.Equal(t, "samples that may be outside", newGroup("samples", every(g.of), g.percent).allowed, g.allowed)
	}
}

// compareWith compares a golden file of testdata with some of its arrays replaced.
func compareWith(t *testing.T, name string, replace map[string]npz.Array) comparison {
	t.Helper()
	path := filepath.Join("testdata", name)
	arrays := must.Get(npz.Read(path))
	maps.Copy(arrays, replace)
	return compareFile(t, xlatest.Pure(t), path, arrays)
}

// shift adds delta to the first element of each of an array's first count parts: samples or trajectories.
func shift(a npz.Array, count int, delta float32) npz.Array {
	flat := slices.Clone(must.Get(a.Float32s()))
	for part := range count {
		flat[part*len(flat)/a.Shape[0]] += delta
	}
	return npz.Of(flat, a.Shape...)
}

// A change of a stored array is noticed in it alone, and a change of an input in the arrays that depend
// on it. As many samples of single steps as are allowed may be outside, however far.
func TestGoldenFilesNoticeErrors(t *testing.T) {
	for _, test := range []struct {
		name, array string
		count       int // of samples
		delta       float32
		fails       string // these arrays
	}{
		{"traj_pointmaze.npz", "xy", 1, 3e-6, "xy"},
		{"onestep_walker-uni.npz", "pos_after", 3, 1e-4, "pos_after"},
		{"onestep_walker-uni.npz", "obs", 2, 1, ""},
		{"onestep_walker-uni.npz", "done", 3, 1, "done"},
		{"onestep_halfcheetah-hurdles.npz", "vel_after", 11, 10, "vel_after"},
		{"perturb_ant-maze_target_3.npz", "contact_vel", 2, 0.1, "contact_vel"},
		{"traj_walker-uni.npz", "pos", 1, 0.02, "pos"},
		{"traj_halfcheetah-uni.npz", "init_desc", 1, 0.02, "init_desc"},
		{"system_acrobot-spring.npz", "init_qpos", 1, 0.01, "init_pos init_rot"},
		{"traj_pointmaze.npz", "actions", 1, 1, "obs reward desc xy"},
		{"perturb_ant-uni_actuator_2.0.npz", "parameter", 1, 0.1,
			"obs reward contact_vel contact_ang pos_after rot_after vel_after ang_after"},
	} {
		array := must.Get(npz.Read(filepath.Join("testdata", test.name)))[test.array]
		found := compareWith(t, test.name, map[string]npz.Array{test.array: shift(array, test.count, test.delta)})
		if fails := strings.Join(found.failing(), " "); fails != test.fails || found.pass() != (fails == "") {
			t.Errorf("%s with another %s: %q fail, want %q:\n%s", test.name, test.array, fails, test.fails, found)
		}
	}
	const name = "traj_walker-uni.npz"
	stored := must.Get(npz.Read(filepath.Join("testdata", name)))
	flat := slices.Clone(must.Get(stored["obs"].Float32s()))
	flat[50*stored["obs"].Shape[2]]++ // row 0, after step 51 of 100 up to the horizon
	replace := map[string]npz.Array{"obs": npz.Of(flat, stored["obs"].Shape...)}
	if found := compareWith(t, name, replace); !found.pass() {
		t.Errorf("a step beyond the horizon was changed:\n%v", found)
	}
	for _, horizon := range []string{"horizon_f64", "horizon_1e6"} {
		replace[horizon] = shift(stored[horizon], 1, 50)
	}
	if found := compareWith(t, name, replace); found.pass() || len(found[1].outside) != 1 {
		t.Errorf("a step within the horizon was changed:\n%v", found)
	}
}
