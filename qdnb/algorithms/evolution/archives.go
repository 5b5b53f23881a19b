package evolution

import (
	"cmp"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/algorithms"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/xla"
)

// Aurora are the hyperparameters of AURORA: MAP-Elites with an archive that learns its descriptors.
type Aurora struct {
	MapElites
	repertoire.AuroraSettings
}

// defaultAurora returns the paper's hyperparameters for an environment.
func defaultAurora(env envs.Spec) *Aurora {
	return &Aurora{*DefaultMapElites(env), defaultAuroraSettings(env)}
}

// defaultAuroraSettings returns the paper's hyperparameters of the archive. The sequences hold positions
// if the descriptor is a position. They hold observations if the descriptor measures contacts, which
// gives no prior.
func defaultAuroraSettings(env envs.Spec) repertoire.AuroraSettings {
	s := repertoire.AuroraSettings{Capacity: 1024, EncoderSettings: repertoire.EncoderSettings{
		Observation: "no_sd", Sampling: 10, MaxObservation: 25, Latent: 5}, Threshold: 0.2, Every: 10,
		Epochs: 100, LateEpochs: 25, TrainingBatch: 128, LearningRate: 1e-4}
	if env.Descriptor.Kind == envs.Final {
		s.Observation = "only_sd"
	}
	return s
}

// Check implements [algorithms.Algorithm].
func (a *Aurora) Check() error {
	return cmp.Or(a.MapElites.Check(), a.oneStart(), a.AuroraSettings.Check(a.EpisodeLength))
}

// New implements [algorithms.Algorithm].
func (a *Aurora) New(platform *xla.Platform, env envs.Env, seed int64) (algorithms.Search, error) {
	return searchFor(a, platform, env, seed)
}

func (a *Aurora) own() Parts {
	return aurora(a.MapElites.own(), a.AuroraSettings)
}

// aurora replaces the archive by AURORA's. Evaluations differ only in their policies.
func aurora(p Parts, s repertoire.AuroraSettings) Parts {
	p.Archive, p.oneStart, p.measureEvery = repertoire.Aurora{AuroraSettings: s}, true, s.Every
	return p
}

// AuroraXCon are the hyperparameters of AURORA-XCon: MAP-Elites with another archive that learns its
// descriptors.
type AuroraXCon struct {
	MapElites
	repertoire.XConSettings
}

// defaultAuroraXCon returns the publication's hyperparameters of the archive, its batch and policies,
// and those of MAP-Elites for everything else.
func defaultAuroraXCon(env envs.Spec) *AuroraXCon {
	a := &AuroraXCon{*DefaultMapElites(env), repertoire.XConSettings{Capacity: 1024, K: 3,
		EncoderSettings: repertoire.EncoderSettings{Observation: "no_sd", Sampling: 10, MaxObservation: 25, Latent: 10},
		Every:           10, Epochs: 200, TrainingBatch: 128, LearningRate: 0.01, MinDelta: 5e-4,
		Loss: repertoire.TripletLoss, ExtinctionEvery: 50, Remaining: 0.05}}
	a.Batch, a.Hidden = 512, []int{128, 128}
	return a
}

// Check implements [algorithms.Algorithm].
func (a *AuroraXCon) Check() error {
	return cmp.Or(a.MapElites.Check(), a.oneStart(), a.XConSettings.Check(a.EpisodeLength))
}

// New implements [algorithms.Algorithm].
func (a *AuroraXCon) New(platform *xla.Platform, env envs.Env, seed int64) (algorithms.Search, error) {
	return searchFor(a, platform, env, seed)
}

func (a *AuroraXCon) own() Parts {
	parts := a.MapElites.own()
	parts.Archive, parts.oneStart = repertoire.XCon{XConSettings: a.XConSettings}, true
	return parts
}

// DominatedNovelty are the hyperparameters of Dominated Novelty Search: MAP-Elites with another
// archive.
type DominatedNovelty struct {
	MapElites
	Capacity int `json:"capacity" limits:"2,16384"` // solutions of the population; its publication: 1024
	K        int `json:"k" limits:"1,64"`           // nearest fitter solutions that count; its publication: 3
}

// defaultDominatedNovelty returns the publication's hyperparameters of the archive, and those of
// MAP-Elites for everything else.
func defaultDominatedNovelty(env envs.Spec) *DominatedNovelty {
	return &DominatedNovelty{*DefaultMapElites(env), 1024, 3}
}

// New implements [algorithms.Algorithm].
func (d *DominatedNovelty) New(platform *xla.Platform, env envs.Env, seed int64) (algorithms.Search, error) {
	return searchFor(d, platform, env, seed)
}

func (d *DominatedNovelty) own() Parts {
	parts := d.MapElites.own()
	parts.Archive = repertoire.DominatedNovelty{Capacity: d.Capacity, K: d.K}
	return parts
}

// MOME are the hyperparameters of Multi-Objective MAP-Elites (Pierrot et al. 2022): MAP-Elites
// whose cells hold Pareto fronts. If a task has one objective, it keeps the fittest solutions of
// each cell.
type MOME struct {
	MapElites
	FrontSize int `json:"front_size" limits:"1,4096"` // solutions per cell; its publication: 50
}

// defaultMOME returns the hyperparameters of the publications: cells, fronts, batch and policies of
// Janmohamed et al. 2023, who also give those of MOME, and a batch of 100 and 64 cells for tasks
// without observations. The variation is that of MAP-Elites.
func defaultMOME(env envs.Spec) *MOME {
	m := &MOME{*DefaultMapElites(env), 50}
	m.Batch, m.Cells = 256, 128
	if env.Observations == 0 {
		m.Batch, m.Cells = 100, 64
	} else {
		m.Hidden = []int{64, 64}
	}
	return m
}

// New implements [algorithms.Algorithm].
func (m *MOME) New(platform *xla.Platform, env envs.Env, seed int64) (algorithms.Search, error) {
	return searchFor(m, platform, env, seed)
}

func (m *MOME) own() Parts {
	parts := m.MapElites.own()
	parts.Archive = repertoire.Fronts{FrontSize: m.FrontSize}
	return parts
}
