package paper

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"

	"example.com/qdnb/qdnb/algorithms/records"
	"example.com/qdnb/qdnb/paper/protocol"
	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/stats"
)

// The paper's methods and environments, in its order. Figures of curves have a row for each
// environment.
var (
	qdMethods    = records.Names(records.Neuroevolution)
	rlMethods    = records.Names(records.Reinforcement)
	allMethods   = records.Compared()
	curveEnvs    = protocol.Environments()
	curveMetrics = []curveMetric{{"Max fitness", results.MaxFitness}, curveCoverage, {"QD score", results.QDScore}}

	curveCoverage = curveMetric{"Coverage (%)", results.Coverage}
)

type curveMetric struct {
	title string
	results.Metric
}

// CurvesOverTime draws figure 6: max fitness, coverage and QD score of the eight methods on each
// environment, over the time since the first evaluation. This excludes compilation, which takes a
// large part of a small run. The paper includes it, but it is a small part of two hours. If budgets
// are processor time, so is the axis. Lines are medians over seeds and bands are quartiles; the
// paper does not define its own. A seed that ends before others of its method keeps its last
// values, so curves end at the numbers of table 1. Environments without a complete run are left
// out.
//
// The time axis is logarithmic if a method ends in its first fifth, as in small runs, whose budgets
// are in steps.
func CurvesOverTime(data *Data) (figures.Grid, error) {
	return metricCurves(data, allMethods, curveEnvs, timeAxis)
}

// CurvesOverStepsQD draws figure 7: the metrics of [CurvesOverTime] over environment steps for the
// quality-diversity methods. The axis ends at 1.5e8 steps, as in the paper, or at the end of the
// data.
func CurvesOverStepsQD(data *Data) (figures.Grid, error) {
	return metricCurves(data, qdMethods, curveEnvs, stepsAxis(1.5e8))
}

// CurvesOverStepsRL draws figure 8: like [CurvesOverStepsQD] for the mutual-information and
// reinforcement-learning methods, up to 1e7 steps.
func CurvesOverStepsRL(data *Data) (figures.Grid, error) {
	return metricCurves(data, rlMethods, curveEnvs, stepsAxis(1e7))
}

type curveAxis struct {
	of    func(results.Point) float64
	label func(end float64) (label string, unit float64) // for data up to end
	most  float64                                        // upper limit of the axis
	// coloured is the number of best places on an environment whose methods are in colour, with their names at the
	// ends of their lines. The others are grey; 0: all are in colour.
	coloured int
}

// clock labels the time axes of figures 6, 11, 12 and 15: time since the first evaluation, or, for
// runs with a budget in it, processor time.
const clock, cpuClock = "time without compilation", "processor time"

// elapsed returns the time that a run took for a number of environment steps, at which the log says
// seconds. Processor time depends less on what else the machine did than time by the clock; logs have
// only the latter, so the former is estimated as proportional to environment steps.
func elapsed(r results.Trained, steps, seconds float64) float64 {
	if r.CPUSeconds > 0 && r.EnvSteps > 0 {
		return r.CPUSeconds * steps / r.EnvSteps
	}
	if len(r.Curve) > 0 {
		seconds -= r.Curve[0].Seconds // of the first evaluation, after compilation
	}
	return seconds
}

var timeAxis = curveAxis{
	of: func(p results.Point) float64 { return p.Seconds },
	label: func(end float64) (string, float64) {
		switch {
		case end < 300:
			return clock + " (s)", 1
		case end < 3600:
			return clock + " (min)", 60
		}
		return clock + " (h)", 3600
	},
	most: math.Inf(1),
}

func stepsAxis(most float64) curveAxis {
	return curveAxis{
		of:    results.EnvSteps.Of,
		label: func(float64) (string, float64) { return figures.EnvSteps.Label, 1 },
		most:  most,
	}
}

// seeds are the runs behind one line of a panel.
type seeds struct {
	name   string
	style  *figures.Style
	named  bool // at its end, in the last panel
	curves [][]results.Point
	cpu    bool // times are processor time
}

func metricCurves(data *Data, methods, envs []string, axis curveAxis) (figures.Grid, error) {
	var g figures.Grid
	var rows [][]seeds
	var all []seeds
	for _, env := range envs {
		var row []seeds
		for _, method := range methods {
			if s := curvesOf(method, data.FinishedRuns(method, env)); len(s.curves) > 0 {
				row = append(row, s)
			}
		}
		if len(row) > 0 {
			rows, all = append(rows, row), append(all, row...)
			g.Rows = append(g.Rows, env)
		}
	}
	if len(all) == 0 {
		return g, data.noRuns(results.ExperimentTraining)
	}
	g.Note = data.missing(methods, envs)
	x := axis.over(all)
	if axis.coloured > 0 {
		emphasise(data, g.Rows, rows, axis.coloured)
	}
	for _, metric := range curveMetrics {
		g.Columns = append(g.Columns, metric.title)
	}
	for _, row := range rows {
		var panels figures.Panels
		for _, metric := range curveMetrics {
			panels.Add(x.panel(row, metric, ""))
		}
		drawn, err := panels.Row()
		if err != nil {
			return g, err
		}
		for _, panel := range drawn {
			panel.Aspect = 1.9
		}
		g.Panels = append(g.Panels, drawn)
	}
	return g, nil
}

// PriorCoverage draws figure 15: coverage of DIAYN+REWARD and DADS+REWARD on ant-omni over time,
// with skills discriminated by the descriptor (the prior) or by the whole observation. Lines and
// bands are as in [CurvesOverTime].
func PriorCoverage(data *Data) (figures.Grid, error) {
	var lines []seeds
	for _, prior := range []bool{true, false} {
		for _, method := range records.Compared("-reward") {
			s := curvesOf(method, data.PriorRuns(method, prior))
			if !prior {
				s.name += " without prior"
				style := figures.MethodStyles(method)[method]
				style.Name, style.Dashes = style.Name+", no prior", []vg.Length{4, 2}
				s.style = &style
			}
			if len(s.curves) > 0 {
				lines = append(lines, s)
			}
		}
	}
	if len(lines) == 0 {
		return figures.Grid{}, data.noRuns(results.ExperimentPrior)
	}
	panel, err := timeAxis.over(lines).panel(lines, curveCoverage, curveCoverage.title)
	return figures.Grid{Panels: [][]*figures.Panel{{panel}}, Note: data.lackingPrior()}, err
}

// curvesOf returns the curves of a method's runs. The repertoires of AURORA and PGA-AURORA are
// filled every ten generations, but logged more often with repeated values. Repeated rows are
// dropped, so that lines connect evaluations instead of forming steps.
func curvesOf(method string, trained []results.Trained) seeds {
	s := seeds{name: method}
	for _, r := range trained {
		curve := slices.Clone(r.Curve)
		for i, p := range curve {
			curve[i].Seconds = elapsed(r, p.EnvSteps, p.Seconds)
		}
		s.cpu = s.cpu || r.CPUSeconds > 0
		if slices.Contains(records.Compared("aurora"), r.Algorithm) {
			curve = news(curve)
		}
		if len(curve) > 0 {
			s.curves = append(s.curves, curve)
		}
	}
	return s
}

// news returns the points whose metrics differ from the previous point, and the last point.
func news(curve []results.Point) []results.Point {
	var kept []results.Point
	for i, p := range curve {
		before := curve[max(i-1, 0)]
		before.EnvSteps, before.Seconds = p.EnvSteps, p.Seconds
		if i == 0 || i == len(curve)-1 || before != p {
			kept = append(kept, p)
		}
	}
	return kept
}

type span struct {
	of        func(results.Point) float64
	label     string
	unit      float64
	low, high float64 // in units of `of`
	log       bool
}

// over returns the axis that shows all lines.
func (a curveAxis) over(lines []seeds) span {
	x := span{of: a.of, low: math.Inf(1)}
	shortest := math.Inf(1)
	for _, line := range lines {
		end := 0.0
		for _, curve := range line.curves {
			end = max(end, a.of(curve[len(curve)-1]))
			for _, p := range curve {
				if v := a.of(p); v > 0 {
					x.low = min(x.low, v)
				}
			}
		}
		x.high, shortest = max(x.high, end), min(shortest, end)
	}
	x.high = min(x.high, a.most)
	x.log = shortest < x.high/5 && x.low < x.high
	if !x.log {
		x.low = 0
	}
	x.label, x.unit = a.label(x.high)
	if slices.ContainsFunc(lines, func(s seeds) bool { return s.cpu }) {
		x.label = strings.Replace(x.label, clock, cpuClock, 1)
	}
	return x
}

// curvePoints is the maximum number of points of a curve. More would be indistinguishable in print.
const curvePoints = 200

// panel draws a metric of runs.
func (x span) panel(lines []seeds, metric curveMetric, label string) (*figures.Panel, error) {
	a := figures.Axes{XLabel: x.label, YLabel: label, LogX: x.log}
	var medians []figures.Series
	largest := 0.0
	if x.low < x.high {
		a.XLimits = [2]float64{x.low / x.unit, x.high / x.unit}
	}
	for _, line := range lines {
		curves := make([]figures.Series, 0, len(line.curves))
		var at []float64
		end := 0.0
		for _, curve := range line.curves {
			s := x.series(curve, metric.Metric)
			if len(s.X) == 0 {
				continue
			}
			curves = append(curves, s)
			at = append(at, s.X...)
			end = max(end, s.X[len(s.X)-1])
		}
		if len(curves) == 0 {
			continue
		}
		for i, s := range curves { // extend finished seeds with their last value
			if n := len(s.X); s.X[n-1] < end {
				curves[i].X, curves[i].Y = append(s.X, end), append(s.Y, s.Y[n-1])
			}
		}
		series, err := figures.Quartiles(line.name, curves, x.grid(at, end), stats.Median)
		if err != nil {
			return nil, fmt.Errorf("curves of %s: %w", line.name, err)
		}
		series.Style, series.Ends = line.style, line.named && metric.Metric == results.QDScore
		medians = append(medians, series)
		for _, y := range series.High {
			if y > largest { // false for NaN
				largest = y
			}
		}
	}
	switch {
	case metric == curveCoverage && largest > 0:
		a.YLimits = [2]float64{0, 1.05 * largest}
	case metric != curveCoverage && !x.log:
		a.YLimits = figures.Rising(medians)
	}
	return figures.Lines(a, medians...)
}

// series returns a metric of a run in the units of the axis, cut at its end. Points that are not
// later than the previous point are dropped; a run that was killed and resumed has such points.
func (x span) series(curve []results.Point, metric results.Metric) figures.Series {
	var s figures.Series
	for _, p := range curve {
		v := x.of(p)
		at := v / x.unit
		if n := len(s.X); v > x.high || x.log && v <= 0 || n > 0 && at <= s.X[n-1] {
			continue
		}
		s.X, s.Y = append(s.X, at), append(s.Y, metric.Of(p))
	}
	return s
}

// grid returns the x values of a line up to its end: those of its runs, thinned to curvePoints.
func (x span) grid(at []float64, end float64) []float64 {
	slices.Sort(at)
	at = slices.Compact(at)
	if len(at) <= curvePoints {
		return at
	}
	first := at[0]
	spaced := make([]float64, curvePoints)
	for i := range spaced {
		f := float64(i) / (curvePoints - 1)
		if x.log {
			spaced[i] = first * math.Pow(end/first, f)
		} else {
			spaced[i] = first + (end-first)*f
		}
	}
	spaced[curvePoints-1] = end
	return spaced
}
