package evolution

import (
	"cmp"
	"encoding/json"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/algorithms"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/xla"
)

// DMS are the hyperparameters of Discount Model Search (Tjanaka, Chen, Fontaine and Nikolaidis 2026):
// CMA-MAE whose thresholds are a network of the descriptor, see [repertoire.Discounted].
type DMS struct {
	CMAMAE
	repertoire.DiscountSettings
}

// defaultDMS returns the publication's hyperparameters of the archive, with the range of its functions,
// and those of CMA-MAE for everything else (icaros-usc/discount-models, config/algo/archive/discount.yaml
// and config/algo/emitters/sigma0.yaml). On arm sigma0 is the published 0.2 rad.
func defaultDMS(env envs.Spec) *DMS {
	d := &DMS{*defaultCMAMAE(env), repertoire.DiscountSettings{DiscountHidden: []int{128, 128},
		DiscountLearningRate: 0.001, DiscountEpochs: 5, DiscountBatch: 32, DiscountCutoff: 0.05, EmptyPoints: 100}}
	d.ArchiveLearningRate = 0.1
	if env.Name == armName {
		d.Sigma0, d.ArchiveLearningRate = 0.032, 0.001
	}
	if env.Name == "sphere" || env.Name == "rastrigin" {
		d.DiscountRange = 100
	}
	return d
}

// MarshalJSON writes the settings of CMA-MAE, then its own.
func (d DMS) MarshalJSON() ([]byte, error) {
	base, err := json.Marshal(d.CMAMAE)
	own, err2 := json.Marshal(d.DiscountSettings)
	return append(append(base[:max(0, len(base)-1)], ','), own[min(1, len(own)):]...), cmp.Or(err, err2)
}

// New implements [algorithms.Algorithm].
func (d *DMS) New(platform *xla.Platform, env envs.Env, seed int64) (algorithms.Search, error) {
	return searchFor(d, platform, env, seed)
}

func (d *DMS) own() Parts {
	parts := d.CMAMAE.own()
	parts.Archive = repertoire.Discounted{DiscountSettings: d.DiscountSettings,
		Rate: d.ArchiveLearningRate, ThresholdMin: d.in(d.EpisodeLength).ThresholdMin}
	return parts
}
