// Package scoring evaluates genotypes. It rolls out a batch of policies in an environment, slice by
// slice on all workers, and returns their fitness, their descriptors and records of their episodes.
// QDax calls this the scoring function. Both families of algorithms use it.
package scoring

import (
	"fmt"
	"slices"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/names"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
	"example.com/qdnb/xla/nn"
)

// Task defines an evaluation: policies of one architecture act in an environment for episodes of
// Length steps.
type Task struct {
	Env     envs.Env
	Policy  nn.Architecture
	Length  int
	Weights Precision
	// Centroids are those of the cells of the measured repertoire, float32 [cells, d].
	Centroids npz.Array
}

// Precision is the number format of the weights of policies in rollouts: float32, also if empty, or
// bfloat16, see [nn.Net.BFloat16]. Genotypes, and what learners do with them, are always float32.
type Precision string

const (
	float32s  Precision = "float32"
	bfloat16s Precision = "bfloat16"
)

// IsZero reports whether w is the default, which configurations omit: those that are older than the
// setting do not have it.
func (p Precision) IsZero() bool { return p == "" || p == float32s }

// Check returns an error for an unknown format.
func (p Precision) Check() error {
	if p.IsZero() || p == bfloat16s {
		return nil
	}
	return names.Unknown("weights", string(p), []string{string(float32s), string(bfloat16s)})
}

// Rounded returns the row of a policy with weights of the format.
func (p Precision) Rounded(policy nn.MLP, row []float32) []float32 {
	if p == bfloat16s {
		return policy.RoundBFloat16(row)
	}
	return row
}

// MLP returns the architecture of the policies, for what trains them by gradients or reads their layers.
// It panics for others.
func (t Task) MLP() nn.MLP {
	if err := t.CheckMLP(); err != nil {
		panic(err)
	}
	return t.Policy.(nn.MLP)
}

// CheckMLP returns an error if [Task.MLP] would panic.
func (t Task) CheckMLP() error {
	if _, ok := t.Policy.(nn.MLP); !ok {
		return fmt.Errorf("policies of %T are not multilayer perceptrons, which this algorithm trains by gradients: "+
			"use one without, such as map-elites or cma-mae, or policies without memory", t.Policy)
	}
	return nil
}

// CheckPolicy returns an error if an architecture with code of the user does not fit the environment.
func (t Task) CheckPolicy() error {
	m, known := t.Policy.(nn.MLP)
	g, remembers := t.Policy.(nn.GRU)
	if remembers {
		m, known = g.MLP, true
	}
	want := NewTask(t.Env, nil, t.Length).MLP().Sizes
	if n := len(m.Sizes); known && (n < 2 || m.Sizes[0] != want[0] || m.Sizes[n-1] != want[1] || slices.Min(m.Sizes[1:]) < 1) {
		return fmt.Errorf("Policy is %T with layers %v, but policies for %s have %d inputs and %d outputs: set Sizes to "+
			"[%[4]d ... %[5]d]", t.Policy, m.Sizes, t.Env.Spec().Name, want[0], want[1])
	}
	if remembers && g.Units < 1 {
		return fmt.Errorf("Policy is nn.GRU with a memory of %d units: set Units to at least 1", g.Units)
	}
	if params := t.Policy.Params(); params < 1 {
		return xla.Misfit(t.Policy, "Params", "it returns %d as the number of parameters of %T, which must be at least 1",
			params, t.Policy)
	}
	return nil
}

// WithMemory returns the task for policies that remember a number of units, see [nn.GRU]; 0: for the
// same policies.
func (t Task) WithMemory(units int) Task {
	if units > 0 && t.Env.Spec().Observations > 0 {
		t.Policy = nn.GRU{MLP: t.MLP(), Units: units}
	}
	return t
}

// Random streams of an episode.
const (
	streamReset = 1 // draws its initial state
	streamDraws = 3 // of that: draws the actions, if they are discrete
)

// NewTask returns the task of an environment for policies with the given hidden layers, in episodes of
// a number of control steps. Without observations a policy has no layers: it is its action.
func NewTask(env envs.Env, hidden []int, length int) Task {
	spec := env.Spec()
	length = spec.Steps(length)
	if spec.Observations == 0 {
		return Task{Env: env, Policy: nn.Constant(spec.Actions, spec.Initial), Length: length}
	}
	if d, ok := env.(envs.Discrete); ok {
		return Task{Env: env, Policy: nn.NewMLP(spec.Observations, hidden, d.Choices().Shape[0]), Length: length}
	}
	return Task{Env: env, Policy: nn.NewPolicy(spec.Observations, hidden, spec.Actions), Length: length}
}

// Axes names the axis sizes of the task, for a batch that is evaluated in slices and an archive
// with the given number of cells.
func (t Task) Axes(batch, slice, cells int) []xla.Axis {
	return append([]xla.Axis{
		{Size: slice, Meaning: "policies of a slice of the batch"},
		{Size: batch, Meaning: "policies of the batch"},
		{Size: t.Policy.Params(), Meaning: "parameters of a policy"},
		{Size: cells, Meaning: "cells of the archive"},
		{Size: t.Length, Meaning: "steps of an episode"},
	}, envs.Axes(t.Env.Spec())...)
}

// DefaultSlice is the size of slices for the task's policies. Without observations a policy has no
// weights to keep in a cache, so that it is the whole batch.
func (t Task) DefaultSlice(kind backend.Kind, batch int) int {
	if t.Env.Spec().Observations == 0 {
		return batch
	}
	return defaultSlice(kind, batch, t.Policy.Params())
}

// QDOffset is the offset that each filled cell adds to the QD score: the environment's offset per
// step times the episode length.
func (t Task) QDOffset() float64 { return t.Env.Spec().QDOffset(t.Length) }
