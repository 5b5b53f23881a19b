package exchange

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/qdnb/policies"
	"example.com/qdnb/qdnb/runs"
)

// ExportSpec configures [Export]: what to write, and where.
type ExportSpec struct {
	Skill      *int   // one skill as a separate policy
	Cell       *int   // the policy in a cell
	Repertoire bool   // all cells
	Out        string // path of the .npz file
	Force      bool   // replace an existing file
}

// Export writes policies of a run to an .npz file that can be read without qdnb. It returns the
// names and shapes of the arrays.
//
// A policy has the arrays layer_0.bias [out], layer_0.kernel [in, out], layer_1.bias and so on, and
// sizes, which lists the sizes of the input, the hidden layers and the output. ReLU follows every
// layer but the last. The action is the tanh of the output. Without observations, as in arm, it has
// the array solution [n] instead: the genotype, which is the action itself.
//
// Without Skill, Cell and Repertoire, Export writes the best cell or, for a run with skills, the
// network that all skills share. The input of this network is the observation and the one-hot
// skill, the action is the tanh of the first half of the output, and the array skills holds the
// number of skills.
//
// A repertoire has the arrays genotypes, fitnesses, descriptors and centroids. If a run has weights
// in bfloat16, those of a policy are rounded, and genotypes are not.
func Export(run *runs.Run, s ExportSpec) (map[string][]int, error) {
	if s.Skill != nil && s.Cell != nil || s.Repertoire && (s.Skill != nil || s.Cell != nil) {
		return nil, errors.New("--skill, --cell and --repertoire are mutually exclusive: give " +
			"one of them")
	}
	if !strings.HasSuffix(s.Out, ".npz") {
		return nil, fmt.Errorf("%s does not end in .npz, the only supported format", s.Out)
	}
	if info, err := os.Stat(s.Out); err == nil && info.IsDir() {
		return nil, fmt.Errorf("%s is a folder", s.Out)
	} else if err == nil && !s.Force {
		return nil, fmt.Errorf("%s already exists; --force replaces it", s.Out)
	}
	arrays, err := s.arrays(run)
	if err != nil {
		return nil, err
	}
	if err := npz.Write(s.Out, arrays); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot write %s: there is no folder %s", s.Out, filepath.Dir(s.Out))
	} else if err != nil {
		return nil, fmt.Errorf("cannot write %s: %w", s.Out, err)
	}
	shapes := map[string][]int{}
	for name, array := range arrays {
		shapes[name] = array.Shape
	}
	return shapes, nil
}

func (s ExportSpec) arrays(run *runs.Run) (map[string]npz.Array, error) {
	if err := policies.Own(run); err != nil {
		return nil, err
	}
	if s.Repertoire {
		if !run.HasRepertoire() && run.HasSkills() {
			return nil, fmt.Errorf("%s has skills and no repertoire: leave --repertoire out", run.Name())
		}
		r, err := run.Repertoire()
		if err != nil {
			return nil, err
		}
		return map[string]npz.Array{
			"genotypes": npz.Of(r.AllGenotypes(), r.Cells(), r.Params), "fitnesses": npz.Of(r.Fitnesses),
			"descriptors": npz.Of(r.Descriptors, r.Cells(), r.Dims),
			"centroids":   npz.Of(r.Centroids, r.Cells(), r.Dims),
		}, nil
	}
	if s.Skill == nil && s.Cell == nil && run.HasSkills() {
		skills, err := run.Skills()
		if err != nil {
			return nil, err
		}
		arrays := layerArrays(skills.Policy, skills.Sizes())
		arrays["skills"] = npz.Scalar(int64(skills.Count))
		return arrays, nil
	}
	given := func(number *int) []int {
		if number == nil {
			return nil
		}
		return []int{*number}
	}
	set, err := policies.Select(run, given(s.Skill), given(s.Cell))
	if err != nil {
		return nil, err
	}
	genotype := set.Policies[0].Genotype
	var sizes []int
	if set.Policies[0].Cell {
		policy, weights, err := set.Network()
		if err != nil {
			return nil, err
		}
		if sizes = policy.Sizes; weights == scoring.BFloat16 {
			genotype = policy.RoundBFloat16(genotype)
		}
	} else {
		skills, err := run.Skills()
		if err != nil {
			return nil, err
		}
		sizes = slices.Concat([]int{skills.Observations}, skills.Hidden, []int{skills.Actions})
	}
	if want := runs.Row(sizes); want != len(genotype) {
		return nil, fmt.Errorf("layers of %v have %d parameters, but the policies of %s have %d",
			sizes, want, run.Name(), len(genotype))
	}
	if sizes[0] == 0 {
		return map[string]npz.Array{"solution": npz.Of(genotype)}, nil
	}
	return layerArrays(genotype, sizes), nil
}

// layerArrays splits the flat parameters of a network into layers.
func layerArrays(row []float32, sizes []int) map[string]npz.Array {
	arrays := map[string]npz.Array{}
	wide := make([]int64, len(sizes))
	for i, size := range sizes {
		wide[i] = int64(size)
	}
	arrays["sizes"] = npz.Of(wide)
	for layer := range len(sizes) - 1 {
		in, out := sizes[layer], sizes[layer+1]
		arrays[fmt.Sprintf("layer_%d.bias", layer)] = npz.Of(row[:out])
		arrays[fmt.Sprintf("layer_%d.kernel", layer)] = npz.Of(row[out:out+in*out], in, out)
		row = row[out+in*out:]
	}
	return arrays
}
