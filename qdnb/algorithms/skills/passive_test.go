package skills

import (
	"math"
	"slices"
	"testing"

	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/qdnb/algorithms"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
)

func TestPassiveSchedule(t *testing.T) {
	for _, c := range []struct {
		schedule algorithms.Learner
		want     []int64 // environment steps at which skills are measured, up to 300
	}{
		{algorithms.Learner{Steps: 20, Every: 100}, []int64{0, 100, 200, 300}},
		{algorithms.Learner{Steps: 20, Every: 100, Early: 30}, []int64{0, 40, 60, 100, 200, 300}},
		{algorithms.Learner{Steps: 20, Every: 100, Early: 500}, []int64{0, 100, 200, 300}},
		{algorithms.Learner{Steps: 30, Every: 70}, []int64{0, 90, 150, 210, 300}},
		{algorithms.Learner{Steps: 60, Every: 7}, []int64{0, 60, 120, 180, 240, 300}},
		{algorithms.Learner{Steps: 100, Every: 1000}, []int64{0}},
	} {
		var got []int64
		for after := int64(0); after <= 300; after += c.schedule.Steps {
			if c.schedule.Due(after / c.schedule.Steps) {
				got = append(got, after)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%d, %d, %d: measured at %v, want %v", c.schedule.Steps, c.schedule.Every,
				c.schedule.Early, got, c.want)
		}
	}
}

// The passive repertoire changes only when skills are measured. Replaying a cell's policy from one
// of the initial states of its evaluation reproduces the cell's fitness and descriptor.
func TestPassiveRepertoire(t *testing.T) {
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		s := begun(t, p, diaynReward) // 6 steps per iteration, measured every 18
		repertoire := func() map[string]npz.Array {
			return must.Get(s.Repertoire(true))
		}
		empty := floatsOf(t, repertoire(), "fitnesses")
		if len(empty) != 25 || slices.ContainsFunc(empty,
			func(f float32) bool { return f != float32(negativeInfinity) }) {
			t.Errorf("before the first evaluation there is %v", empty)
		}
		evaluations, changed := int64(0), 0
		for i := range int64(14) {
			before := repertoire()
			o := steps(t, s, 1)[0]
			after := repertoire()
			measured := i <= 2 || i%3 == 0
			if measured {
				evaluations += 6
			}
			if o.Generation != i || s.Generation != i || o.EnvSteps != 6*i || o.Evaluations != evaluations ||
				o.Invalid != 0 || (o.Fitnesses != nil) != measured {
				t.Errorf("outcome %+v, want %d evaluations", o, evaluations)
			}
			if measured && (len(o.Extra) != len(s.Columns()) || math.IsNaN(o.Extra[0]) != (i == 0)) {
				t.Errorf("iteration %d: %v are %v", i, s.Columns(), o.Extra)
			}
			switch names := xlatest.Differ(before, after); {
			case !measured && len(names) > 0:
				t.Errorf("iteration %d, unmeasured, changes %v", i, names)
			case measured:
				if !slices.Equal(o.Fitnesses, floatsOf(t, after, "fitnesses")) {
					t.Errorf("iteration %d: fitnesses %v", i, o.Fitnesses)
				}
				for cell, f := range floatsOf(t, before, "fitnesses") {
					if o.Fitnesses[cell] < f {
						t.Errorf("iteration %d: cell %d fell from %g to %g", i, cell, f, o.Fitnesses[cell])
					}
				}
				if len(names) > 0 {
					changed++
				}
			}
		}
		if changed < 3 {
			t.Errorf("the repertoire changed %d times: the test is vacuous", changed)
		}

		// Measuring the current skills changes nothing and is repeatable.
		held := memory(t, s)
		_, first, err := s.Evaluate()
		must.Do(err)
		_, again, err := s.Evaluate()
		if err != nil || !slices.Equal(first.Fitnesses,
			again.Fitnesses) || !slices.Equal(first.Descriptors,
			again.Descriptors) || len(first.Fitnesses) != 6 {
			t.Errorf("%+v and then %+v, %v", first, again, err)
		}
		if names := xlatest.Differ(held, memory(t, s)); len(names) > 0 {
			t.Errorf("an evaluation changes %v", names)
		}
		if len(first.Records[0]) != 6*8*2 {
			t.Errorf("%d numbers of positions", len(first.Records[0]))
		}
		for i, f := range first.Fitnesses { // the positions agree with the fitness and the descriptor
			path := first.Records[0][i*16 : (i+1)*16]
			last := 7
			// an episode's descriptor is the one before its last step
			for last > 0 && float64(path[2*last]) > short.Edge {
				last--
			}
			if math.IsNaN(float64(f)) || f >= 0 || last == 7 && !slices.Equal(path[14:],
				first.Descriptors[2*i:2*i+2]) {
				t.Errorf("episode %d: fitness %g, descriptor %v, path %v", i, f, first.Descriptors[2*i:2*i+2],
					path)
			}
		}

		mlp := s.it.policy(s.config.SAC.Hidden)
		evaluator, err := scoring.NewEvaluator(p,
			scoring.Task{Env: short, Policy: mlp, Length: 8}, scoring.Plan{Policies: 1, Episodes: 6})
		must.Do(err)
		defer evaluator.Free()
		last := repertoire()
		genotypes, fitnesses, descriptors := floatsOf(t, last, "genotypes"),
			floatsOf(t, last, "fitnesses"), floatsOf(t, last, "descriptors")
		filled := 0
		for cell, want := range fitnesses {
			if math.IsInf(float64(want), -1) {
				continue
			}
			filled++
			row := genotypes[cell*mlp.Params() : (cell+1)*mlp.Params()]
			value := p.Replicated(func() *tensors.Tensor {
				return xlatest.Tensor(slices.Clone(row), 1, len(row))
			})
			found, err := evaluator.Evaluate(value, s.config.Seed, nil)
			value.Free()
			f, d := found.Fitnesses, found.Descriptors
			must.Do(err)
			near := func(a, b float32) bool { return math.Abs(float64(a-b)) < 1e-4 }
			same := func(i int) bool {
				return near(f[i], want) && near(d[2*i], descriptors[2*cell]) && near(d[2*i+1],
					descriptors[2*cell+1])
			}
			if !slices.ContainsFunc([]int{0, 1, 2, 3, 4, 5}, same) {
				t.Errorf("cell %d has fitness %g and descriptor %v; its policy has %v and %v", cell, want,
					descriptors[2*cell:2*cell+2], f, d)
			}
		}
		if filled < 4 {
			t.Errorf("%d cells are filled: the test is vacuous", filled)
		}
	})
}
