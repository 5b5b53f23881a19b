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
	archive := defaultAuroraArchive(envs.Pointmaze{}.Spec())
	archive.Capacity, archive.Sampling, archive.Every, archive.Epochs, archive.TrainingBatch = 12, 5,
		2, 1, 8
	learner := honest
	learner.Rows = 2000
	s, err := newSearch(xlatest.Pure(f), mazeTask(),
		Parts{Mix: Mix{{learner, 0.25}, {isoline, 0.75}}, Archive: archive}, mazeSettings(2))
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
		"Archive.Encoded.Autoencoder <f4 1,332 nan\nArchive.Distance.Length <f4 , -1", "passive_centroids <f4 36,2 nan inf",
		"Archive.Distance.Length <f4 1, 1", "proposing_0.Emitter.First |b1 1,114 1",
		"genotypes <f4 114,12 1", "Archive.Encoded.Sequences <f4 12,4,2 1e30\nArchive.Encoded.Deviation <f4 2, 0",
		"descriptors <f4 4611686018427387904,0", "Archive.Encoded.Mean <U1 2, 1",
		"proposing_0.Emitter.Count |u1 , 3",
	)
}
