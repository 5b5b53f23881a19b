package evolution

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/limits"
	"example.com/qdnb/qdnb/algorithms"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
)

// MapElites are the hyperparameters of MAP-Elites. A zero value is not useful; see
// [DefaultMapElites].
type MapElites struct {
	Batch int `json:"batch" limits:"1,1048576"` // policies per generation; paper: 1000
	// IsoSigma is the standard deviation of the isotropic noise on each parameter; paper: 0.005.
	IsoSigma float64 `json:"iso_sigma" limits:"0,1e6"`
	// LineSigma is the standard deviation along the line through two parents; paper: 0.05.
	LineSigma float64 `json:"line_sigma" limits:"0,1e6"`
	repertoire.CVT
	// Hidden are the units of the policy's hidden layers; paper: 256, 256.
	Hidden        []int `json:"hidden" limits:"0"`
	EpisodeLength int   `json:"episode_length" limits:"1,1048576"` // control steps; paper: 250, ant-maze 500
	// Slice is the number of policies rolled out together; 0: chosen for the backend.
	Slice int `json:"slice" limits:"0,1048576"`
	// Weights is the number format of the policies' weights in rollouts.
	Weights scoring.Weights `json:"weights,omitzero"`
	Starts  Starts          `json:"starts,omitzero" limits:"0,1048576"` // initial states of the evaluations
	Parts   `json:"-"`
}

// Parts are the parts of an algorithm that its user may replace; zero values keep its own. They are no
// settings: a run records a hash of the programs that they make.
type Parts struct {
	Mix     Mix                // the emitters
	Archive repertoire.Archive // keeps the solutions
	// Initial are genotypes that the first generations evaluate, a batch each, in place of random
	// policies; these fill the last batch.
	Initial [][]float32

	oneStart     bool // all evaluations of a run start in the same initial state
	measureEvery int  // generations between measurements of an archive without centroids; 0: 10
}

// Replaced names the parts that are replaced. Their code belongs to the identity of a run.
func (p Parts) Replaced() (names []string) {
	if p.Mix != nil {
		names = append(names, "Mix")
	}
	if p.Archive != nil {
		names = append(names, "Archive")
	}
	return names
}

// or returns these parts, and an algorithm's own where there are none.
func (p Parts) or(own Parts) Parts {
	if p.Mix != nil {
		own.Mix = p.Mix
	}
	own.Archive, own.Initial = cmp.Or(p.Archive, own.Archive), p.Initial
	return own
}

// Observes reports whether replaced parts learn from observations.
func (p Parts) Observes() bool {
	_, records := p.Archive.(repertoire.Recorder)
	return records || slices.ContainsFunc(p.Mix, func(s Share) bool {
		_, proposes := s.Emitter.(Proposer)
		return proposes
	})
}

// DefaultMapElites returns the paper's hyperparameters for an environment (table 5).
func DefaultMapElites(env envs.Spec) *MapElites {
	m := &MapElites{
		Batch: 1000, IsoSigma: 0.005, LineSigma: 0.05, CVT: repertoire.DefaultCVT(),
		Hidden: []int{256, 256}, EpisodeLength: env.Length,
		Weights: "float32",
	}
	if env.Observations == 0 { // the genotype is the action
		m.Hidden = []int{}
	}
	return m
}

// Base returns the hyperparameters that all algorithms of this package share.
func (m *MapElites) Base() MapElites { return *m }

// own are the Iso+LineDD emitter and a grid.
func (m *MapElites) own() Parts {
	return Parts{Mix: Mix{{m.isoLine(), 1}}, Archive: repertoire.Grid{}}
}

func (m *MapElites) isoLine() Emitter {
	return IsoLineEmitter{IsoSigma: m.IsoSigma, LineSigma: m.LineSigma}
}

// hyperparameters are those of an algorithm of this package.
type hyperparameters interface {
	algorithms.Algorithm
	Base() MapElites
	own() Parts // the algorithm's own parts
}

// Recorded returns the settings of an algorithm of this package that a run records; see
// [algorithms.Recorded]. They are nil for another algorithm.
func Recorded(a algorithms.Algorithm) (map[string]json.RawMessage, error) {
	h, ok := a.(hyperparameters)
	if !ok {
		return nil, nil
	}
	return algorithms.Recorded(h, func(h hyperparameters) ([]algorithms.Part, any) {
		own, base := h.own(), h.Base()
		mix, archive := algorithms.Part{Own: own.Mix}, algorithms.Part{Own: own.Archive}
		if base.Mix != nil {
			mix.By = base.Mix
		}
		if base.Archive != nil {
			archive.By = base.Archive
		}
		own.Mix, own.Archive = nil, nil
		base.Parts, base.IsoSigma, base.LineSigma = own, 0, 0 // settings of an emitter
		return []algorithms.Part{mix, archive}, base
	})
}

// New implements [algorithms.Algorithm].
func (m *MapElites) New(p *xla.Platform, env envs.Env, seed int64) (algorithms.Search, error) {
	return searchFor(m, p, env, seed)
}

// searchFor compiles the search of an algorithm.
func searchFor(h hyperparameters, p *xla.Platform, env envs.Env, seed int64) (algorithms.Search, error) {
	base, spec := h.Base(), env.Spec()
	centroids, err := base.Centroids(spec.Descriptor.Lower, spec.Descriptor.Upper)
	if err != nil {
		return nil, err
	}
	if _, ok := envs.Inner(env).(*envs.Simulator); ok && (base.Starts != 0 || !base.Weights.IsZero()) {
		return nil, errors.New("starts and weights are settings of rollouts on the device, not of a simulator " +
			"on the host")
	}
	task := scoring.NewTask(env, base.Hidden, base.EpisodeLength)
	task.Weights = base.Weights
	s, err := newSearch(p, task, base.Parts.or(h.own()), settings{Batch: base.Batch, Slice: base.Slice, Seed: seed,
		Starts: base.Starts, Centroids: centroids})
	if err != nil {
		return nil, err // a nil *search is a Search
	}
	return s, nil
}

// Check implements [algorithms.Algorithm].
func (m *MapElites) Check() error { return cmp.Or(limits.Of(m), m.CVT.Check(), m.Weights.Check()) }

// Settings for runs that take seconds.
var (
	smokePGA = []string{"critic_hidden=8,8", "replay_buffer_size=1000", "num_critic_training_steps=4",
		"num_pg_training_steps=3", "transitions_batch_size=16"}
	smokeAurora = []string{"capacity=24", "sampling=5", "loop=2", "epochs=3", "late_epochs=2",
		"training_batch=8", "latent=2", "threshold=0.01"}
	smokeES = []string{"emitters=4"}
)

// Algorithms are the algorithms of this package: those of the paper, and later ones.
var Algorithms = []algorithms.Entry{
	{Name: "map-elites", Defaults: algorithms.Defaults(DefaultMapElites)},
	{Name: "pga-map-elites", Defaults: algorithms.Defaults(defaultPGAMapElites), Observes: true, Smoke: smokePGA},
	{Name: "aurora", Defaults: algorithms.Defaults(defaultAurora), Observes: true, Smoke: smokeAurora},
	{Name: "pga-aurora", Defaults: algorithms.Defaults(defaultPGAAurora), Observes: true,
		Smoke: slices.Concat(smokePGA, smokeAurora)},
	{Name: "dns", Defaults: algorithms.Defaults(defaultDominatedNovelty), Smoke: []string{"capacity=24"}},
	{Name: "cma-mae", Defaults: algorithms.Defaults(defaultCMAMAE), Smoke: smokeES},
	{Name: "cma-mega", Defaults: algorithms.Defaults(defaultCMAMEGA), Differentiates: true, Smoke: smokeES},
	{Name: "cma-maega", Defaults: algorithms.Defaults(defaultCMAMAEGA), Differentiates: true, Smoke: smokeES},
	{Name: "dms", Defaults: algorithms.Defaults(defaultDMS), Smoke: smokeES},
	{Name: "mome", Defaults: algorithms.Defaults(defaultMOME), Smoke: []string{"front_size=3"}},
	{Name: "dcrl-map-elites", Defaults: algorithms.Defaults(defaultDCRLMapElites), Observes: true, Smoke: smokePGA},
	{Name: "ascii-me", Defaults: algorithms.Defaults(defaultASCIIME), Observes: true,
		Smoke: []string{"num_epochs=3"}},
	{Name: "aurora-xcon", Defaults: algorithms.Defaults(defaultAuroraXCon), Observes: true,
		Smoke: []string{"capacity=24", "sampling=5", "loop=2", "epochs=3", "training_batch=8", "latent=2",
			"extinction_every=3"}},
	{Name: "ppga", Defaults: algorithms.Defaults(defaultPPGA), Observes: true,
		Smoke: []string{"num_envs=4", "unroll_length=5", "num_minibatches=2", "update_epochs=1", "ppo_iterations=1",
			"value_hidden=8"}},
}
