package evolution

import (
	"testing"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/xlatest"
)

// FuzzRestore restores a search from arbitrary arrays. The search has every kind of state: a
// learned archive, a passive repertoire and a learner. It continues from arrays that it accepts;
// arrays that it rejects leave it unchanged.
func FuzzRestore(f *testing.F) {
	archive := AuroraArchive{AuroraSettings: DefaultAuroraSettings(envs.Pointmaze{}.Spec())}
	archive.Capacity, archive.Sampling, archive.Every, archive.Epochs, archive.TrainingBatch = 12, 5,
		2, 1, 8
	learner := honest
	learner.Room = 2000
	s, err := New(xlatest.Pure(f), mazeTask(),
		Method{Emitter: isoline, Learner: learner, Archive: archive}, mazeSettings(2))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(s.Close)
	for range 2 {
		if _, err := s.Step(); err != nil {
			f.Fatal(err)
		}
	}
	xlatest.FuzzRestore(f, s, 1,
		"", "-genotypes <f4 1,", "genotypes <f8 12,114 1e300",
		"fitnesses <f4 12, nan -inf inf\ngenotypes <f4 12,114 nan",
		"autoencoder <f4 1,332 nan\nthreshold <f4 , -1", "passive_centroids <f4 36,2 nan inf",
		"threshold <f4 1, 1", "learner_first |b1 1,114 1",
		"genotypes <f4 114,12 1", "sequences <f4 12,4,2 1e30\ndeviation <f4 2, 0",
		"descriptors <f4 4611686018427387904,0", "mean <U1 2, 1",
		"learner_count |u1 , 3",
	)
}
