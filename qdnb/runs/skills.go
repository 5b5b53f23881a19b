package runs

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"example.com/qdnb/internal/limits"
	"example.com/qdnb/internal/npz"
)

// Skills is a trained skill-conditioned policy: one network
//
//	observation and one-hot skill -> hidden layers with ReLU -> means and raw scales of the actions
//
// whose deterministic action is tanh of the means. It includes the newest evaluation of its skills.
type Skills struct {
	Observations int `json:"observations" limits:"1,16384"`
	Actions      int `json:"actions" limits:"1,16384"`
	// Count is the number of skills; 0 if the policy is not conditioned on one (SAC).
	Count  int   `json:"skills" limits:"0,16384"`
	Hidden []int `json:"hidden" limits:"0"` // units per layer
	// Policy is a flat row: per layer its bias, then its kernel [in, out]; see Sizes. It is nil if a
	// shipped run's Evaluation was read.
	Policy []float32

	// The newest evaluation, of n episodes; all fields are nil without one.
	Which        []int     // [n], skill of each episode
	Fitnesses    []float32 // [n]
	Descriptors  []float32 // [n, d]
	Trajectories []float32 // [n, steps, 2], position at each step; nil if the task has none

	// Extra holds the state of the diversity reward: discriminator, dynamics, their normaliser. Its
	// names must differ from those of the other arrays.
	Extra map[string]npz.Array
}

// Sizes returns the sizes of the network's input, hidden layers and output.
func (s *Skills) Sizes() []int {
	return slices.Concat([]int{s.Observations + s.Count}, s.Hidden, []int{2 * s.Actions})
}

// Row returns the number of parameters of a network with the given layer sizes: its biases and
// kernels.
func Row(sizes []int) int {
	n := 0
	for layer := range len(sizes) - 1 {
		n += (sizes[layer] + 1) * sizes[layer+1]
	}
	return n
}

// Params returns the number of parameters of a skill as a separate policy; see Genotype.
func (s *Skills) Params() int {
	return Row(slices.Concat([]int{s.Observations}, s.Hidden, []int{s.Actions}))
}

// Skills returns the number of policies: Count, or 1 if the policy is not conditioned on a skill.
func (s *Skills) Skills() int { return max(1, s.Count) }

// Dims returns the number of descriptor components of the evaluation; 0 without one.
func (s *Skills) Dims() int {
	if len(s.Which) == 0 {
		return 0
	}
	return len(s.Descriptors) / len(s.Which)
}

// Steps returns the number of positions per trajectory of the evaluation; 0 without any.
func (s *Skills) Steps() int {
	if len(s.Which) == 0 {
		return 0
	}
	return len(s.Trajectories) / (2 * len(s.Which))
}

// Mean returns the mean fitness and mean descriptor, [d], of a skill over its evaluation episodes;
// NaN and nil without any.
func (s *Skills) Mean(skill int) (fitness float64, descriptor []float64) {
	d, n := s.Dims(), 0.0
	for i, which := range s.Which {
		if which != skill {
			continue
		}
		if n++; n == 1 {
			descriptor = make([]float64, d)
		}
		fitness += float64(s.Fitnesses[i])
		for k := range descriptor {
			descriptor[k] += float64(s.Descriptors[i*d+k])
		}
	}
	for k := range descriptor {
		descriptor[k] /= n
	}
	return fitness / n, descriptor // 0 / 0 is NaN
}

// Genotype returns skill k as a separate policy, in the layout of the quality-diversity algorithms:
// observation -> hidden layers -> actions, with tanh on the outputs. The one-hot skill k adds row
// Observations+k of the first kernel to the first layer's output, so the row becomes part of the
// bias. The columns of the last layer that produce scales are dropped. Everything that works on
// genotypes thus works on skills. k must be below Skills().
func (s *Skills) Genotype(k int) []float32 { return s.separate(k, s.Actions) }

// Gaussian is [Skills.Genotype] with the outputs that produce scales.
func (s *Skills) Gaussian(k int) []float32 { return s.separate(k, 2*s.Actions) }

// separate returns skill k as a separate policy with the first outputs.
func (s *Skills) separate(k, outputs int) []float32 {
	if k < 0 || k >= s.Skills() {
		panic(fmt.Sprintf("skill %d of %d", k, s.Skills()))
	}
	sizes := s.Sizes()
	var genotype []float32
	rest := s.Policy
	for layer := range len(sizes) - 1 {
		in, out := sizes[layer], sizes[layer+1]
		bias, kernel := rest[:out], rest[out:out+in*out]
		rest = rest[out+in*out:]
		keep := out
		if layer == len(sizes)-2 {
			keep = outputs
		}
		start := len(genotype)
		genotype = append(genotype, bias[:keep]...)
		if layer == 0 {
			in = s.Observations
			if s.Count > 0 {
				for unit, weight := range kernel[(in+k)*out : (in+k)*out+keep] {
					genotype[start+unit] += weight
				}
			}
		}
		for i := range in {
			genotype = append(genotype, kernel[i*out:i*out+keep]...)
		}
	}
	return genotype
}

// Names of the arrays in skills.npz.
const (
	policyKey, observationsKey, actionsKey, countKey, hiddenKey = "policy", "observations", "actions",
		"skills", "hidden"
	whichKey, trajectoriesKey = "which", "trajectories"
)

// skillsKeys are the names that Extra must not use.
var skillsKeys = []string{policyKey, observationsKey, actionsKey, countKey, hiddenKey, whichKey,
	fitnessesKey, descriptorsKey, trajectoriesKey}

// Check returns an error if the parts are inconsistent.
func (s *Skills) Check() error {
	if err := limits.Of(s); err != nil { // a file that exceeds them is damaged rather than large
		return err
	}
	if want := Row(s.Sizes()); s.Policy != nil && len(s.Policy) != want {
		return fmt.Errorf("the policy has %d parameters, not %d (layers of %v)", len(s.Policy), want, s.Sizes())
	}
	if err := checkParts(s.evaluation(s.Dims(), s.Steps())...); err != nil {
		return err
	}
	for i, k := range s.Which {
		if k < 0 || k >= s.Skills() {
			return fmt.Errorf("evaluation %d is of skill %d, but there are only %d", i, k, s.Skills())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Extra)) {
		if slices.Contains(skillsKeys, name) {
			return fmt.Errorf("%q is the name of another array; rename it", name)
		}
		if err := s.Extra[name].Check(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func (s *Skills) parts() []part {
	return []part{
		number(observationsKey, &s.Observations), number(actionsKey, &s.Actions), number(countKey, &s.Count),
		list(hiddenKey, &s.Hidden, -1), optional(list(policyKey, &s.Policy, -1)),
	}
}

// evaluation are the arrays of the newest evaluation, of descriptors with d components.
func (s *Skills) evaluation(d, steps int) []part {
	n := len(s.Which)
	return []part{
		list(fitnessesKey, &s.Fitnesses, n), list(descriptorsKey, &s.Descriptors, n, d),
		optional(list(trajectoriesKey, &s.Trajectories, n, steps, 2)),
	}
}

func (s *Skills) arrays() map[string]npz.Array {
	arrays := arraysOf(s.parts()...)
	if len(s.Which) > 0 {
		maps.Copy(arrays, arraysOf(append(s.evaluation(s.Dims(), s.Steps()), list(whichKey, &s.Which, -1))...))
	}
	maps.Copy(arrays, s.Extra)
	return arrays
}

// readSkills reads skills.npz: the arrays observations, actions, skills (scalars) and hidden [layers];
// optionally policy [N], which and fitnesses [n], descriptors [n, d] and trajectories [n, steps, 2].
// All other arrays become Extra.
func readSkills(file *npz.Reader) (*Skills, error) {
	s := &Skills{}
	if err := readParts(file, "", append(s.parts(), optional(list(whichKey, &s.Which, -1)))...); err != nil {
		return nil, err
	}
	if s.Which != nil {
		if err := readParts(file, "", s.evaluation(-1, -1)...); err != nil {
			return nil, err
		}
	}
	for _, key := range file.Keys() {
		if slices.Contains(skillsKeys, key) {
			continue
		}
		array, err := file.Read(key)
		if err != nil {
			return nil, err
		}
		if s.Extra == nil {
			s.Extra = map[string]npz.Array{}
		}
		s.Extra[key] = array
	}
	return s, s.Check()
}

const skillsFile = "skills.npz"

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// HasSkills reports whether skills.npz exists.
func (r *Run) HasSkills() bool { return r.path(skillsFile) != "" }

// HasRepertoire reports whether repertoire.npz exists.
func (r *Run) HasRepertoire() bool { return r.path(repertoireFile) != "" }

// HasMetrics reports whether metrics.csv exists.
func (r *Run) HasMetrics() bool { return r.path(metricsFile) != "" }

// Skills reads skills.npz. A shipped run has no policy, which is an error; see Evaluation.
func (r *Run) Skills() (*Skills, error) {
	skills, err := r.Evaluation()
	if err == nil && skills.Policy == nil {
		return nil, r.shippedWithout()
	}
	return skills, err
}

// Evaluation reads skills.npz for the newest evaluation of the skills. The policy may be nil.
func (r *Run) Evaluation() (*Skills, error) {
	if err := r.uses(); err != nil {
		return nil, err
	}
	skills, err := npz.ReadFile(filepath.Join(r.Dir, skillsFile), readSkills)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s has no %s: the algorithm does not write one, or training is not finished", r.Dir, skillsFile)
	}
	return skills, restorable(err)
}

// SaveSkills writes skills.npz.
func (w *Writer) SaveSkills(s *Skills) error {
	if s.Policy == nil {
		return fmt.Errorf("skills of %s: they have no policy", w.Dir)
	}
	if err := s.Check(); err != nil {
		return fmt.Errorf("skills of %s: %w", w.Dir, err)
	}
	return w.saveArrays(skillsFile, s.arrays())
}

// Write atomically writes skills to an .npz file.
func (s *Skills) Write(path string) error {
	if err := s.Check(); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return npz.Write(path, s.arrays())
}
