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

	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/xlatest"
)

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
	// err64 names the array with the published code's rounding error per sample. Ten times this is
	// added to the tolerance.
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
		if got := newGroup("samples", every(g.of), g.percent).allowed; got != g.allowed {
			t.Errorf("%d of %d samples may be outside, not %d", got, g.of, g.allowed)
		}
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

// shift adds delta to the first element of each of an array's first count parts: samples or
// trajectories.
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
		{"onestep_halfcheetah-hurdles.npz", "vel_after", 9, 10, "vel_after"},
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
