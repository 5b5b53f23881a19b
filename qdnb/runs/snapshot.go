package runs

import (
	"fmt"
	"path/filepath"
	"slices"

	"example.com/qdnb/internal/npz"
)

// Snapshot is a repertoire, without genotypes, at some point of training.
type Snapshot struct {
	Progress
	Repertoire
}

func readSnapshot(path string) (Snapshot, error) {
	var s Snapshot
	file, err := npz.Open(path)
	if err != nil {
		return s, err
	}
	defer file.Close()
	r, err := readRepertoire(file, "", false)
	if err != nil {
		return s, fmt.Errorf("%s: %w", path, err)
	}
	s.Repertoire = *r
	for key, count := range map[string]*int64{
		"generation": &s.Generation, "evaluations": &s.Evaluations, "env_steps": &s.EnvSteps,
	} {
		value, err := number(file, key)
		if err != nil {
			return s, fmt.Errorf("%s: %w", path, err)
		}
		*count = int64(value)
	}
	if s.Seconds, err = number(file, "seconds"); err != nil {
		return s, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// Newest reads the newest repertoire of a run, without genotypes: the final one of a finished run,
// else that of the newest snapshot or of a later checkpoint. It returns nil without an error if
// there is none, as for imported skills. Checkpoints lack the descriptor limits, which then come
// from a snapshot if there is one.
func (r *Run) Newest() (*Snapshot, error) {
	if r.Status.Finished {
		if !r.HasRepertoire() && r.HasSkills() {
			return nil, nil
		}
		repertoire, err := r.RepertoireMap()
		if err != nil {
			return nil, err
		}
		return &Snapshot{r.Status.Progress, *repertoire}, nil
	}
	var newest *Snapshot
	dir := filepath.Join(r.Dir, snapshotsDir)
	generations, err := generationFiles(dir)
	if err != nil {
		return nil, err
	}
	if n := len(generations); n > 0 {
		s, err := readSnapshot(filepath.Join(dir, generationFile(generations[n-1])))
		if err != nil {
			return nil, err
		}
		newest = &s
	}
	dir = filepath.Join(r.Dir, checkpointsDir)
	if generations, err = generationFiles(dir); err != nil {
		return nil, err
	}
	for _, generation := range slices.Backward(generations) {
		if newest != nil && newest.Generation >= generation {
			break
		}
		repertoire, err := readCheckpointRepertoire(filepath.Join(dir, generationFile(generation)))
		if err != nil { // training reports the problem
			continue
		}
		if newest != nil {
			repertoire.Lower, repertoire.Upper, repertoire.Offset = newest.Lower, newest.Upper, newest.Offset
		}
		return &Snapshot{Progress{Generation: generation}, *repertoire}, nil
	}
	return newest, nil
}

// readCheckpointRepertoire reads the measured repertoire from a checkpoint, without genotypes. If a
// search has a separate passive archive, its array names start with "passive_".
func readCheckpointRepertoire(path string) (*Repertoire, error) {
	return readSealed(path, func(file *npz.Reader) (*Repertoire, error) {
		prefix := "passive_"
		if !file.Has(prefix + fitnessesKey) {
			prefix = ""
		}
		return readRepertoire(file, prefix, false)
	})
}

// arrays returns the repertoire's arrays and the progress by name.
func (s Snapshot) arrays() map[string]npz.Array {
	repertoire := s.Repertoire
	repertoire.Genotypes = nil
	arrays := repertoire.arrays()
	arrays["generation"] = npz.Scalar(s.Generation)
	arrays["evaluations"] = npz.Scalar(s.Evaluations)
	arrays["env_steps"] = npz.Scalar(s.EnvSteps)
	arrays["seconds"] = npz.Scalar(s.Seconds)
	return arrays
}
