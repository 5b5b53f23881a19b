package figures

import (
	"fmt"

	"example.com/qdnb/qdnb/stats"
)

// Scores are the final scores of a method by task, one per seed. Normalise those of different tasks, because
// their numbers are compared.
type Scores struct {
	Name  string // a method, see [MethodStyles]
	Tasks [][]float64
}

func (s Scores) check() error {
	for i, task := range s.Tasks {
		if len(task) == 0 {
			return fmt.Errorf("figures: %q has no score of task %d", s.Name, i)
		}
		for _, score := range task {
			if !finite(score) {
				return fmt.Errorf("figures: %q has the score %v of task %d: want finite scores", s.Name, score, i)
			}
		}
	}
	if len(s.Tasks) == 0 {
		return fmt.Errorf("figures: %q has no scores", s.Name)
	}
	return nil
}

// Profiles returns a panel of performance profiles (see [stats.Profile]): the share of a method's runs that
// score more than a threshold, with pointwise 95 % intervals of a bootstrap of the seeds of each task. The
// method whose line lies above that of another at every threshold is better. Where lines cross, the average
// depends on few runs.
func Profiles(a Axes, methods ...Scores) (*Panel, error) {
	var all [][]float64
	for _, m := range methods {
		if err := m.check(); err != nil {
			return nil, err
		}
		all = append(all, m.Tasks...)
	}
	low, high := a.XLimits[0], a.XLimits[1]
	if a.XLimits == [2]float64{} {
		low, high = axisRange(a.XLimits, false, 0, all)
	}
	const points = 100
	var lines []Series
	for _, m := range methods {
		s := Series{Name: m.Name}
		for i := range points + 1 {
			tau := low + (high-low)*float64(i)/points
			profile := stats.Profile(tau)
			band := stats.Bootstrap(stats.Source(1), m.Tasks, profile, stats.DefaultResamples, 0.95)
			s.X, s.Y = append(s.X, tau), append(s.Y, 100*profile(m.Tasks))
			s.Low, s.High = append(s.Low, 100*band.Low), append(s.High, 100*band.High)
		}
		lines = append(lines, s)
	}
	return Lines(a, lines...)
}

// Improvements returns a panel of the probability that a run of the first method of a pair scores more than
// one of the second (see [stats.Improvement]), with its 95 % interval, and a line at one half, where neither
// is better. Both have scores of the same tasks, in the same order.
func Improvements(a Axes, pairs ...[2]Scores) (*Panel, error) {
	var rows []Interval
	for _, pair := range pairs {
		for _, m := range pair {
			if err := m.check(); err != nil {
				return nil, err
			}
		}
		x, y := pair[0], pair[1]
		if len(x.Tasks) != len(y.Tasks) {
			return nil, fmt.Errorf("figures: %q has scores of %d tasks, and %q of %d", x.Name, len(x.Tasks), y.Name, len(y.Tasks))
		}
		style := Style{Name: MethodName(x.Name) + " over " + MethodName(y.Name), Color: MethodStyles(x.Name)[x.Name].Color}
		interval := stats.ImprovementInterval(stats.Source(1), x.Tasks, y.Tasks, stats.DefaultResamples, 0.95)
		rows = append(rows, Interval{Name: style.Name, Value: stats.Improvement(x.Tasks, y.Tasks), Low: interval.Low,
			High: interval.High, Style: &style})
	}
	if a.XLimits == [2]float64{} {
		a.XLimits = [2]float64{0, 1}
	}
	p, err := Intervals(a, rows...)
	if err != nil {
		return nil, err
	}
	p.put(Vertical(0.5))
	return p, nil
}
