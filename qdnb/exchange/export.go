package exchange

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/lists"
	"example.com/qdnb/internal/names"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/npz/atomicfile"
	"example.com/qdnb/qdnb/policies"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla/nn"
)

// ExportSpec configures [Export]: what to write, and where.
type ExportSpec struct {
	Skill      *int   // one skill as a separate policy
	Cell       *int   // the policy in a cell
	Repertoire bool   // all cells
	Out        string // path of the .npz or .onnx file
	Force      bool   // replace existing files

	// Environment is the custom environment of the run. The contract of an ONNX file takes names,
	// units and limits from its Spec, see [envs.Described], and lacks them without it.
	Environment envs.Env
}

// Export writes policies of a run to a file that can be read without qdnb, .npz or .onnx. It returns
// the names and shapes of the arrays.
//
// In an .npz file, a policy has the arrays layer_0.bias [out], layer_0.kernel [in, out], layer_1.bias
// and so on, and sizes, which lists the sizes of the input, the hidden layers and the output. ReLU
// follows every layer but the last. If the policy normalises its observations, it also has input.mean and
// input.deviation [in] and the number input.limit: the first layer's input is (observation - mean) /
// deviation, clamped to +-limit. A genotype ends in its means and deviations then. The action is the tanh
// of the output. Without observations, as in arm, it has the array solution [n] instead: the genotype,
// which is the action itself.
//
// Without Skill, Cell and Repertoire, Export writes the best cell or, for a run with skills, the
// network that all skills share. The input of this network is the observation and the one-hot
// skill, the action is the tanh of the first half of the output, and the array skills holds the
// number of skills.
//
// A repertoire has the arrays genotypes, fitnesses, descriptors and centroids. If a run has weights
// in bfloat16, those of a policy are rounded, and genotypes are not.
//
// An .onnx file has the same networks, with weights as in rollouts, and maps the input observation
// [batch, observations] to the output action [batch, actions]. The network of all skills has a second
// input, skill [batch, skills], and a repertoire has policy, int64 [batch], which counts filled cells. A
// .json file of the same name describes inputs, outputs and policies: see [Contract].
func Export(run *runs.Run, s ExportSpec) (map[string][]int, error) {
	if err := runs.Given(run); err != nil {
		return nil, err
	}
	if s.Skill != nil && s.Cell != nil || s.Repertoire && (s.Skill != nil || s.Cell != nil) {
		return nil, names.Wrongf("--skill, --cell and --repertoire are mutually exclusive: give one of them")
	}
	contract, onnx := strings.CutSuffix(s.Out, ".onnx")
	contract += ".json"
	files := []string{s.Out}
	if onnx {
		files = append(files, contract)
	} else if !strings.HasSuffix(s.Out, ".npz") {
		return nil, names.Wrongf("%s ends in neither .npz nor .onnx, the supported formats", s.Out)
	}
	for _, file := range files {
		if info, err := os.Stat(file); err == nil && info.IsDir() {
			return nil, fmt.Errorf("%s is a folder", file)
		} else if err == nil && !s.Force {
			return nil, fmt.Errorf("%s already exists; --force replaces it", file)
		}
	}
	if err := policies.Own(run); err != nil {
		return nil, err
	}
	if s.Repertoire && !run.HasRepertoire() && run.HasSkills() {
		return nil, names.Wrongf("%s has skills and no repertoire: leave --repertoire out", run.Name())
	}
	shapes := map[string][]int{}
	var write func() error
	if onnx {
		n, err := s.network(run)
		if err != nil {
			return nil, err
		}
		text, err := s.contract(run, n)
		if err != nil {
			return nil, err
		}
		model, err := n.onnx(run.Name(), shapes)
		if err != nil {
			return nil, err
		}
		write = func() error {
			if err := atomicfile.WriteBytes(contract, text); err != nil {
				return err
			}
			return atomicfile.WriteBytes(s.Out, model)
		}
	} else {
		arrays, err := s.arrays(run)
		if err != nil {
			return nil, err
		}
		for name, array := range arrays {
			shapes[name] = array.Shape
		}
		write = func() error { return npz.Write(s.Out, arrays) }
	}
	if err := write(); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot write %s: there is no folder %s", s.Out, filepath.Dir(s.Out))
	} else if err != nil {
		return nil, fmt.Errorf("cannot write %s: %w", s.Out, err)
	}
	return shapes, nil
}

func (s ExportSpec) arrays(run *runs.Run) (map[string]npz.Array, error) {
	if s.Repertoire {
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
	n, err := s.network(run)
	if err != nil {
		return nil, err
	}
	if n.sizes[0] == 0 {
		return map[string]npz.Array{"solution": npz.Of(n.rows[0])}, nil
	}
	arrays := layerArrays(n.rows[0], n.sizes)
	if n.normalises {
		arrays["input.mean"], arrays["input.deviation"] = npz.Of(n.inputs(0)), npz.Of(n.inputs(1))
		arrays["input.limit"] = npz.Scalar(float32(nn.NormalisedLimit))
	}
	if n.shared {
		arrays["skills"] = npz.Scalar(int64(n.skills))
	}
	return arrays, nil
}

// network is what a file describes: policies with the same layers.
type network struct {
	sizes   []int       // of the layers
	rows    [][]float32 // flat parameters of each policy; one row if it is shared by skills
	shared  bool        // with a skill as the second input, and scales of the actions as last outputs
	skills  int         // the size of that input; 0 if there is none
	batched bool        // the policy is an input
	list    []PolicyContract
	// normalises says that rows end in means and deviations of the inputs, see [nn.MLP].
	normalises bool
}

// inputs returns the means (0) or deviations (1) of the inputs of all policies.
func (n network) inputs(which int) (all []float32) {
	for _, row := range n.rows {
		all = append(all, row[len(row)-(2-which)*n.sizes[0]:][:n.sizes[0]]...)
	}
	return all
}

func (s ExportSpec) network(run *runs.Run) (n network, err error) {
	var skills, cells []int
	switch {
	case s.Repertoire:
		r, err := run.RepertoireMap()
		if err != nil {
			return n, err
		}
		if n.batched, cells = true, r.Filled(); len(cells) == 0 {
			return n, fmt.Errorf("the repertoire of %s is empty", run.Name())
		}
	case s.Skill != nil:
		skills = []int{*s.Skill}
	case s.Cell != nil:
		cells = []int{*s.Cell}
	}
	set, err := policies.Select(run, skills, cells)
	if err != nil {
		return n, err
	}
	if !set.Policies[0].Cell {
		return s.skillNetwork(run, set)
	}
	policy, precision, err := set.Network()
	if err != nil {
		return n, err
	}
	r, err := run.RepertoireMap()
	if err != nil {
		return n, err
	}
	n.sizes, n.normalises = policy.Sizes, policy.Normalises
	for _, p := range set.Policies {
		row := p.Genotype
		if want := policy.Params(); want != len(row) {
			return n, fmt.Errorf("layers of %v have %d parameters, but the policies of %s have %d", n.sizes, want,
				run.Name(), len(row))
		}
		n.rows = append(n.rows, precision.Rounded(policy, row))
		n.list = append(n.list, PolicyContract{Cell: &p.Number, Fitness: runs.Finite(float64(r.Fitnesses[p.Number])),
			Descriptor: r.Descriptor(p.Number)})
	}
	return n, nil
}

// skillNetwork returns the network of a selected skill, or the one that all skills share.
func (s ExportSpec) skillNetwork(run *runs.Run, set *policies.Set) (n network, err error) {
	all, err := run.Skills()
	if err != nil {
		return n, err
	}
	n.sizes = slices.Concat([]int{all.Observations}, all.Hidden, []int{all.Actions})
	if n.rows = [][]float32{set.Policies[0].Genotype}; s.Skill == nil {
		n.sizes, n.rows, n.shared, n.skills = all.Sizes(), [][]float32{all.Policy}, true, all.Count
	}
	for _, p := range set.Policies {
		fitness, descriptor := all.Mean(p.Number)
		n.list = append(n.list, PolicyContract{Skill: &p.Number, Fitness: runs.Finite(fitness),
			Descriptor: lists.Convert[float32](descriptor)})
	}
	return n, nil
}

func layerArrays(row []float32, sizes []int) map[string]npz.Array {
	arrays := map[string]npz.Array{"sizes": npz.Of(sizes)}
	for layer := range len(sizes) - 1 {
		in, out := sizes[layer], sizes[layer+1]
		arrays[fmt.Sprintf("layer_%d.bias", layer)] = npz.Of(row[:out])
		arrays[fmt.Sprintf("layer_%d.kernel", layer)] = npz.Of(row[out:out+in*out], in, out)
		row = row[out+in*out:]
	}
	return arrays
}
