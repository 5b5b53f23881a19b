package qdnb

import (
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/xla/random"
)

// standing is a plane on which nothing moves, or on which episodes end in their first step.
type standing struct {
	plane
	ends bool
}

func (e standing) Reset(keys random.Key) envs.State {
	s := e.plane.Reset(keys)
	s.Observation, s.Descriptor = ZerosLike(s.Observation), ZerosLike(s.Descriptor)
	return s
}

func (e standing) Step(s envs.State, action *Node) envs.State {
	after := s
	after.Reward = Neg(ReduceSum(Square(action), 1))
	if e.ends {
		after.Done = OnesLike(after.Done)
	}
	return after
}

// A search whose descriptors are all equal finds nothing, and says so.
func TestArchivesThatDoNotGrowAreReported(t *testing.T) {
	for _, algorithm := range []string{"aurora", "aurora-xcon", "map-elites", "dns"} {
		for _, ends := range []bool{false, true} {
			spec := smallest(algorithm, t.TempDir())
			spec.Env, spec.Environment, spec.Budget = "", standing{plane{"standing"}, ends}, Generations(40)
			if ends {
				spec.Budget = Generations(7) // at the end of a short run, too
			}
			said := stderr(t, func() { train(t, spec) })
			// populations keep as many of the fittest as they have room for, but for extinctions
			want := algorithm == "aurora" || algorithm == "map-elites"
			if strings.Contains(said, "descriptors are nearly equal") != want {
				t.Errorf("%s says %q", algorithm, said)
			}
		}
	}
	extinct := smallOf("aurora-xcon", t.TempDir(), 12)
	extinct.Tune = more(extinct.Tune, "extinction_every=10") // leaves one
	errtest.Equal(t, "after an extinction a run", stderr(t, func() { train(t, extinct) }), "")
	for _, setting := range []string{"grad_updates_per_step=0", "warmup_steps=1000000"} {
		idle := smallDiscovery("metra", t.TempDir(), 3)
		idle.Tune = more(idle.Tune, setting)
		if said := stderr(t, func() { train(t, idle) }); !strings.Contains(said, "the networks were not updated") {
			t.Errorf("%s says %q", setting, said)
		}
	}
	errtest.Equal(t, "a run that learns", stderr(t, func() { train(t, smallDiscovery("metra", t.TempDir(), 3)) }), "")
	errtest.Equal(t, "a run that finds something", stderr(t, func() { train(t, smallOf("aurora", t.TempDir(), 20)) }), "")
}
