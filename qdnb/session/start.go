package session

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"

	"example.com/qdnb/internal/lists"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms/evolution"
	"example.com/qdnb/qdnb/policies"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla/nn"
)

// start makes the genotypes that Start names the initial population of a training, unless Tune set one,
// and adds their hash to its configuration.
func (s Spec) start(t *Training) error {
	base, ok := t.Algorithm.(*evolution.MapElites)
	if s.Start == "" && (!ok || base.Initial == nil) {
		return nil
	}
	if !ok {
		return fmt.Errorf("%s does not start from genotypes: Start is for neuroevolution, such as map-elites", t.Config.Algorithm)
	}
	if s.Start != "" && base.Initial != nil {
		return errors.New("Start and Initial are mutually exclusive: set one of them")
	}
	rows, architecture, from, err := base.Initial, nn.Architecture(nil), "Initial", error(nil)
	if s.Start != "" {
		from = s.Start
		rows, architecture, err = s.genotypes(t.Spec.Runs)
	}
	if err != nil {
		return fmt.Errorf("cannot start from %s: %w", from, err)
	}
	policy := base.Task(t.Env).Policy
	hash := sha256.New()
	if m, ok := architecture.(nn.MLP); ok && m.Normalises {
		return fmt.Errorf("cannot start from %s: its policies normalise their observations, and those of this run "+
			"cannot: start from a run without normalize_observations", from)
	}
	for i, row := range rows {
		if len(row) != policy.Params() || architecture != nil && fmt.Sprint(architecture) != fmt.Sprint(policy) {
			return fmt.Errorf("cannot start from %s: its genotypes have %d parameters (%v), but those of this run "+
				"have %d (%v): set hidden or memory", from, len(row), architecture, policy.Params(), policy)
		}
		if k := slices.IndexFunc(row, func(x float32) bool { return x-x != 0 }); k >= 0 {
			return fmt.Errorf("cannot start from %s: parameter %d of genotype %d is %g", from, k, i, row[k])
		}
		_ = binary.Write(hash, binary.LittleEndian, row) // a hash never fails
	}
	if len(rows) == 0 {
		return fmt.Errorf("cannot start from %s: it has no genotypes", from)
	}
	base.Initial = rows
	t.digest = "" // its programs are others
	if t.Config.Parts == nil {
		t.Config.Parts = map[string]string{}
	}
	t.Config.Parts[startPart] = hex.EncodeToString(hash.Sum(nil)[:8])
	return nil
}

// genotypes reads the genotypes that Start names, and the architecture of their policies if it is known.
func (s Spec) genotypes(root string) (rows [][]float32, architecture nn.Architecture, err error) {
	if info, err := os.Stat(s.Start); err == nil && !info.IsDir() {
		rows, err = fileGenotypes(s.Start)
		return rows, architecture, err
	}
	run, err := runs.LoadFrom(root, s.Start)
	if err != nil {
		return nil, architecture, err
	}
	if !run.Status.Finished {
		return nil, architecture, errors.New("it is not finished: train it to the end first")
	}
	set, err := policies.All(run)
	if err != nil {
		return nil, architecture, err
	}
	architecture, _, err = set.Stored()
	return lists.Map(set.Policies, func(p policies.Policy) []float32 { return p.Genotype }), architecture, err
}

// fileGenotypes reads the array genotypes of an .npz file. If it has fitnesses, too, it is a
// repertoire, whose empty cells are left out.
func fileGenotypes(path string) (rows [][]float32, err error) {
	file, err := npz.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if file.Has("fitnesses") && file.Has("descriptors") && file.Has("centroids") {
		r, err := runs.ReadRepertoire(path, true)
		if err != nil {
			return nil, err
		}
		all := r.Rows()
		for _, cell := range r.Filled() {
			rows = append(rows, all[cell])
		}
		return rows, nil
	}
	a, err := file.Read("genotypes")
	if err != nil {
		return nil, err
	}
	if len(a.Shape) != 2 || a.Shape[1] == 0 {
		return nil, fmt.Errorf("genotypes has shape %v, not [n, parameters]", a.Shape)
	}
	flat, err := a.Float32s()
	return slices.Collect(slices.Chunk(flat, a.Shape[1])), err
}
