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
	cma.Batch, cma.Emitters, mome.FrontSize = settings.Batch, 3, 3
	dcrl.NumCriticTrainingSteps, dcrl.NumPGTrainingSteps = 1, 1
	dcrl.CriticHidden, dcrl.ReplayBufferSize, dcrl.TransitionsBatchSize = []int{4}, 2000, 4
	for want, method := range map[string]Method{
		"makes all offspring itself, but the learner proposes 15": cma.Method(settings.Centroids),
		"needs an archive with one solution per cell":             mome.Method(settings.Centroids),
	} {
		method.Learner = dcrl.Method(settings.Centroids).Learner
		_, err := New(xlatest.Pure(t), mazeTask(), method, settings)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v; want %q", err, want)
		}
	}
}
