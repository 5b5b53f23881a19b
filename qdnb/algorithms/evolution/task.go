package evolution

import (
	"example.com/qdnb/envs"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
)

// Task is what is evaluated: policies of one form in an environment, for episodes of Length steps.
type Task struct {
	Env    envs.Env
	Policy nn.MLP
	Length int
}

// NewTask makes the task of an environment for policies with the given hidden layers.
func NewTask(env envs.Env, hidden []int, length int) Task {
	spec := env.Spec()
	return Task{env, nn.Policy(spec.Observations, hidden, spec.Actions), length}
}

// axes names the sizes of the task, for policies that are evaluated in slices, of an archive of so
// many cells.
func (t Task) axes(batch, slice, cells int) []xla.Axis {
	return append([]xla.Axis{
		{Size: slice, Meaning: "policies of a slice of the batch"},
		{Size: batch, Meaning: "policies of the batch"},
		{Size: t.Policy.Params(), Meaning: "parameters of a policy"},
		{Size: cells, Meaning: "cells of the archive"},
		{Size: t.Length, Meaning: "steps of an episode"},
	}, t.Env.Spec().Axes()...)
}

// QDOffset is what a filled cell adds to the QD score: the environment's offset per step times the
// length of an episode.
func (t Task) QDOffset() float64 { return t.Env.Spec().QDOffset(t.Length) }
