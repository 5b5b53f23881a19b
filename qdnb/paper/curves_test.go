package paper

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/paper/sweep"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/stats"
)

// curve adds a training run with rows of env_steps, seconds, max_fitness, coverage and qd_score.
func (f *folder) curve(t *testing.T, experiment, label, env string, seed int64,
	hyperparameters string, rows ...[5]float64) {
	t.Helper()
	algorithm, _, _ := strings.Cut(label, ",")
	c := must.Get(runs.NewConfig(algorithm, env, seed, json.RawMessage(hyperparameters)))
	metrics := "generation,evaluations,env_steps,seconds,max_fitness,coverage,qd_score,invalid\n"
	for i, r := range rows {
		metrics += fmt.Sprintf("%d,%d,%g,%g,%g,%g,%g,0\n", i, i, r[0], r[1], r[2], r[3], r[4])
	}
	last := rows[len(rows)-1]
	status := runs.Status{
		Progress:   runs.Progress{Generation: int64(len(rows)), EnvSteps: int64(last[0]), Seconds: last[1]},
		MaxFitness: last[2], Coverage: last[3], QDScore: last[4],
	}
	f.run(t, sweep.Line{Experiment: experiment, Label: label, Run: c}, status, metrics, func(w *runs.Writer) {
		must.Do(w.SaveRepertoire(fourCells(1, [2]float32{0, 0}, [2]float32{1, 1})))
	})
}

// trainedCurves has three seeds of MAP-Elites and one of AURORA on ant-trap, and one of DADS+REWARD on halfcheetah-uni.
func trainedCurves(t *testing.T) *Data {
	f := newFolder(t)
	for seed := range int64(3) {
		s := float64(seed)
		f.curve(t, "training", "map-elites", "ant-trap", seed, `{}`,
			[5]float64{0, 1, math.Inf(-1), 0, 0}, [5]float64{1000, 2, 10 + s, 20, 100}, [5]float64{1000, 2, 99, 99, 99},
			[5]float64{2000, 3 + s, 20 + 10*s, 40 + 10*s, 200})
	}
	f.curve(t, "training", "aurora", "ant-trap", 0, `{}`, [5]float64{0, 2, 1, 5, 10}, [5]float64{1000, 3, 1, 5, 10},
		[5]float64{2000, 4, 1, 5, 10}, [5]float64{3000, 5, 2, 6, 12}, [5]float64{4000, 6, 2, 6, 12})
	f.curve(t, "training", "dads-reward", "halfcheetah-uni", 0, `{}`, [5]float64{0, 10, -5, 1, 1},
		[5]float64{100, 20, -4, 2, 2})
	return f.open(t)
}

// linesOf returns the lines of a panel.
func linesOf(p *figures.Panel) (lines []*figures.Series) {
	for _, entry := range p.Legend {
		lines = append(lines, entry.Mark.(*figures.Series))
	}
	return lines
}

// If one method ends long before another, the axis is logarithmic and starts at the first positive
// value. Long curves are thinned.
func TestCurveAxis(t *testing.T) {
	short := seeds{name: "a", curves: [][]results.Point{{{EnvSteps: 0}, {EnvSteps: 10},
		{EnvSteps: 100, Coverage: 1}}}}
	long := seeds{name: "b"}
	for seed := range 2 {
		var curve []results.Point
		for i := range 1000 {
			curve = append(curve, results.Point{EnvSteps: float64(i * (10 + seed)), Seconds: float64(i * 20), Coverage: float64(i)})
		}
		long.curves = append(long.curves, curve)
	}
	x := stepsAxis(1e9).over([]seeds{short, long})
	errtest.Equal(t, "the axis", fmt.Sprint(x.log, x.low, x.high), "true 10 10989")
	p := must.Get(x.panel([]seeds{short, long}, curveCoverage, ""))
	errtest.Equal(t, "points, none of which is at 0", linesOf(p)[0].X, []float64{10, 100})
	b := linesOf(p)[1]
	if n := len(b.X); n > curvePoints || n < curvePoints/2 || b.X[n-1] != 10989 || b.Y[n-1] != 999 {
		t.Errorf("%d points, the last at %g: %g", n, b.X[n-1], b.Y[n-1])
	}
	if p.Y.Max < 999 {
		t.Errorf("the axis ends at %g", p.Y.Max)
	}
	for end, want := range map[float64]string{299: "time without compilation (s)",
		301: "time without compilation (min)", 7200: "time without compilation (h)"} {
		if label, _ := timeAxis.label(end); label != want {
			t.Errorf("%g s: %q, want %q", end, label, want)
		}
	}
	if linear := stepsAxis(400).over([]seeds{short, long}); linear.log || linear.low != 0 || linear.high != 400 {
		t.Errorf("cut at 400 it is %+v", linear)
	}
}

// A curve keeps its last point, although 488.5 / 60 * 60 rounds to more.
func TestCurvesKeepTheirEnd(t *testing.T) {
	x := span{of: func(p results.Point) float64 { return p.Seconds }, unit: 60, high: 488.5}
	curve := []results.Point{{Seconds: 0}, {Seconds: 488.5}, {Seconds: 489}}
	s := x.series(curve, results.QDScore)
	errtest.Equal(t, "the points are at", s.X, []float64{0, 488.5 / 60})
}

// adapted adds an adaptation run of two skills, the best of which has the given scores: at values for
// gravity or actuators, at points for targets.
func (f *folder) adapted(t *testing.T, experiment, label, env string, seed int64,
	perturbation string, at [][2]float64, scores ...float64) {
	t.Helper()
	hyperparameters := fmt.Sprintf(`{"skills":"%s-%s-%d-00000000","perturbation":%q}`, label, env, seed, perturbation)
	c := must.Get(runs.NewConfig("adaptation", env, seed, json.RawMessage(hyperparameters)))
	metrics := "index,x,y,skill,fitness_median\n"
	for i, score := range scores {
		metrics += fmt.Sprintf("%d,%g,%g,0,%g\n%d,%g,%g,1,%g\n", i, at[i][0], at[i][1], score-50, i, at[i][0], at[i][1], score)
	}
	status := runs.Status{Progress: runs.Progress{Evaluations: 9, EnvSteps: 90}}
	f.run(t, sweep.Line{Experiment: experiment, Label: label, Run: c}, status, metrics)
}

// adapted has methods over four seeds on ant-uni and ant-maze, and in the experiment "reward". Others lack seeds,
// multipliers, targets or scores.
func adapted(t *testing.T) *Data {
	f := newFolder(t)
	nan := math.NaN()
	multipliers, targets := [][2]float64{{0.25, nan}, {1, nan}, {5, nan}}, [][2]float64{{11.7, 35.2}, {-2.3, 14.9}}
	for seed := range int64(4) {
		x := []float64{0, 10, 20, 90}[seed]
		f.adapted(t, results.ExperimentAdaptation, "diayn-reward", "ant-uni", seed, results.Gravity,
			multipliers, 10+x, 100+x, -50-x)
		f.adapted(t, results.ExperimentAdaptation, "map-elites", "ant-uni", seed, results.Gravity, multipliers, 300+x, 400, 200+x)
		f.adapted(t, results.ExperimentAdaptation, "map-elites", "ant-maze", seed, results.Target, targets, -100, -300-4*x)
		f.adapted(t, results.ExperimentAdaptation, "dads-reward", "ant-maze", seed, results.Target, targets[1:], -150-x)
		f.adapted(t, results.ExperimentReward, "diayn", "walker-uni", seed, results.Actuators, multipliers[:2], 7, 8)
	}
	f.lines = append(f.lines, f.lines[0]) // the experiment "reward" shares this run
	f.lines[len(f.lines)-1].Experiment = results.ExperimentReward
	f.adapted(t, results.ExperimentAdaptation, "aurora", "ant-uni", 1, results.Gravity, multipliers[:2], nan, 3)
	for seed, score := range []float64{0, 1, 2, 9, 100} { // of mean 22.4, median 2 and interquartile mean 4
		f.adapted(t, results.ExperimentAdaptation, "aurora", "walker-uni", int64(seed), results.Actuators,
			multipliers[1:2], score)
	}
	return f.open(t)
}

// The quartiles of targets; those of multipliers are in testdata/shown/adaptation.txt.
func TestQuartilesOfTargets(t *testing.T) {
	got := adapted(t).targets([]string{"map-elites", "aurora", "dads-reward"}, stats.Median)
	errtest.Equal(t, "targets", got, []figures.Interval{
		{Name: "map-elites", Value: -230, Low: -275, High: -215, Points: []float64{-200, -220, -240, -380}},
		{Name: "dads-reward", Value: -165, Low: -187.5, High: -157.5, Points: []float64{-150, -160, -170, -240}}})
}

// Limits of gains do not extend to where they say little.
func TestGainLimits(t *testing.T) {
	spread := []figures.Series{{Y: []float64{math.NaN(), 10}, Low: []float64{math.Inf(-1), 5},
		High: []float64{math.NaN(), 49}}}
	if limits := gainLimits(spread); limits[0] != -gainLimit || math.Abs(limits[1]-60) > 2 {
		t.Errorf("limits %v, want -150 and about 60", limits)
	}
}
