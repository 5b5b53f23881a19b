package evolution

import (
	"strings"
	"testing"

	"example.com/qdnb/internal/xlatest"
)

// Parts that cannot work together are an error before the first generation.
func TestPartsThatDoNotFitTogether(t *testing.T) {
	spec, settings := mazeTask().Env.Spec(), mazeSettings(0)
	cma, mome, dcrl := defaultCMAMAE(spec), defaultMOME(spec), defaultDCRLMapElites(spec)
	cma.Batch, cma.StrategySettings.Emitters, mome.FrontSize = settings.Batch, 3, 3
	dcrl.NumCriticTrainingSteps, dcrl.NumPGTrainingSteps = 1, 1
	dcrl.CriticHidden, dcrl.ReplayBufferSize, dcrl.TransitionsBatchSize = []int{4}, 2000, 4
	gradients := dcrl.own().Mix[0].Emitter
	for want, c := range map[string]struct {
		parts Parts
		mix   Mix
	}{
		"a share of it, must be a multiple of emitters": {cma.own(),
			Mix{{cma.Emitter(), 1. / 3}, {isoline, 2. / 3}}},
		"needs an archive with one solution per cell": {mome.own(),
			Mix{{gradients, 0.5}, {isoline, 0.5}}},
	} {
		c.parts.Mix = c.mix
		_, err := newSearch(xlatest.Pure(t), mazeTask(), c.parts, settings)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v; want %q", err, want)
		}
	}
}
