// Package ite adapts a repertoire to damage by Intelligent Trial and Error (Cully et al. 2015, "Robots
// that can adapt like animals"): Bayesian optimisation over the repertoire's cells, whose fitnesses are
// what is expected before the first trial. It runs on the host, and a trial may be an episode of a
// simulation or of a robot.
package ite

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"example.com/qdnb/qdnb/runs"
)

// Settings configure [Search]. Fitnesses are divided by the largest absolute one of the repertoire, and
// descriptors are scaled to their limits, so settings do not depend on units.
type Settings struct {
	Length float64 // length scale of the kernel
	Noise  float64 // variance of the noise of a trial
	Kappa  float64 // standard deviations that the acquisition adds to the mean
	Alpha  float64 // stop when the best trial reaches this fraction of the best mean
	Trials int     // at most
}

// Default returns the paper's settings.
func Default() Settings {
	return Settings{Length: 0.4, Noise: 0.001, Kappa: 0.05, Alpha: 0.9, Trials: 20}
}

// Trial is the trial of a cell.
type Trial struct {
	Cell          int
	Expected, Std float64 // of the fitness, before the trial
	Fitness       float64
}

// Search tries cells of a repertoire, the one with the highest upper confidence bound first, and
// returns the trials in their order. It stops when no cell is expected to be much better than the best
// trial, as Alpha says; fitnesses should not be negative for this. try returns the fitness of a
// cell's policy; its errors end the search.
func Search(r *runs.Repertoire, s Settings, try func(cell int) (float64, error)) ([]Trial, error) {
	cells := r.Filled()
	if len(cells) == 0 {
		return nil, fmt.Errorf("the repertoire is empty: train it first")
	}
	points, scale := make([][]float64, len(cells)), 0.0
	for i, cell := range cells {
		for axis, x := range r.Descriptor(cell) {
			value := float64(x)
			if r.Lower != nil {
				value = (value - float64(r.Lower[axis])) / float64(r.Upper[axis]-r.Lower[axis])
			}
			points[i] = append(points[i], value)
		}
		scale = max(scale, math.Abs(float64(r.Fitnesses[cell])))
	}
	if scale == 0 {
		scale = 1
	}
	gp := process{Length: s.Length, Noise: s.Noise}
	means, stds, bounds := make([]float64, len(cells)), make([]float64, len(cells)), make([]float64, len(cells))
	best, trials := math.Inf(-1), []Trial(nil)
	for len(trials) < s.Trials {
		for i, cell := range cells {
			change, variance := gp.Predict(points[i])
			means[i], stds[i] = float64(r.Fitnesses[cell])/scale+change, math.Sqrt(variance)
			bounds[i] = means[i] + s.Kappa*stds[i]
		}
		if best >= s.Alpha*floats.Max(means) {
			break
		}
		i := floats.MaxIdx(bounds)
		fitness, err := try(cells[i])
		if err != nil {
			return trials, fmt.Errorf("trial %d, cell %d: %w", len(trials)+1, cells[i], err)
		}
		trials = append(trials, Trial{cells[i], means[i] * scale, stds[i] * scale, fitness})
		best = max(best, fitness/scale)
		if err := gp.Observe(points[i], (fitness-float64(r.Fitnesses[cells[i]]))/scale); err != nil {
			return trials, fmt.Errorf("trial %d, cell %d: %w", len(trials), cells[i], err)
		}
	}
	return trials, nil
}

// process is a Gaussian process of mean 0 with the Matérn 5/2 kernel of variance 1.
type process struct {
	Length float64 // length scale
	Noise  float64 // variance of the noise of observations

	points [][]float64
	values []float64
	factor mat.Cholesky
	alpha  mat.VecDense // (K + noise)⁻¹ values
}

// Observe adds an observation. Values must be finite.
func (p *process) Observe(point []float64, value float64) error {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return fmt.Errorf("the observed value is %g: it must be finite", value)
	}
	p.points, p.values = append(p.points, point), append(p.values, value)
	n := len(p.points)
	covariance := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i + 1 {
			covariance.SetSym(i, j, p.kernel(p.points[i], p.points[j]))
		}
		covariance.SetSym(i, i, covariance.At(i, i)+p.Noise)
	}
	if !p.factor.Factorize(covariance) {
		return fmt.Errorf("observations at the same point need noise above %g", p.Noise)
	}
	p.alpha.Reset()
	return p.factor.SolveVecTo(&p.alpha, mat.NewVecDense(n, p.values))
}

// Predict returns the mean and the variance, without noise, at a point.
func (p *process) Predict(point []float64) (mean, variance float64) {
	if len(p.points) == 0 {
		return 0, 1
	}
	k := mat.NewVecDense(len(p.points), nil)
	for i, x := range p.points {
		k.SetVec(i, p.kernel(x, point))
	}
	var solved mat.VecDense
	if err := p.factor.SolveVecTo(&solved, k); err != nil {
		return 0, 1
	}
	return mat.Dot(k, &p.alpha), max(0, 1-mat.Dot(k, &solved))
}

// kernel is the Matérn kernel with ν = 5/2.
func (p *process) kernel(a, b []float64) float64 {
	d := math.Sqrt(5) * floats.Distance(a, b, 2) / p.Length
	return (1 + d + d*d/3) * math.Exp(-d)
}
