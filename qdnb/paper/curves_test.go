package paper

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/paper/sweep"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/plot/tables"
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
	f.run(t, sweep.Line{Experiment: experiment, Label: label, Run: c}, status, metrics)
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

func seriesNamed(t *testing.T, p *figures.Panel, name string) *figures.Series {
	t.Helper()
	lines := linesOf(p)
	i := slices.IndexFunc(lines, func(s *figures.Series) bool { return s.Name == name })
	if i < 0 {
		t.Fatalf("no curve of %s among %d", name, len(lines))
	}
	return lines[i]
}

func TestCurvesOverTime(t *testing.T) {
	data := trainedCurves(t)
	g := must.Get(metricCurves(data, append(qdMethods, rlMethods...), curveEnvs, timeAxis))
	if len(g.Panels) != 2 || len(g.Panels[0]) != 3 || !slices.Equal(g.Rows, []string{"ant-trap", "halfcheetah-uni"}) ||
		g.Columns[1] != "Coverage (%)" {
		t.Fatalf("%d rows, titles %v and %v", len(g.Panels), g.Rows, g.Columns)
	}
	coverage := g.Panels[0][1]
	if x := coverage.X; x.Label.Text != "Time without compilation (s)" || x.Min != 0 || x.Max != 10 || coverage.Y.Min != 0 {
		t.Errorf("%q from %g to %g: want a linear axis to the end of the longest run and coverage from 0",
			x.Label.Text, x.Min, x.Max)
	}
	// Seeds end 2, 3 and 4 s after their first evaluation with coverages 40, 50 and 60, and stay there.
	me := seriesNamed(t, coverage, "map-elites")
	if last := len(me.X) - 1; me.X[last] != 4 || me.Y[last] != 50 || me.Low[last] != 45 || me.High[last] != 55 {
		t.Errorf("it ends at %g s with %g (%g to %g), want the medians of the ends", me.X[last],
			me.Y[last], me.Low[last], me.High[last])
	}
	if at := slices.Index(me.X, 2); at < 0 || me.Y[at] != 35 {
		t.Errorf("after 2 s it is %v at %v, want a median with seeds that are not done", me.Y, me.X)
	}
	// The fitness of an empty repertoire is unknown.
	if fitness := seriesNamed(t, g.Panels[0][0],
		"map-elites"); !math.IsNaN(fitness.Y[0]) || math.IsNaN(fitness.Y[len(fitness.Y)-1]) {
		t.Errorf("fitness %v, want a gap first", fitness.Y)
	}
	// The passive repertoire of AURORA was filled after 0 and 3000 steps.
	if aurora := seriesNamed(t, g.Panels[0][2], "aurora"); !slices.Equal(aurora.X,
		[]float64{0, 3, 4}) || !slices.Equal(aurora.Y, []float64{10, 12, 12}) {
		t.Errorf("AURORA at %v is %v, want a line from one evaluation to the next", aurora.X, aurora.Y)
	}
}

func TestCurvesOverSteps(t *testing.T) {
	data := trainedCurves(t)
	g, err := metricCurves(data, qdMethods, curveEnvs, stepsAxis(1.5e8))
	must.Do(err)
	score := g.Panels[0][2]
	if x := score.X; x.Max != 4000 || x.Label.Text != "Environment steps" || len(score.Legend) != 2 {
		t.Errorf("%q to %g, %d curves", x.Label.Text, x.Max, len(score.Legend))
	}
	// A row that repeats the previous steps is left out.
	if me := seriesNamed(t, score, "map-elites"); !slices.Equal(me.X,
		[]float64{0, 1000, 2000}) || !slices.Equal(me.Y, []float64{0, 100, 200}) {
		t.Errorf("at %v: %v", me.X, me.Y)
	}
	// An axis that ends before the data cuts the curves.
	g = must.Get(metricCurves(data, qdMethods, curveEnvs, stepsAxis(2500)))
	if aurora := seriesNamed(t, g.Panels[0][2],
		"aurora"); g.Panels[0][2].X.Max != 2500 || !slices.Equal(aurora.X, []float64{0}) {
		t.Errorf("the axis ends at %v, AURORA is at %v", g.Panels[0][2].X.Max, aurora.X)
	}
	if g, err = metricCurves(data, rlMethods, curveEnvs,
		stepsAxis(1e7)); err != nil || len(g.Panels) != 1 || len(g.Panels[0][0].Legend) != 1 {
		t.Errorf("of DADS+REWARD: %v, %+v", err, g)
	}
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
	errtest.Equal(t, "points, none of which is at 0", seriesNamed(t, p, "a").X, []float64{10, 100})
	b := seriesNamed(t, p, "b")
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

func TestPriorCoverage(t *testing.T) {
	f := newFolder(t)
	for seed := range int64(3) {
		s := float64(seed)
		f.curve(t, "prior", "dads-reward", "ant-omni", seed, `{"descriptor_full_state":false}`,
			[5]float64{0, 1, 0, 0, 0}, [5]float64{10, 5, 0, 40 + s, 0})
		f.curve(t, "prior", "dads-reward, no prior", "ant-omni", seed, `{"descriptor_full_state":true}`,
			[5]float64{0, 1, 0, 0, 0}, [5]float64{10, 5, 0, 10 + s, 0})
	}
	// in another experiment
	f.curve(t, "training", "diayn-reward", "ant-omni", 0, `{}`, [5]float64{0, 1, 0, 90, 0})
	data := f.open(t)
	p := must.Get(PriorCoverage(data)).Panels[0][0]
	if len(p.Legend) != 2 || p.X.Label.Text != "Time without compilation (s)" || p.Y.Label.Text != "Coverage (%)" {
		t.Fatalf("%d curves, %q, %q", len(p.Legend), p.X.Label.Text, p.Y.Label.Text)
	}
	with, without := linesOf(p)[0], linesOf(p)[1]
	errtest.Equal(t, "coverage with and without prior", fmt.Sprint(with.Y[1], without.Y[1], without.Low[1], with.Style),
		"41 11 10.5 <nil>")
	own := figures.MethodStyles("dads-reward")["dads-reward"]
	if s := without.Style; s == nil || s.Color != own.Color || len(s.Dashes) == 0 || s.Name != "DADS+REWARD, no prior" {
		t.Errorf("without prior it is drawn as %+v, want dashes of the method's colour", s)
	}
}

func TestHurdles(t *testing.T) {
	tables := &results.Tables{}
	for seed, end := range []float64{10, 20, 40, 100} {
		tables.Controlled = append(tables.Controlled,
			results.Controlled{Label: "map-elites", Seed: int64(seed), Curve: []results.ControlPoint{
				{EnvSteps: 0, FitnessMean: -1}, {EnvSteps: 100, FitnessMean: end, HurdlesMean: end / 10},
			}})
	}
	// Their steps differ, or no curve is left in common with the others.
	tables.Controlled = append(tables.Controlled, []results.Controlled{
		{Label: "aurora", Curve: []results.ControlPoint{{EnvSteps: 0}, {EnvSteps: 10, FitnessMean: 10}}},
		{Label: "aurora", Curve: []results.ControlPoint{{EnvSteps: 4, FitnessMean: 4}, {EnvSteps: 20, FitnessMean: 20}}},
		{Label: "dads", Curve: []results.ControlPoint{{EnvSteps: 0}}},
		{Label: "dads", Curve: []results.ControlPoint{{EnvSteps: 5}}}, {Label: "diayn"},
	}...)
	data := &Data{Tables: tables}
	for name, average := range map[string]func([]float64) float64{"median": stats.Median, "IQM": stats.IQM} {
		panels := must.Get(hurdlesPanels(data, average))
		if len(panels) != 2 || len(panels[0].Legend) != 2 || len(panels[1].Legend) != 2 {
			t.Fatalf("%+v", panels)
		}
		s := seriesNamed(t, panels[0], "map-elites")
		errtest.Equal(t, name+": x, mean and quartiles", fmt.Sprint(s.X, s.Y[1], s.Low[1], s.High[1]),
			fmt.Sprint([]float64{0, 100}, average([]float64{10, 20, 40, 100}), 17.5, 55))
		errtest.Equal(t, name+": hurdles", linesOf(panels[1])[0].Y[1], s.Y[1]/10)
		if s := seriesNamed(t, panels[0], "aurora"); !slices.Equal(s.X, []float64{4, 10}) || !slices.Equal(s.Y, s.X) {
			t.Errorf("%s: at %v it is %v, want y = x at 4 and 10", name, s.X, s.Y)
		}
	}
}

func TestSensitivity(t *testing.T) {
	tables := &results.Tables{}
	add := func(label, env string, a, b, score float64) {
		for seed := range int64(2) {
			tables.Trained = append(tables.Trained, results.Trained{
				Experiment: results.ExperimentSensitivity, Label: label, Algorithm: label, Env: env, Seed: seed,
				Finished: true,
				Point:    results.Point{QDScore: score + float64(2*seed-1)}, A: results.Setting{Name: "iso_sigma", Value: a},
				B: results.Setting{Name: "line_sigma", Value: b},
			})
		}
	}
	for i, score := range []float64{100, 80, 40} {
		add("map-elites", "ant-uni", float64(i), 0, score)
	}
	add("dads-reward", "ant-uni", 0, 0, 50)
	data := &Data{Tables: tables}
	groups := must.Get(sensitivityGroups(data))
	if len(groups) != 1 || groups[0].Label != "ant-uni" || fromZero(groups)[0] != 0 {
		t.Fatalf("%+v", groups)
	}
	boxes := groups[0].Boxes
	if len(boxes) != 2 || boxes[0].Name != "map-elites" || !slices.Equal(boxes[0].Values,
		[]float64{1, 0.8, 0.4}) || !slices.Equal(boxes[1].Values, []float64{0.5}) {
		t.Errorf("%+v, want means over seeds as parts of the best setting of both methods", boxes)
	}
	table, err := SensitivitySettings(data)
	if err != nil || len(table.Rows) != 2 {
		t.Fatalf("settings: %v, %+v", err, table)
	}
	row := texts(table.Rows[0])
	errtest.Equal(t, "a row of settings", row,
		[]string{"ant-uni", "MAP-Elites", "3", "σ1 0, σ2 0", "100", "σ1 2, σ2 0", "40.0", "0.40"})
	add("dads-reward", "walker-uni", 0, 0, 10)
	add("dads-reward", "walker-uni", 1, 0, -10)
	errtest.Equal(t, "of a negative score", fromZero(must.Get(sensitivityGroups(data))), [2]float64{})
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

// adapted has MAP-Elites and DIAYN+REWARD over four seeds on ant-uni, and DIAYN+REWARD and DIAYN in
// the experiment "reward". Everything else is missing.
func adapted(t *testing.T) *Data {
	f := newFolder(t)
	nan := math.NaN()
	multipliers := [][2]float64{{0.25, nan}, {1, nan}, {5, nan}}
	for seed := range int64(4) {
		x := []float64{0, 10, 20, 90}[seed]
		f.adapted(t, results.ExperimentAdaptation, "diayn-reward", "ant-uni", seed, results.Gravity,
			multipliers, 10+x, 100+x, -50-x)
		f.adapted(t, results.ExperimentAdaptation, "map-elites", "ant-uni", seed, results.Gravity, multipliers, 300+x, 400, 200+x)
		f.adapted(t, results.ExperimentAdaptation, "map-elites", "ant-maze", seed, results.Target,
			[][2]float64{{1, 2}, {3, 4}}, -100, -300-4*x)
		f.adapted(t, results.ExperimentReward, "diayn", "walker-uni", seed, results.Actuators, multipliers[:2], 7, 8)
	}
	f.lines = append(f.lines, f.lines[0]) // the experiment "reward" shares this run
	f.lines[len(f.lines)-1].Experiment = results.ExperimentReward
	return f.open(t)
}

// Panels have medians or interquartile means over seeds, with quartiles, for their environment and perturbation.
func TestAdaptationPanels(t *testing.T) {
	data := adapted(t)
	labels := data.adaptedLabels(results.ExperimentAdaptation)
	errtest.Equal(t, "labels", labels, []string{"map-elites", "diayn-reward"})
	// For 0, 10, 20, 90 the median is 15, the interquartile mean 15, and the quartiles are 7.5 and 37.5.
	drawn := must.Get(Adaptation(data)).Panels
	want := []figures.Series{
		{Name: "map-elites", X: []float64{0.25, 1, 5}, Y: []float64{315, 400, 215},
			Low: []float64{307.5, 400, 207.5}, High: []float64{337.5, 400, 237.5}},
		{Name: "diayn-reward", X: []float64{0.25, 1, 5}, Y: []float64{25, 115, -65},
			Low: []float64{17.5, 107.5, -87.5}, High: []float64{47.5, 137.5, -57.5}},
	}
	gravity := drawn[0][0]
	errtest.Equal(t, "gravity and its axis", fmt.Sprint(gravity.X.Min, gravity.X.Max, " ", gravity.Title.Text),
		"0.25 5 ant-uni")
	for i, s := range linesOf(gravity) {
		if w := want[i]; s.Name != w.Name || !reflect.DeepEqual([][]float64{s.X, s.Y, s.Low, s.High},
			[][]float64{w.X, w.Y, w.Low, w.High}) {
			t.Errorf("gravity on ant-uni: %+v, want %+v", s, w)
		}
	}
	if len(drawn) != 2 || len(drawn[1]) != 2 || len(drawn[0][1].Legend)+len(drawn[1][0].Legend) > 0 {
		t.Errorf("%+v", drawn)
	}
	// Targets fill both rows. Their means per seed are -200 - 2x.
	if targets := drawn[0][2]; targets.Rows != 2 || targets.X.Min > -380 || targets.X.Max < -200 {
		t.Errorf("targets in %d rows from %g to %g", targets.Rows, targets.X.Min, targets.X.Max)
	}

	f := newFolder(t)
	for seed, score := range []float64{0, 1, 2, 9, 100} {
		f.adapted(t, results.ExperimentAdaptation, "aurora", "walker-uni", int64(seed), results.Actuators,
			[][2]float64{{0, math.NaN()}}, score)
	}
	of := f.open(t)
	errtest.Equal(t, "the interquartile mean",
		linesOf(must.Get(of.adaptation([]string{"aurora"}, "", stats.IQM)).Panels[1][0])[0].Y[0], 4)
}

// The gain is relative to the seed's own score without perturbation, whatever its sign. Its axis is
// cut where gains say little.
func TestGainPanels(t *testing.T) {
	data := adapted(t)
	panel := must.Get(AdaptationGain(data)).Panels[0][0]
	me, diayn := linesOf(panel)[0], linesOf(panel)[1]
	errtest.Equal(t, "gains of MAP-Elites", me.Y, []float64{-21.25, 0, -46.25})
	if diayn.Y[1] != 0 || diayn.Y[2] > -150 || diayn.Y[2] < -160 {
		t.Errorf("gains of DIAYN+REWARD %v, want 0 at multiplier 1 and about -156 at 5", diayn.Y)
	}
	if y := panel.Y; y.Min != -gainLimit || y.Max <= 0 || y.Max > 20 {
		t.Errorf("limits %g and %g, want -150 and a little above 0", y.Min, y.Max)
	}
	nan := math.NaN()
	spread := []figures.Series{{Y: []float64{nan, 10}, Low: []float64{math.Inf(-1), 5}, High: []float64{nan, 49}}}
	if limits := gainLimits(spread); limits[0] != -gainLimit || math.Abs(limits[1]-60) > 2 {
		t.Errorf("limits %v, want -150 and about 60", limits)
	}
}

// Figure 16 has only the methods of the experiment "reward", from any experiment, and shared runs once.
func TestRewardAdaptation(t *testing.T) {
	data := adapted(t)
	if labels, want := data.rewardLabels(), []string{"diayn", "diayn-reward"}; !reflect.DeepEqual(labels, want) {
		t.Fatalf("%v, want %v", labels, want)
	}
	drawn := must.Get(RewardAdaptation(data)).Panels
	if s := linesOf(drawn[0][0]); len(s) != 1 || s[0].Name != "diayn-reward" || s[0].Y[0] != 25 {
		t.Errorf("gravity on ant-uni: %+v", s)
	}
	if s := linesOf(drawn[1][1]); len(s) != 1 || s[0].Name != "diayn" || s[0].Y[1] != 8 {
		t.Errorf("leg of walker-uni: %+v", s)
	}
	errtest.Equal(t, "targets without runs", len(drawn[0]), 2)
}

// Medians over seeds for each target position, the best in bold. Methods without such runs are left out.
func TestAdaptationTargets(t *testing.T) {
	f := newFolder(t)
	for seed, x := range []float64{0, 10, 80} {
		f.adapted(t, results.ExperimentAdaptation, "aurora", "ant-maze", int64(seed), results.Target,
			[][2]float64{{11.7, 35.2}, {-2.3, 14.9}}, -100-x, -200)
		f.adapted(t, results.ExperimentAdaptation, "dads-reward", "ant-maze", int64(seed), results.Target,
			[][2]float64{{-2.3, 14.9}}, -150-x)
		f.adapted(t, results.ExperimentAdaptation, "map-elites", "ant-uni", int64(seed), results.Gravity,
			[][2]float64{{1, math.NaN()}}, 9)
		f.adapted(t, results.ExperimentReward, "diayn", "ant-maze", int64(seed), results.Target, [][2]float64{{1, 2}}, 9)
	}
	table, err := AdaptationTargets(f.open(t))
	must.Do(err)
	errtest.Equal(t, "header", table.Header, []string{"method", "(12, 35)", "(-2, 15)"})
	number := tables.Plain.Number
	want := [][]tables.Entry{
		{{Text: "AURORA"}, {Text: number(-110), Bold: true}, {Text: number(-200)}},
		{{Text: "DADS+REWARD"}, {}, {Text: number(-160), Bold: true}},
	}
	errtest.Equal(t, "rows", table.Rows, want)
	gravity := newFolder(t)
	gravity.adapted(t, results.ExperimentAdaptation, "map-elites", "ant-uni", 0, results.Gravity,
		[][2]float64{{1, math.NaN()}}, 9)
	if table, err = AdaptationTargets(gravity.open(t)); err != nil || len(table.Rows) != 0 || len(table.Notes) != 1 {
		t.Errorf("without targets: %+v, %v", table, err)
	}
}

// The best skills of the first seed, with empty entries for missing values.
func TestAdaptationSkills(t *testing.T) {
	f := newFolder(t)
	nan := math.NaN()
	f.adapted(t, results.ExperimentAdaptation, "map-elites", "ant-uni", 1, results.Gravity,
		[][2]float64{{0.5, nan}, {1, nan}}, nan, 3)
	f.adapted(t, results.ExperimentAdaptation, "map-elites", "ant-uni", 2, results.Gravity, [][2]float64{{0.5, nan}}, 7)
	f.adapted(t, results.ExperimentAdaptation, "dads-reward", "ant-uni", 0, results.Gravity, [][2]float64{{0.5, nan}}, 7)
	f.adapted(t, results.ExperimentAdaptation, "dads-reward", "ant-uni", 1, results.Actuators, [][2]float64{{0, nan}}, 7)
	data := f.open(t)
	table, err := AdaptationSkills(data, results.Gravity, "") // ant-uni, the only one
	must.Do(err)
	want := [][]tables.Entry{tables.Row("MAP-Elites", "2", "", "1"), tables.Row("DADS+REWARD", "2", "1", "")}
	errtest.Equal(t, "rows and header", fmt.Sprint(table.Rows, table.Header),
		fmt.Sprint(want, []string{"method", "skills", "× 0.5", "× 1"}))
	data.Adapted = slices.DeleteFunc(data.Adapted, func(a results.Adapted) bool { return a.Perturbation == results.Gravity })
	for env, want := range map[string]string{"walker-uni": "gravity on walker-uni: no run",
		"": "gravity on any environment: no run"} {
		errtest.Want(t, errtest.Of(AdaptationSkills(data, results.Gravity, env)), want)
	}
}

func TestRewardImpact(t *testing.T) {
	data := &Data{Tables: &results.Tables{}}
	add := func(label, env string, scores ...float64) {
		for seed, score := range scores {
			data.Trained = append(data.Trained, results.Trained{Experiment: results.ExperimentReward,
				Label: label, Algorithm: label, Env: env,
				Seed: int64(seed), Finished: true, Point: results.Point{QDScore: score}})
		}
	}
	add("diayn", "ant-uni", 10, 30, 90)
	add("diayn-reward", "ant-uni", 40, 100, 40)
	add("dads", "ant-uni", 10)
	add("dads", "ant-omni", 10)
	add("dads-reward", "ant-omni", 0)
	table := must.Get(RewardImpact(data))
	// The paper: 7.46e4 / 1.29e5, 1.13e5 / 2.88e5, 4.84e4 / 4.00e4 and 3.50e5 / 3.05e5.
	want := [][]string{{"ant-uni", "0.75", "0.58", "", "0.39"}, {"ant-omni", "", "1.21", "", "1.15"}}
	for i, row := range table.Rows {
		errtest.Equal(t, "row", texts(row), want[i])
	}
	errtest.Equal(t, "rows and columns", fmt.Sprint(len(table.Rows), len(table.Header)), "2 5")
}
