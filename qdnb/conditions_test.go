package qdnb

import (
	"math"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/physics"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/runs"
)

// lever is an arm of 1 m and 1 kg on a hinge, whose motor should hold it level. Its policies get its angle
// and velocity.
func lever() *envs.Rigid {
	angle := func(m envs.StepView) *Node {
		angles, _ := m.Joint("hinge")
		return Reshape(angles, -1)
	}
	return &envs.Rigid{
		Settings: envs.Spec{Name: "lever", Observations: 2, Actions: 1, Length: 30, Offset: 2,
			Descriptor: envs.Descriptor{Kind: envs.Mean, Lower: []float32{-1.5}, Upper: []float32{1.5},
				Components: []string{"mean angle (rad)"}}},
		System: must.Get(physics.NewSystem(physics.Model{TimeStep: 0.05, Substeps: 10, Gravity: physics.Vec{0, 0, -9.81},
			Bodies: []physics.Body{{Name: "base", Fixed: true}, {Name: "arm", Mass: 1, Inertia: physics.Vec{0.1, 0.1, 0.1}}},
			Joints: []physics.Joint{{Name: "hinge", Parent: "base", Child: "arm", ChildOffset: physics.Vec{-0.5, 0, 0},
				Rotation: physics.Vec{0, 0, 90}, Limits: [][2]float64{{-80, 80}}, Stiffness: 5000, Damping: 1}},
			Actuators: []physics.Actuator{{Joint: "hinge", Strength: 12}},
			Pose:      map[string]physics.Vec{"base": {0, 0, 2}}})),
		Observe: func(m envs.StepView) *Node {
			angles, velocities := m.Joint("hinge")
			return Concatenate([]*Node{angles, velocities}, 0)
		},
		Reward:   func(_, after envs.StepView, _ *Node) *Node { return Neg(MinScalar(Abs(angle(after)), 2)) },
		Describe: angle,
	}
}

// Training under other conditions finds policies for them, and the conditions are part of the run's
// identity. Adaptation replaces those that episodes draw.
func TestTrainingUnderConditions(t *testing.T) {
	root, plain := t.TempDir(), lever()
	strong := func(gravity float64) envs.Env {
		return must.Get(envs.WithVariations(plain, "strong", envs.Vary(envs.GravityMultiplier, gravity, gravity)))
	}
	spec := func(env envs.Env) Spec {
		return Spec{Algorithm: "map-elites", Environment: env, Runs: root, Backend: "go", Quiet: true,
			Budget: Generations(15), Tune: runs.Assign("batch=32", "hidden=[4]", "cells=8", "cvt_samples=200", "iso_sigma=0.1",
				"episode_length=20")}
	}
	one, other := must.Get(spec(strong(2)).Config()), must.Get(spec(strong(1.9)).Config())
	if again := must.Get(spec(strong(2)).Config()); one.Name() != again.Name() || one.Name() == other.Name() {
		t.Errorf("%s, %s and %s", one.Name(), again.Name(), other.Name())
	}
	under := func(env envs.Env) (run *runs.Run, fitness []float64) { // of the best policy, under both gravities
		run = must.Get(Train(t.Context(), spec(env)))
		adapted := must.Get(Adapt(t.Context(), AdaptSpec{Skills: run, Environment: env, Values: [][]float64{{1}, {2}},
			Perturbation: envs.GravityMultiplier, Episodes: 1, Runs: root, Backend: "go", Quiet: true}))
		medians := must.Get(must.Get(adapted.Metrics()).Column("fitness_median"))
		n := len(medians) / 2
		return run, []float64{slices.Max(medians[:n]), slices.Max(medians[n:])}
	}
	_, usual := under(plain)
	run, adjusted := under(strong(2))
	if adjusted[1] < usual[1]+1 || math.Abs(adjusted[1]-run.Status.MaxFitness) > 0.1 || adjusted[0] == adjusted[1] {
		t.Errorf("trained under gravity 1 the best have %.4g under gravities 1 and 2, "+
			"trained under gravity 2 %.4g; archived %.4g",
			usual, adjusted, run.Status.MaxFitness)
	}
}
