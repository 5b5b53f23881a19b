package evolution

import (
	"strings"
	"testing"

	"example.com/qdnb/internal/xlatest"
)

// Parts that cannot work together are an error before the first generation.
func TestPartsThatDoNotFitTogether(t *testing.T) {
	spec, settings := mazeTask().Env.Spec(), mazeSettings(0)
	cma, mome, dcrl := DefaultCMAMAE(spec), DefaultMOME(spec), DefaultDCRLMapElites(spec)
	cma.Batch, cma.StrategySettings.Emitters, mome.FrontSize = settings.Batch, 3, 3
	dcrl.NumCriticTrainingSteps, dcrl.NumPGTrainingSteps = 1, 1
	dcrl.CriticHidden, dcrl.ReplayBufferSize, dcrl.TransitionsBatchSize = []int{4}, 2000, 4
	gradients := dcrl.Method().Emitters[0].Emitter
	for want, c := range map[string]struct {
		method Method
		mix    Mix
	}{
		"cannot be divided equally among 3 strategies": {cma.Method(),
			Mix{{cma.Emitter(), 1. / 3}, {isoline, 2. / 3}}},
		"needs an archive with one solution per cell": {mome.Method(),
			Mix{{gradients, 0.5}, {isoline, 0.5}}},
	} {
		c.method.Emitters = c.mix
		_, err := New(xlatest.Pure(t), mazeTask(), c.method, settings)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v; want %q", err, want)
		}
	}
}
