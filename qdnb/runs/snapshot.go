package runs

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"example.com/qdnb/internal/names"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/stats"
)

// Snapshot is a repertoire at some point of training, without genotypes unless it is of [Run.History].
type Snapshot struct {
	Progress
	Repertoire
	Correction
}

// Average says what stands for the episodes of a policy.
type Average string

// Averages of fitness and of each component of the descriptor. Flageat and Cully 2023 take medians, of 512
// episodes.
const (
	ByMean   Average = "mean" // also ""
	ByMedian Average = "median"
)

// Check returns an error for an unknown average.
func (a Average) Check() error {
	if a == "" || a == ByMean || a == ByMedian {
		return nil
	}
	return names.Unknown("average", string(a), []string{string(ByMean), string(ByMedian)})
}

// Used returns an error for a median of episodes that are not made.
func (a Average) Used(corrected bool) error {
	if a == ByMedian && !corrected {
		return names.Wrongf("medians are those of corrected repertoires: add --corrected (Spec.Corrected)")
	}
	return nil
}

// Of returns the average of numbers.
func (a Average) Of(x []float64) float64 {
	if a == ByMedian {
		return stats.Median(x)
	}
	return stats.Mean(x)
}

// Correction describes the evaluations of a corrected repertoire, which holds an average of the fitness and
// of the descriptor of each policy. It is zero for a repertoire as archived.
type Correction struct {
	Episodes int64 // of each policy
	By       Average
	// Medians over the policies of the standard deviation over their episodes. That of descriptors
	// is the root of the sum of the components' variances.
	FitnessStd, DescriptorStd float64
}

// String names what the numbers are, as in "median of 512 episodes".
func (c Correction) String() string {
	return fmt.Sprintf("%s of %d episodes", cmp.Or(c.By, ByMean), c.Episodes)
}

// Names of arrays that only corrected repertoires have, and only those of medians.
const (
	episodesKey = "episodes"
	medianKey   = "median"
)

// numbers are the arrays of a snapshot but those of its repertoire.
func (s *Snapshot) numbers(corrected bool) []part {
	parts := []part{number("generation", &s.Generation), number("evaluations", &s.Evaluations),
		number("env_steps", &s.EnvSteps), number("seconds", &s.Seconds)}
	if corrected {
		parts = append(parts, number(episodesKey, &s.Episodes), number("fitness_std", &s.FitnessStd),
			number("descriptor_std", &s.DescriptorStd))
		if s.By == ByMedian {
			median := int64(1)
			parts = append(parts, number(medianKey, &median))
		}
	}
	return parts
}

func readSnapshot(path string, genotypes bool) (Snapshot, error) {
	s, err := npz.ReadFile(path, func(file *npz.Reader) (s Snapshot, err error) {
		r, err := readRepertoire(file, file, "", genotypes)
		if err != nil {
			return s, err
		}
		s.Repertoire = *r
		if s.By = ByMean; file.Has(medianKey) {
			s.By = ByMedian
		}
		return s, readParts(file, "", s.numbers(file.Has(episodesKey))...)
	})
	if err != nil && !errors.Is(err, errNoGenotypes) {
		err = fmt.Errorf("%w; restore the file, or remove it to leave this snapshot out", err)
	}
	return s, err
}

// Newest reads the newest repertoire of a run, without genotypes: the final one of a finished run,
// else that of the newest snapshot or of a later checkpoint. It returns nil without an error if
// there is none, as for imported skills. Checkpoints lack the descriptor limits, which then come
// from a snapshot if there is one.
func (r *Run) Newest() (*Snapshot, error) {
	if err := r.uses(); err != nil {
		return nil, err
	}
	if r.Status.Finished {
		if !r.HasRepertoire() && r.HasSkills() {
			return nil, nil
		}
		repertoire, err := r.RepertoireMap()
		if err != nil {
			return nil, err
		}
		return &Snapshot{Progress: r.Status.Progress, Repertoire: *repertoire}, nil
	}
	var newest *Snapshot
	dir := filepath.Join(r.Dir, snapshotsDir)
	all, err := generations(dir, snapshotKind)
	if err != nil {
		return nil, err
	}
	if n := len(all); n > 0 {
		s, err := readSnapshot(filepath.Join(dir, generationFile(snapshotKind, all[n-1])), false)
		if err != nil {
			return nil, err
		}
		newest = &s
	}
	dir = filepath.Join(r.Dir, checkpointsDir)
	if all, err = generations(dir, stateKind); err != nil {
		return nil, err
	}
	for _, generation := range slices.Backward(all) {
		if newest != nil && newest.Generation >= generation {
			break
		}
		path := filepath.Join(dir, generationFile(stateKind, generation))
		repertoire, err := readCheckpointRepertoire(path)
		if err != nil { // training reports the problem
			continue
		}
		repertoire.Lower, repertoire.Upper = r.Status.Lower, r.Status.Upper
		if newest != nil {
			repertoire.Lower, repertoire.Upper, repertoire.Offset = newest.Lower, newest.Upper, newest.Offset
		}
		return &Snapshot{Progress: Progress{Generation: generation}, Repertoire: *repertoire}, nil
	}
	return newest, nil
}

// readCheckpointRepertoire reads the measured repertoire from a checkpoint, without genotypes. If a
// search has a separate passive archive, its array names start with "passive_".
func readCheckpointRepertoire(path string) (*Repertoire, error) {
	return npz.ReadFile(path, func(file *npz.Reader) (*Repertoire, error) {
		prefix := "passive_"
		if !file.Has(prefix + fitnessesKey) {
			prefix = ""
		}
		return readRepertoire(file, file, prefix, false)
	})
}

func (s Snapshot) arrays() map[string]npz.Array {
	arrays := s.Repertoire.arrays()
	maps.Copy(arrays, arraysOf(s.numbers(s.Episodes > 0)...))
	return arrays
}
