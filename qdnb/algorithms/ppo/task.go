package ppo

import (
	"github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
)

// episodic is an environment that resets automatically, such as [envs.Episodes].
type episodic interface {
	envs.Env
	Truncation(envs.State) *graph.Node
}

// extended is an environment whose steps are several control steps.
type extended interface {
	episodic
	ControlSteps() int
	// Episodes returns the environment with episodes of a number of control steps. For learning, they
	// restart.
	Episodes(length int, learning bool) envs.Env
	// Credit returns what is learnt from rewards, dones and truncations [T, B] of consecutive steps, of
	// which last is the final state.
	Credit(reward, done, truncation *graph.Node, last envs.State) (_, _, _ *graph.Node)
}

// controlSteps is the number of control steps of a step.
func controlSteps(env envs.Env) int {
	if e, ok := env.(extended); ok {
		return e.ControlSteps()
	}
	return 1
}

// learningEnv returns the environment for the collection of data.
func learningEnv(env envs.Env, length int) episodic {
	if e, ok := env.(extended); ok {
		return e.Episodes(length, true).(episodic)
	}
	return envs.AutoReset(env, length)
}
