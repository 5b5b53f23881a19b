package evolution

import (
	"strings"
	"testing"

	"example.com/qdnb/internal/parts"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/td3"
)

// Parts that cannot work together are an error before the first generation.
func TestPartsThatDoNotFitTogether(t *testing.T) {
	spec, settings := mazeTask().Env.Spec(), mazeSettings(0)
	cma, mome, dcrl := defaultCMAMAE(spec), defaultMOME(spec), defaultDCRLMapElites(spec)
	parts.Change(cma, func(s *StrategySettings) { s.Emitters = 3 })
	parts.Change(mome, func(f *repertoire.Fronts) { f.FrontSize = 3 })
	parts.Change(dcrl, func(c *td3.Config) {
		c.NumCriticTrainingSteps, c.NumPGTrainingSteps = 1, 1
		c.CriticHidden, c.ReplayBufferSize, c.TransitionsBatchSize = []int{4}, 8000, 4
	})
	gradients := dcrl.Mix[0].Emitter
	for want, c := range map[string]struct {
		of  *MapElites
		mix Mix
	}{
		"a share of it, must be a multiple of emitters": {cma,
			Mix{{cma.Mix[0].Emitter, 1. / 3}, {isoline, 2. / 3}}},
		"needs an archive with one solution per cell": {mome,
			Mix{{gradients, 0.5}, {isoline, 0.5}}},
	} {
		c.of.Mix, c.of.Batch = c.mix, settings.Batch
		c.of.Resolve(spec)
		err := c.of.Check()
		if err == nil {
			_, err = newSearch(xlatest.Pure(t), mazeTask(), c.of.Parts, settings)
		}
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v; want %q", err, want)
		}
	}
}
