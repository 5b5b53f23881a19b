package evolution

import (
	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/algorithms/repertoire"
)

var _ = preset("aurora", defaultAurora)

// defaultAurora returns AURORA: MAP-Elites with an archive that learns its descriptors.
func defaultAurora(env envs.Spec) *MapElites {
	m := DefaultMapElites(env)
	m.Archive = defaultAuroraArchive(env)
	return m
}

// defaultAuroraArchive returns the archive with the paper's hyperparameters. The sequences hold positions
// if the descriptor is a position. They hold observations if the descriptor measures contacts, which
// gives no prior.
func defaultAuroraArchive(env envs.Spec) repertoire.Aurora {
	a := repertoire.Aurora{Capacity: 1024, EncoderSettings: repertoire.EncoderSettings{
		Observation: "no_sd", Sampling: 10, MaxObservation: 25, Latent: 5}, Threshold: 0.2, Every: 10,
		Epochs: 100, LateEpochs: 25, TrainingBatch: 128, LearningRate: 1e-4}
	if env.Descriptor.Kind == envs.Final {
		a.Observation = "only_sd"
	}
	return a
}

var _ = preset("aurora-xcon", defaultAuroraXCon)

// defaultAuroraXCon returns AURORA-XCon: MAP-Elites with the publication's archive, batch and policies.
func defaultAuroraXCon(env envs.Spec) *MapElites {
	m := DefaultMapElites(env)
	m.Batch, m.Hidden = 512, []int{128, 128}
	m.Archive = repertoire.XCon{Capacity: 1024, K: 3,
		EncoderSettings: repertoire.EncoderSettings{Observation: "no_sd", Sampling: 10, MaxObservation: 25, Latent: 10},
		Every:           10, Epochs: 200, TrainingBatch: 128, LearningRate: 0.01, MinDelta: 5e-4,
		Loss: "triplet", ExtinctionEvery: 50, Remaining: 0.05}
	return m
}

var _ = preset("dns", defaultDominatedNovelty)

// defaultDominatedNovelty returns Dominated Novelty Search: MAP-Elites with the publication's archive.
func defaultDominatedNovelty(env envs.Spec) *MapElites {
	m := DefaultMapElites(env)
	m.Archive = repertoire.DominatedNovelty{Capacity: 1024, K: 3}
	return m
}

var _ = preset("mome", defaultMOME)

// defaultMOME returns Multi-Objective MAP-Elites (Pierrot et al. 2022): MAP-Elites whose cells hold Pareto
// fronts. If a task has one objective, it keeps the fittest solutions of each cell. Cells, fronts, batch
// and policies are those of Janmohamed et al. 2023, who also give those of MOME, with a batch of 100 and
// 64 cells for tasks without observations.
func defaultMOME(env envs.Spec) *MapElites {
	m := DefaultMapElites(env)
	m.Archive = repertoire.Fronts{FrontSize: 50}
	m.Batch, m.Cells = 256, 128
	if env.Observations == 0 {
		m.Batch, m.Cells = 100, 64
	} else {
		m.Hidden = []int{64, 64}
	}
	return m
}
