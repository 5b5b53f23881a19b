package scoring

import (
	"fmt"
	"math"
)

// Means are the means of some metrics over the iterations since the last evaluation.
type Means struct {
	Sums  []float64
	Count float64 // iterations in Sums
}

// Add adds the metrics of an iteration. It returns an error if one is NaN or infinite.
func (m *Means) Add(names []string, metrics []float64) error {
	if err := finite(names, metrics); err != nil {
		return err
	}
	for i, x := range metrics {
		m.Sums[i] += x
	}
	m.Count++
	return nil
}

// Values returns the means; NaN before the first iteration.
func (m *Means) Values() []float64 {
	means := make([]float64, len(m.Sums))
	for i, sum := range m.Sums {
		means[i] = sum / m.Count
	}
	return means
}

// Reset forgets all iterations.
func (m *Means) Reset() {
	clear(m.Sums)
	m.Count = 0
}

// Diverged is the error of a metric that is not finite although all transitions are: no search can
// learn further.
type Diverged struct {
	Metric string
	Value  float64
}

func (d *Diverged) Error() string { return fmt.Sprintf("%s is %v", d.Metric, d.Value) }

func finite(names []string, metrics []float64) error {
	for i, x := range metrics {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return &Diverged{names[i], x}
		}
	}
	return nil
}
