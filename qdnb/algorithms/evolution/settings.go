package evolution

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/limits"
	"example.com/qdnb/internal/names"
	"example.com/qdnb/internal/parts"
	"example.com/qdnb/qdnb/algorithms"
	"example.com/qdnb/qdnb/algorithms/records"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
)

// MapElites are the hyperparameters of MAP-Elites, and of all algorithms that make offspring by emitters
// and keep them in an archive: each is a preset of these parts. The settings of the parts are settings of
// the algorithm, see package parts. A zero value is not useful; see [DefaultMapElites].
type MapElites struct {
	Batch int `json:"batch" limits:"1,1048576"` // policies per generation; paper: 1000
	repertoire.CVT
	// Hidden are the units of the policy's hidden layers; paper: 256, 256.
	Hidden []int `json:"hidden" limits:"0"`
	// Memory is the number of units of a GRU before the policy's last layer, see [nn.GRU]; 0: no memory.
	Memory        int `json:"memory,omitzero" limits:"0,65536"`
	EpisodeLength int `json:"episode_length" limits:"1,1048576"` // control steps of an episode; paper: 250, ant-maze 500
	// Slice is the number of policies rolled out together; 0: chosen for the backend.
	Slice int `json:"slice" limits:"0,1048576"`
	// Weights is the number format of the policies' weights in rollouts: float32 or bfloat16.
	Weights scoring.Precision `json:"weights,omitzero"`
	// Starts are the initial states of the evaluations: fresh ones, or a number of fixed ones.
	Starts Starts `json:"starts,omitzero" limits:"0,1048576"`
	Parts  `json:"-"`
}

// Parts are what an algorithm is made of. Tuning their settings makes another configuration of the
// algorithm; other parts make a variant, whose run records a hash of its programs.
type Parts struct {
	Mix     Mix                `parts:"mix"`     // the emitters
	Archive repertoire.Archive `parts:"archive"` // keeps the solutions
	// Initial are genotypes that the first generations evaluate, a batch each, in place of random
	// policies; these fill the last batch. They belong to the run's identity.
	Initial [][]float32
	// Policy is the architecture of the policies, with sizes that fit the environment; nil: from
	// Hidden and Memory.
	Policy nn.Architecture `parts:"policy"`
}

// NeedsObservations reports whether the parts learn from observations.
func (p Parts) NeedsObservations() bool {
	_, records := p.Archive.(repertoire.SequenceRecorder)
	return records || slices.ContainsFunc(p.Mix, func(s Share) bool {
		_, proposes := s.Emitter.(Proposer)
		_, acts := s.Emitter.(actor)
		return proposes || acts
	})
}

// NeedsGradients reports whether the parts need gradients of fitness and descriptor, see
// [envs.BlackBox].
func (p Parts) NeedsGradients() bool {
	return slices.ContainsFunc(p.Mix, func(s Share) bool {
		_, differentiates := s.Emitter.(gradientArborescence)
		return differentiates
	})
}

// DefaultMapElites returns MAP-Elites with the paper's hyperparameters for an environment (table 5).
func DefaultMapElites(env envs.Spec) *MapElites {
	m := &MapElites{
		Batch: 1000, CVT: repertoire.DefaultCVT(),
		Hidden: []int{256, 256}, EpisodeLength: env.Length,
		Weights: "float32",
		Parts:   Parts{Mix: Mix{{defaultIsoLine, Rest}}, Archive: repertoire.Grid{}},
	}
	if env.Observations == 0 { // the genotype is the action
		m.Hidden = []int{}
	}
	return m
}

var defaultIsoLine = IsoLineEmitter{IsoSigma: 0.005, LineSigma: 0.05}

// Resolve sets what follows from an environment and other settings: a lowest threshold that is NaN becomes
// minus the QD offset of an episode, and Policy replaces Hidden and Memory.
func (m *MapElites) Resolve(env envs.Spec) {
	if m.Policy != nil {
		m.Hidden, m.Memory = nil, 0
	}
	list, done := parts.Open(reflect.ValueOf(m))
	for _, part := range list[1:] {
		for _, field := range part.Fields() {
			if field.Name == "threshold_min" && field.Value.CanFloat() && math.IsNaN(field.Value.Float()) {
				// without -0 and the rounding of products
				field.Value.SetFloat(0 - math.Round(1e6*env.Offset*float64(m.EpisodeLength))/1e6)
				done()
			}
		}
	}
}

// Check implements [algorithms.Algorithm].
func (m *MapElites) Check() error {
	if m.Archive == nil {
		return errors.New("Archive is nil: a search needs one")
	}
	if v := reflect.ValueOf(m.Policy); v.Kind() == reflect.Pointer && v.IsNil() {
		return fmt.Errorf("Policy is a nil %T: set it to an architecture, or leave it out", m.Policy)
	}
	assigned, err := m.Mix.assign(m.Batch)
	if err := cmp.Or(limits.Of(m), m.CVT.Check(), m.Weights.Check(), err); err != nil {
		return err
	}
	if !m.Weights.IsZero() && (m.Memory > 0 || m.Policy != nil) {
		return errors.New("weights cannot be set for policies with memory or code of their own")
	}
	if _, ok := m.Archive.(repertoire.OneStart); ok && m.Starts != 0 {
		return errors.New("starts cannot be set: all evaluations of this archive start in the same initial state")
	}
	if c, ok := m.Archive.(interface{ Check(length int) error }); ok {
		err = c.Check(m.EpisodeLength)
	}
	for _, a := range assigned {
		if c, ok := a.Emitter.(interface {
			Check(batch, count, length int) error
		}); ok {
			err = cmp.Or(err, c.Check(m.Batch, a.count, m.EpisodeLength))
		}
	}
	return err
}

// Fits returns an error for settings, which passed Check, that do not work in an environment or have no
// effect in it.
func (m *MapElites) Fits(env envs.Env) error {
	spec := env.Spec()
	_, box := envs.Inner(env).(*envs.BlackBox)
	switch {
	case spec.Observations == 0 && (len(m.Hidden) > 0 || m.Memory > 0 || !m.Weights.IsZero()):
		return names.Wrongf("hidden, memory and weights have no effect in %s, whose solutions are no networks: leave them out",
			spec.Name)
	case box && (m.Starts != 0 || m.EpisodeLength != spec.Length):
		return names.Wrongf("starts and episode_length have no effect in %s, which evaluates a solution in one step: leave "+
			"them out", spec.Name)
	}
	task := m.Task(env)
	if m.Policy != nil {
		if err := task.CheckPolicy(); err != nil {
			return err
		}
	}
	assigned, err := m.Mix.assign(m.Batch)
	return cmp.Or(err, fit(assigned, task))
}

// fit returns an error for an emitter that does not work in a task.
func fit(assigned []assignment, task scoring.Task) error {
	for _, m := range assigned {
		if f, ok := m.Emitter.(interface {
			fits(task scoring.Task, individuals int) error
		}); ok {
			if err := f.fits(task, m.count); err != nil {
				return err
			}
		}
	}
	return nil
}

// New implements [algorithms.Algorithm].
func (m *MapElites) New(p *xla.Platform, env envs.Env, seed int64) (algorithms.Search, error) {
	spec, resolved := env.Spec(), *m
	resolved.Resolve(spec)
	centroids, err := m.Centroids(spec.Descriptor.Lower, spec.Descriptor.Upper)
	if err != nil {
		return nil, err
	}
	if _, ok := envs.Inner(env).(*envs.Simulator); ok && (m.Starts != 0 || m.Memory != 0 || !m.Weights.IsZero()) {
		return nil, errors.New("starts, memory and weights are settings of rollouts on the device, not of a " +
			"simulator on the host")
	}
	task := m.Task(env)
	s, err := newSearch(p, task, resolved.Parts, settings{Batch: m.Batch, Slice: m.Slice, Seed: seed,
		Starts: m.Starts, Centroids: centroids})
	if err != nil {
		return nil, err // a nil *search is a Search
	}
	return s, nil
}

// Task returns the task of evaluating the policies in an environment.
func (m *MapElites) Task(env envs.Env) scoring.Task {
	task := scoring.NewTask(env, m.Hidden, m.EpisodeLength).WithMemory(m.Memory)
	task.Weights = m.Weights
	if m.Policy != nil {
		task.Policy = m.Policy
	}
	return task
}

// Algorithms are the algorithms of this package. The file of each adds it.
var Algorithms []algorithms.Entry

// preset adds an algorithm, for a package-level variable without a name.
func preset(name string, defaults func(envs.Spec) *MapElites) struct{} {
	Algorithms = append(Algorithms, algorithms.Entry{Record: records.Record{Name: name},
		Defaults: func(env envs.Spec) algorithms.Algorithm { return defaults(env) }})
	return struct{}{}
}

var _ = preset("map-elites", DefaultMapElites)
