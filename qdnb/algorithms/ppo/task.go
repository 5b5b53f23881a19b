package ppo

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"

	"github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms/scoring"
)

// episodic is an environment that resets automatically, such as [envs.Episodes].
type episodic interface {
	envs.Env
	Truncation(envs.State) *graph.Node
}

// Extended is an environment whose steps are several control steps.
type Extended interface {
	envs.Env
	ControlSteps() int
	// Episodes returns the environment with episodes of a number of control steps. For learning, they
	// restart, and it has a method Truncation like [envs.Episodes].
	Episodes(length int, learning bool) envs.Env
	// Credit returns what is learnt from rewards, dones and truncations [T, B] of consecutive steps, of
	// which last is the final state.
	Credit(reward, done, truncation *graph.Node, last envs.State) (_, _, _ *graph.Node)
}

// controlSteps is the number of control steps of a step.
func controlSteps(env envs.Env) int {
	if e, ok := env.(Extended); ok {
		return e.ControlSteps()
	}
	return 1
}

// learningEnv returns the environment for the collection of data.
func learningEnv(env envs.Env, length int) (episodic, error) {
	e, ok := env.(Extended)
	if !ok {
		return envs.AutoReset(env, length), nil
	}
	restarting, ok := e.Episodes(length, true).(episodic)
	if !ok {
		return nil, fmt.Errorf("episodes of %s do not restart", env.Spec().Name)
	}
	return restarting, nil
}

// Task returns the evaluation of policies in an environment.
func (c Config) Task(env envs.Env) scoring.Task {
	steps := (c.EpisodeLength + controlSteps(env) - 1) / controlSteps(env)
	if e, ok := env.(Extended); ok {
		env = e.Episodes(c.EpisodeLength, false)
	}
	return scoring.NewTask(env, c.PolicyHidden, steps)
}

// Names of the arrays of a policy.
const (
	genotypeName = "policy"
	checksumName = "choices_checksum"
)

// Policy returns the newest policy by the names of its arrays, for [Genotype].
func (s *Search) Policy() (map[string]npz.Array, error) {
	genotype, err := s.genotype.Run(s.actor())
	if err != nil {
		return nil, err
	}
	defer genotype.Free()
	row, err := genotype.Floats()
	return map[string]npz.Array{genotypeName: npz.Of(row, 1, len(row)),
		checksumName: npz.Scalar(s.checksum)}, err
}

// Genotype returns the row [1, N] of a policy. It is an error if it was not trained in the task.
func Genotype(policy map[string]npz.Array, task scoring.Task) (npz.Array, error) {
	had, err := policy[checksumName].Int64s()
	if err != nil || len(had) != 1 || had[0] != checksum(task.Env) {
		return npz.Array{}, errOtherChoices
	}
	row, err := policy[genotypeName].Float32s()
	if want := task.Policy.Params(); err != nil || len(row) != want {
		return npz.Array{}, fmt.Errorf("the policy does not fit the settings: it has %d parameters, not %d",
			len(row), want)
	}
	return npz.Of(row, 1, len(row)), nil
}

var errOtherChoices = errors.New("this meta-controller was trained with other skills: restore these, or " +
	"move its folder away and retrain")

// checksum is the CRC-32 of the choices of a [scoring.Discrete] environment, 0 for others.
func checksum(env envs.Env) int64 {
	d, ok := env.(scoring.Discrete)
	if !ok {
		return 0
	}
	rows, _ := d.Choices().Float32s()
	sum, word := crc32.NewIEEE(), make([]byte, 4)
	for _, x := range rows {
		binary.LittleEndian.PutUint32(word, math.Float32bits(x))
		_, _ = sum.Write(word) // never fails
	}
	return int64(sum.Sum32())
}
