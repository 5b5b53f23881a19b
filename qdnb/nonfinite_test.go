package qdnb

import (
	"bytes"
	"math"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/xla/random"
)

// faulty is a plane whose rewards, states, ends or observations are not finite beyond an edge in x, which
// some episodes start with.
type faulty struct {
	plane
	fault string
	edge  float64
	speed float64
}

func (f faulty) Reset(keys random.Key) envs.State {
	return f.broken(f.plane.Reset(keys))
}

func (f faulty) Step(s envs.State, action *Node) envs.State {
	return f.broken(f.plane.Step(s, MulScalar(action, f.speed)))
}

func (f faulty) broken(s envs.State) envs.State {
	x := Reshape(Slice(s.Observation, AxisRange(), AxisElem(0)), -1)
	beyond := GreaterThan(x, ConstAs(x, f.edge))
	set := func(x *Node, value float64) *Node {
		wide := beyond
		if x.Rank() == 2 && x.Shape().Dimensions[0] == 2 { // [2, B]
			wide = BroadcastToDims(InsertAxes(wide, 0), x.Shape().Dimensions...)
		}
		return Where(wide, ConstAs(x, value), x)
	}
	switch f.fault {
	case "reward":
		s.Reward = set(s.Reward, math.NaN())
	case "infinity":
		s.Reward = set(s.Reward, math.Inf(1))
	case "done":
		s.Done = set(s.Done, math.NaN())
	case "scale":
		s.Reward = set(s.Reward, 1e30)
	case "state":
		s.PhysicsState[0] = set(s.PhysicsState[0], math.Inf(1))
		s.Reward = OnesLike(s.Reward)
	case "observation":
		s.Observation = Transpose(set(Transpose(s.Observation, 0, 1), math.NaN()), 0, 1)
		s.Reward = OnesLike(s.Reward)
	}
	return s
}

// An infinite return passes no gate: SMERL learns the same from infinite rewards as from NaN.
func TestInfiniteReturnsPassNoGate(t *testing.T) {
	var skills [2][]byte
	for i, fault := range []string{"reward", "infinity"} {
		spec := smallDiscovery("smerl-diayn", t.TempDir(), 40)
		spec.Env, spec.Environment = "", faulty{plane{"faulty"}, fault, 0.09, 2}
		skills[i] = finished(t, train(t, spec))
	}
	if !bytes.Equal(skills[0], skills[1]) {
		t.Error("they differ")
	}
}

// A run whose evaluations are all invalid says so, each time, and does not count as a success.
func TestAllInvalid(t *testing.T) {
	for _, algorithm := range []string{"map-elites", "pga-map-elites", "diayn-reward"} {
		spec := smallOf(algorithm, filepath.Join(t.TempDir(), "runs"), 2)
		if algorithm == "diayn-reward" {
			spec = smallDiscovery(algorithm, spec.Runs, 8)
		}
		spec.Env, spec.Environment = "", faulty{plane{"faulty"}, "observation", -9, 1}
		for range 2 {
			run, err := Train(background, spec)
			if want := "no evaluation was finite: see what envtest.Check says"; err == nil ||
				!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
				t.Fatalf("%s: %v, want %q", algorithm, err, want)
			}
			if !run.Status.Finished || run.Status.Invalid == 0 {
				t.Errorf("%s: %+v", algorithm, run.Status)
			}
		}
	}
}

// A loss that overflows on finite rewards ends the run, which says what is left of it.
func TestDivergedLoss(t *testing.T) {
	for algorithm, loss := range map[string]string{"pga-map-elites": "critic", "ppga": "value", "sac": "critic"} {
		spec := smallOf(algorithm, t.TempDir(), 4)
		if algorithm == "sac" {
			spec = smallDiscovery(algorithm, spec.Runs, 40)
		}
		spec.Env, spec.Environment = "", faulty{plane{"faulty"}, "scale", -9, 1}
		for range 2 {
			_, err := Train(background, spec)
			if err == nil || !strings.HasPrefix(err.Error(), loss+"_loss is ") ||
				!strings.HasSuffix(err.Error(), "there is no checkpoint yet") {
				t.Errorf("%s: %v", algorithm, err)
			}
		}
	}
}
