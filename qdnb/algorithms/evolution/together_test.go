package evolution

import (
	"reflect"
	"testing"

	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
)

// Searches that step together equal searches that step alone, bit for bit, whether they share a
// program from the start or are joined later.
func TestSearchesTogetherEqualSearchesAlone(t *testing.T) {
	maze := mazeTask()
	spec := maze.Env.Spec()
	dns, aurora, pga := DefaultDominatedNovelty(spec), DefaultAurora(spec), DefaultPGAAurora(spec)
	dns.Capacity = 24
	for _, s := range []*AuroraSettings{&aurora.AuroraSettings, &pga.AuroraSettings} {
		s.Capacity, s.Sampling, s.Every, s.Epochs, s.TrainingBatch, s.Threshold = 24, 5, 2, 4, 16, 0.02
	}
	pga.NumCriticTrainingSteps, pga.NumPGTrainingSteps = 3, 2
	pga.CriticHidden, pga.ReplayBufferSize, pga.TransitionsBatchSize = []int{8}, 2000, 16
	small := mazeSettings(0)
	small.Slice = 7
	cma, dcrl := DefaultCMAMAE(spec), DefaultDCRLMapElites(spec)
	cma.Batch, cma.Emitters = 30, 3
	mome := DefaultMOME(spec)
	mome.FrontSize = 3
	dcrl.NumCriticTrainingSteps, dcrl.NumPGTrainingSteps = 3, 2
	dcrl.CriticHidden, dcrl.ReplayBufferSize, dcrl.TransitionsBatchSize = []int{8}, 2000, 16
	exact := Settings{Batch: 12, Slice: 5, Centroids: line(20)}
	for _, c := range []struct {
		name     string
		task     scoring.Task
		method   Method
		settings Settings
		gpu      bool // arithmetic is exact, so XLA:CPU gives the same bytes for the graphs of a GPU
	}{
		{"map-elites", maze, Method{Emitter: isoline}, small, false},
		{"dns", maze, dns.Method(small.Centroids), mazeSettings(0), false},
		{"aurora", maze, aurora.Method(small.Centroids), mazeSettings(0), false},
		{"pga-aurora", maze, pga.Method(small.Centroids), mazeSettings(0), false},
		{"mome", maze, mome.Method(small.Centroids), mazeSettings(0), false},
		{"cma-mae", maze, cma.Method(small.Centroids), mazeSettings(0), false},
		{"dcrl-map-elites", maze, dcrl.Method(small.Centroids), mazeSettings(0), false},
		{"exact", unlimited.task(), Method{Emitter: noisy, Learner: honest}, exact, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			platforms := []*xla.Platform{xlatest.Pure(t)}
			if best := *xlatest.Best(t); c.gpu && best.Kind != xla.Go {
				best.Kind = xla.CUDA
				platforms = append(platforms, xlatest.Best(t), &best)
			}
			for _, p := range platforms {
				var together, alone []*Search
				for i := range int64(3) {
					settings := c.settings
					settings.Seed, settings.Together = 5-i, int(i+1)
					for _, list := range []*[]*Search{&together, &alone} {
						s, err := New(p, c.task, c.method, settings)
						if err != nil {
							t.Fatal(err)
						}
						t.Cleanup(s.Close)
						*list = append(*list, s)
						settings.Together = 1
					}
				}
				step := func(generations int, searches ...*Search) {
					for range generations {
						outcomes, err := StepTogether(searches...)
						if err != nil {
							t.Fatal(err)
						}
						for i, s := range searches {
							if outcomes[i].Generation != s.Generation() || len(outcomes[i].Fitnesses) == 0 {
								t.Errorf("outcome %d is of generation %d, not %d", i, outcomes[i].Generation,
									s.Generation())
							}
						}
					}
				}
				step(2, together[:2]...)
				step(2, together[2])
				step(3, together...)
				step(6, together[1:]...)
				step(6, together[0])
				for i, s := range alone {
					steps(t, s, 11)
					if got, want := stateOf(t, together[i]), stateOf(t, s); !reflect.DeepEqual(got, want) {
						t.Errorf("%s %s: search %d differs in %v", p.Name(), c.name, i,
							xlatest.Differ(got, want))
					}
					if i > 0 && reflect.DeepEqual(stateOf(t, s), stateOf(t, alone[0])) {
						t.Error("two seeds end the same: the test proves nothing")
					}
				}
			}
		})
	}
}
