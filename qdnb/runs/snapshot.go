package runs

import (
	"fmt"

	"example.com/qdnb/npz"
)

// Snapshot is a repertoire, without genotypes, at some moment of its training.
type Snapshot struct {
	Progress
	Repertoire
}

// readSnapshot reads a file of the folder snapshots.
func readSnapshot(path string) (Snapshot, error) {
	var s Snapshot
	file, err := npz.Open(path)
	if err != nil {
		return s, err
	}
	defer file.Close()
	r, err := readRepertoire(file, false)
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

// arrays names the parts of a snapshot: a repertoire's and the progress.
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
