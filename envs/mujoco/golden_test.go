package mujoco

import (
	"cmp"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/internal/errtest"
	files "example.com/qdnb/internal/golden"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
)

// golden is a model with numbers that MuJoCo computed for it.
type golden struct {
	name   string
	model  Model
	arrays map[string]npz.Array
}

// forGolden runs a test for each model with numbers in a folder: testdata/accepted, or QDNB_GOLDEN.
func forGolden(t *testing.T, test func(t *testing.T, g golden)) {
	folder := cmp.Or(os.Getenv(files.FolderEnv), "testdata/accepted")
	compared := 0
	for _, path := range must.Get(filepath.Glob(filepath.Join(folder, "*.npz"))) {
		name := strings.TrimSuffix(filepath.Base(path), ".npz")
		file, err := os.Open(filepath.Join(folder, name+"_model.json"))
		if os.IsNotExist(err) {
			continue // of a task
		}
		must.Do(err)
		defer file.Close()
		compared++
		t.Run(name, func(t *testing.T) {
			test(t, golden{name, must.Get(ReadModel(file)), must.Get(npz.Read(path))})
		})
	}
	if compared == 0 {
		t.Skipf("SKIPPED: folder %s (from $%s) has no model of MuJoCo", folder, files.FolderEnv)
	}
}

// batchLast makes a tensor [m, n] of n states of m numbers.
func batchLast(states [][]float64) *tensors.Tensor {
	n, m := len(states), len(states[0])
	flat := make([]float32, n*m)
	for i, state := range states {
		for j, x := range state {
			flat[j*n+i] = float32(x)
		}
	}
	return xlatest.Tensor(flat, m, n)
}

// batchFirst is the inverse of batchLast.
func batchFirst(t *testing.T, x *tensors.Tensor) [][]float64 {
	flat := xlatest.Flat[float32](t, x)
	m, n := x.Shape().Dimensions[0], x.Shape().Dimensions[1]
	states := make([][]float64, n)
	for i := range states {
		states[i] = make([]float64, m)
		for j := range m {
			states[i][j] = float64(flat[j*n+i])
		}
	}
	return states
}

// comparison prepares a golden model, of which four are of contacts between convex shapes. Those with equalities are
// compiled in parts, as [System.Agree] does with large ones.
func (g golden) comparison() comparison {
	convex := slices.Contains([]string{"own_cans", "own_faces", "own_gaps", "own_hulls", "own_round", "own_sides",
		"own_upright"}, g.name)
	s := must.Get(NewSystem(g.model, Options{IgnorePairs: !convex}))
	s.parted = len(s.equal) > 0
	return comparison{System: s, reference: g.arrays}
}

// onGo are golden models that XLA compiles for seconds and the pure Go backend runs in fractions of that. The others have
// all integrators and cones, too.
var onGo = []string{"dmc_finger", "gym_ant", "own_activations", "own_activations_rk4", "own_ball", "own_cables", "own_cans",
	"own_faces", "own_fields", "own_fingers", "own_gaps", "own_ground", "own_hulls", "own_muscles", "own_parallel",
	"own_round", "own_servo", "own_sides", "own_spinning", "own_stiff", "own_thrusters", "own_ties", "own_turning",
	"own_upright", "own_wraps"}

// Forces, accelerations, steps and rollouts agree with MuJoCo: on XLA, except that only thorough tests compile models of
// onGo.
func TestGolden(t *testing.T) {
	steps := 0
	forGolden(t, func(t *testing.T, g golden) {
		p := xlatest.Best(t)
		if slices.Contains(onGo, g.name) {
			p = xlatest.Quick(t)
		}
		platforms := []*xla.Platform{p}
		if g.name == "own_faces" && p.Kind == backend.CPU { // also graphs of CUDA, see [xla.Argmin]
			platforms = append(platforms, xlatest.As(p, backend.CUDA))
		}
		for _, p := range platforms {
			found, err := g.comparison().Agree(t.Context(), p, g.arrays, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range found {
				if a.Stage == "accelerations" {
					steps++
				}
				if !a.OK() {
					t.Errorf("%v, on %s; allowed %.0e and %.0e", a, p.Kind, a.Median, a.Worst)
				} else {
					t.Log(a)
				}
			}
		}
	})
	if steps == 0 {
		t.Error("no model has steps")
	}
}

// Contacts: their number, distances, positions and frames.
func TestGoldenContacts(t *testing.T) {
	tested := 0
	forGolden(t, func(t *testing.T, g golden) {
		c := g.comparison()
		s := c.System
		if g.arrays["touch_contact_geom"].Data == nil || len(c.rows("touch_qpos")) == 0 {
			return // a model without contacts
		}
		tested++
		out := xlatest.Run(t, xlatest.Quick(t), func(in []*graph.Node) (out []*graph.Node) {
			k := s.kinematics(split(in[0], s.places), conditions{})
			batch := in[0].Shape().Dimensions[1]
			for _, set := range s.contacts {
				c := s.collide(k, set)
				moving := set.mover()
				moving.link = slices.Repeat(moving.link, set.points)
				at := c.Point.Plus(s.placed(k, moving, 4))
				numbers := []algebra.Num{c.Distance, at.X, at.Y, at.Z}
				for _, axis := range c.Frame {
					numbers = append(numbers, axis.X, axis.Y, axis.Z)
				}
				for _, x := range numbers {
					out = append(out, graph.Reshape(x.Spread(in[0].Graph(), batch), x.Rows, batch))
				}
			}
			return out
		}, batchLast(c.rows("touch_qpos")))
		geoms, dims := c.rows("touch_contact_geom"), c.rows("touch_contact_dim")
		distances, points := c.rows("touch_contact_dist"), c.rows("touch_contact_pos")
		frames := c.rows("touch_contact_frame")
		var states [][][]float64
		for _, x := range out {
			states = append(states, batchFirst(t, x))
		}
		worst := 0.0
		for i := range geoms {
			sure, possible, want := 0, 0, 0 // rounding decides whether there is a contact at its margin
			var off []float64
			for c, dim := range dims[i] {
				if dim == 0 {
					continue
				}
				want++
				nearest := math.Inf(1)
				for at, set := range s.contacts {
					for row := range set.margin.Rows {
						pair := set.geoms[row%len(set.geoms)]
						if float64(pair[0]) != geoms[i][2*c] || float64(pair[1]) != geoms[i][2*c+1] {
							continue
						}
						ours := make([]float64, 13)
						for n := range ours {
							ours[n] = states[13*at+n][i][row]
						}
						theirs := append(append([]float64{distances[i][c]}, points[i][3*c:3*c+3]...), frames[i][9*c:9*c+9]...)
						nearest = min(nearest, distance(ours, theirs))
					}
				}
				off = append(off, nearest)
			}
			for at, set := range s.contacts {
				for row := range set.margin.Rows {
					if states[13*at][i][row] < set.margin.Known[row]-1e-6 {
						sure++
					}
					if states[13*at][i][row] < set.margin.Known[row]+1e-6 {
						possible++
					}
				}
			}
			if want < sure || want > possible {
				t.Errorf("state %d has %d to %d contacts, want %d", i, sure, possible, want)
			}
			worst = max(worst, slices.Max(append(off, 0)))
		}
		if worst > 1e-4 {
			t.Errorf("a contact is off by %.1e", worst)
		} else {
			t.Logf("contacts are off by at most %.1e", worst)
		}
	})
	if tested == 0 {
		t.Error("no model has contacts")
	}
}

// A rollout is compared until rounding changes it in MuJoCo, and what is not finite is an error.
func TestChaoticRollouts(t *testing.T) {
	g := golden{model: accepted(t, "dmc_finger"), arrays: must.Get(npz.Read("testdata/accepted/dmc_finger.npz"))}
	twin := must.Get(g.arrays["traj0_qpos_twin"].Float64s())
	for i := range twin {
		if i >= len(twin)/2 {
			twin[i]++
		}
	}
	g.arrays["traj0_qpos_twin"] = npz.Of(twin, g.arrays["traj0_qpos_twin"].Shape...)
	c := g.comparison()
	c.context, c.platform = t.Context(), xlatest.Quick(t)
	c.rollouts()
	found := c.found[0]
	if n := float64(len(found.Errors)); found.Chaotic != 1 || math.Abs(found.Share-(n-0.5)/n) > 0.02 || !found.OK() {
		t.Errorf("found %v", found)
	}
	errtest.Equal(t, "the error of NaN", relative([]float64{math.NaN()}, []float64{1}, 1), math.MaxFloat64)
}

// The median may be as large as what rounding changes in MuJoCo, as the worst error may.
func TestErrorsOfRounding(t *testing.T) {
	for noise, ok := range map[float64]bool{0: false, 0.001: false, 0.01: true} {
		var c comparison
		c.compare("velocities", [][]float64{{1.1}}, [][]float64{{1}}, func(int) float64 { return 1 },
			func(int) float64 { return noise }, 1e-5, 1e-4)
		if c.found[0].OK() != ok {
			t.Errorf("with noise of %g: %v", noise, c.found[0])
		}
	}
}
