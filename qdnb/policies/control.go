package policies

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"path/filepath"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/internal/limits"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms/ppo"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// HurdlesEnv is the environment of hierarchical control.
const HurdlesEnv = "halfcheetah-hurdles"

// ControlSettings are the hyperparameters of a run of hierarchical control, an
// [example.com/qdnb/qdnb/algorithms.Algorithm].
type ControlSettings struct {
	Skills       string      `json:"skills"` // name of the folder of the run that supplies the skills
	SkillsBudget runs.Budget `json:"skills_budget"`
	MetaController
}

// MetaController are the hyperparameters of a meta-controller.
type MetaController struct {
	ppo.PPO
	// DecisionLength is the number of control steps for which a chosen skill acts; paper: 10.
	DecisionLength int `json:"decision_length" limits:"1,1048576"`
	// SampleSkills lets the skills of the reinforcement-learning family sample their actions while data are
	// collected; paper: true. In evaluations they never do.
	SampleSkills bool `json:"sample_skills"`
}

// Check rejects values that cannot work, before anything is compiled.
func (s MetaController) Check() error { return cmp.Or(limits.Of(s), s.PPO.Check()) }

// DefaultControl returns the paper's hyperparameters, with an evaluation after every iteration. The
// repertoire has a cell for each number of hurdles.
func DefaultControl() *ControlSettings {
	s := &ControlSettings{MetaController: MetaController{PPO: *ppo.Default(envs.Spec{Length: 250}),
		DecisionLength: 10, SampleSkills: true}}
	s.CVT = repertoire.CVT{Cells: catalog.HurdleNumber + 1, CVTSamples: 1000}
	return s
}

// Environment returns the hurdles environment in which a meta-controller chooses skills.
func (s *ControlSettings) Environment(skills envs.Skills) (envs.Hierarchical, error) {
	env, err := envs.Make(HurdlesEnv)
	return envs.Hierarchical{Env: hurdles{env}, Skills: skills, Every: s.DecisionLength, Explore: s.SampleSkills}, err
}

// hurdles is halfcheetah-hurdles whose descriptor is the number of hurdles that the torso has passed.
type hurdles struct{ envs.Env }

func (h hurdles) Spec() envs.Spec {
	spec := h.Env.Spec()
	spec.Descriptor = envs.Descriptor{Kind: envs.Outcome, Lower: []float32{0},
		Upper: []float32{catalog.HurdleNumber}, Components: []string{"hurdles"}}
	spec.Offset = 4 // no episode has a fitness below -1000
	return spec
}

func (h hurdles) Unwrap() envs.Env { return h.Env }

func (h hurdles) Reset(keys random.Key) envs.State {
	s := envs.Reset(h.Env, keys)
	return h.with(s, graph.ZerosLike(s.Reward))
}

func (h hurdles) Step(s envs.State, action *graph.Node) envs.State {
	n := len(s.PhysicsState) - 1
	before := s.PhysicsState[n]
	s.PhysicsState, s.Descriptor = s.PhysicsState[:n], nil
	next := envs.Step(h.Env, s, action)
	return h.with(next, graph.Max(before, passed(graph.Slice(next.Observation, graph.AxisRange(), graph.AxisElem(0)))))
}

// with adds the number of hurdles passed, [B], to a state of the task.
func (h hurdles) with(s envs.State, count *graph.Node) envs.State {
	s.PhysicsState = append(s.PhysicsState[:len(s.PhysicsState):len(s.PhysicsState)], count)
	s.Descriptor = graph.InsertAxes(count, -1)
	return s
}

// passed returns how many hurdles are strictly before observed positions [B, 1].
func passed(x *graph.Node) *graph.Node {
	var at []float32
	for i := range catalog.HurdleNumber {
		at = append(at, float32(catalog.HurdleSpacing*float64(i+1)/catalog.HurdlesHalfway-1))
	}
	behind := graph.GreaterThan(x, graph.InsertAxes(graph.Const(x.Graph(), at), 0))
	return graph.ReduceSum(graph.ConvertDType(behind, dtypes.Float32), 1)
}

// Metres converts the torso's observed position to its x in metres.
func Metres(observed float64) float64 { return catalog.HurdlesHalfway * (observed + 1) }

// HurdlesSkills returns the architecture of skills for the hurdles environment, without their parameters. They
// do not see the position and the distance to the next hurdle.
func HurdlesSkills(hidden []int, gaussian bool) envs.Skills {
	task, _ := catalog.Find(HurdlesEnv)
	const unseen = 2
	s := envs.Skills{Hidden: unseen, Gaussian: gaussian, Net: nn.NewPolicy(task.Observations-unseen, hidden, task.Actions)}
	if gaussian {
		s.Net = nn.NewMLP(task.Observations-unseen, hidden, 2*task.Actions)
	}
	return s
}

// ForControl returns the skills of a run as policies for the hurdles environment. They observe what they
// observed in training, so not the position that precedes it in the observation.
func ForControl(run *runs.Run) (set envs.Skills, err error) {
	var numbers []int
	var flat []float32
	if run.HasSkills() {
		skills, err := run.Skills()
		if err != nil {
			return set, err
		}
		set = HurdlesSkills(skills.Hidden, true)
		if task, _ := catalog.Find(HurdlesEnv); skills.Observations != set.Net.Sizes[0] || skills.Actions != task.Actions {
			return set, fmt.Errorf("the skills of %s are for %d observations and %d actions, not %d and %d",
				run.Name(), skills.Observations, skills.Actions, set.Net.Sizes[0], task.Actions)
		}
		for k := range skills.Skills() {
			numbers = append(numbers, k)
			flat = append(flat, skills.Gaussian(k)...)
		}
	} else {
		cells, err := All(run)
		if err != nil {
			return set, err
		}
		net, precision, err := cells.Network()
		if err != nil {
			return set, err
		}
		set = HurdlesSkills(net.Sizes[1:len(net.Sizes)-1], false)
		set.Net.Normalises = net.Normalises
		for _, policy := range cells.Policies {
			numbers = append(numbers, policy.Number)
			flat = append(flat, precision.Rounded(net, policy.Genotype)...)
		}
	}
	if want := len(numbers) * set.Net.Params(); len(flat) != want {
		return set, fmt.Errorf("the skills of %s have %d parameters in total, not %d: they do not fit %s",
			run.Name(), len(flat), want, HurdlesEnv)
	}
	set.Numbers, set.Rows = numbers, npz.Of(flat, len(numbers), len(flat)/max(1, len(numbers)))
	return set, nil
}

// controlled makes the environment of a run of hierarchical control. The run that supplies the skills
// must lie in the same folder.
func controlled(run *runs.Run) (envs.Env, error) {
	var settings ControlSettings
	if err := run.Config.Settings(&settings); err != nil {
		return nil, err
	}
	trained, err := runs.Open(filepath.Join(run.Dir, "..", settings.Skills))
	if err != nil {
		return nil, fmt.Errorf("the skills of %s: %w", run.Name(), err)
	}
	skills, err := ForControl(trained)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", run.Name(), err)
	}
	env, err := settings.Environment(skills)
	if err != nil {
		return nil, err
	}
	if run.Status.Updated.IsZero() {
		return nil, fmt.Errorf("%s has no status.json: repeat its Control, which writes one", run.Dir)
	}
	return env, SameChoices(run.Name(), run.Status, env)
}

// Choices is a checksum of the actions of a [envs.Discrete] environment, 0 for others.
func Choices(env envs.Env) uint32 {
	d, ok := env.(envs.Discrete)
	if !ok {
		return 0
	}
	hash := crc32.NewIEEE()
	_ = binary.Write(hash, binary.LittleEndian, d.Choices().Data) // never fails
	return hash.Sum32()
}

// SameChoices returns an error if a run, or its checkpoint, was trained with other choices than an
// environment has, according to its status.
func SameChoices(name string, s runs.Status, env envs.Env) error {
	if s.Choices == Choices(env) {
		return nil
	}
	return fmt.Errorf("%s was trained with other skills: restore these, or move its folder away and retrain", name)
}
