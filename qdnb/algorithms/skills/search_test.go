package skills

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
)

// A restored search continues to the same bytes, as does a new one with the same seed, but none
// with another seed.
func TestSearchGoesOnBitForBit(t *testing.T) {
	const stop, end = 7, 13 // the ring of ten steps wraps in between
	for _, k := range []kind{diaynReward, smerlDADS, sacAlone} {
		each := xlatest.Logic
		if k.name == diaynReward.name {
			each = xlatest.Each
		}
		t.Run(k.name, func(t *testing.T) {
			each(t, func(t *testing.T, p *xla.Platform) {
				s := begun(t, p, k)
				start := memory(t, s)
				first := steps(t, s, 1+stop)
				stopped := memory(t, s)
				rest := steps(t, s, end-stop)
				want := memory(t, s)
				if names := xlatest.Differ(stopped, want); !slices.Contains(names,
					"Learner.Actor.Params.Bias.0") ||
					slices.Contains(names, "Learner.LogAlpha.Params") == s.config.SAC.FixAlpha {
					t.Errorf("only %v change: the test is vacuous", names)
				}
				same := func(what string, outcomes, wanted []scoring.Outcome, held map[string]npz.Array) {
					t.Helper()
					if a, b := fmt.Sprint(outcomes), fmt.Sprint(wanted); a != b {
						t.Errorf("%s: outcomes\n%s, want\n%s", what, a, b)
					}
					if names := xlatest.Differ(held, want); len(names) > 0 {
						t.Errorf("%s: %v differ", what, names)
					}
				}

				other := s
				if k.name != "sac" || p.Kind == backend.Go { // avoids compiling another XLA program
					other = startSearch(t, p, k.method, k.config(p.Kind))
				} else {
					restore(t, s, -1, start)
				}
				if names := xlatest.Differ(start, memory(t, other)); len(names) > 0 {
					t.Errorf("with the same seed %v start differently", names)
				}
				fresh := memory(t, other)
				restore(t, other, stop, stopped)
				if got := other.Generation; got != stop {
					t.Errorf("restored at iteration %d", got)
				}
				same("restored", steps(t, other, end-stop), rest, memory(t, other))
				restore(t, other, -1, fresh)
				same("from the beginning", steps(t, other, 1+end), append(slices.Clone(first), rest...),
					memory(t, other))

				if p.Kind == backend.Go {
					config := k.config(p.Kind)
					config.Seed = 2
					another := startSearch(t, p, k.method, config)
					names := xlatest.Differ(start, memory(t, another))
					steps(t, another, 1+end)
					later := xlatest.Differ(want, memory(t, another))
					for _, name := range []string{"Learner.Actor.Params.Kernel.0",
						"Learner.Critic.Trainable.Params.0.Kernel.0", "Envs.Observation"} {
						if !slices.Contains(names, name) || !slices.Contains(later, name) {
							t.Errorf("seed 2 has the same %s", name)
						}
					}
				}
			})
		})
	}
}

// During warm-up a search acts and stores transitions, and its parameters do not change.
func TestWarmup(t *testing.T) {
	p := xlatest.Pure(t)
	config := diaynReward.config(p.Kind)
	n := config.EnvBatchSize
	config.WarmupSteps, config.EarlyInterval = int64(3*n), 0
	config.EvaluationInterval = int64(5 * n)
	s := startSearch(t, p, diaynReward.method, config)
	steps(t, s, 1)
	first := memory(t, s)
	outcomes := steps(t, s, 3)
	warm := memory(t, s)
	for _, name := range xlatest.Differ(first, warm) {
		if !strings.HasPrefix(name, "Envs.") && !strings.HasPrefix(name,
			"passive_") && name != "replay" && !slices.Contains(counters, name) {
			t.Errorf("warming up changes %s", name)
		}
	}
	if warm["replay"].Shape[0] != 3*n || outcomes[2].EnvSteps != int64(3*n) {
		t.Errorf("after the warm-up: %d rows, %+v", warm["replay"].Shape[0], outcomes[2])
	}
	steps(t, s, 1)
	end := memory(t, s)
	if count := floatsOf(t, end, "metric_count"); count[0] != 1 {
		t.Errorf("the first losses are averaged over %v iterations", count[0])
	}

	// The actions do not depend on the actor, whose initial networks may all favour one direction.
	other := startSearch(t, p, diaynReward.method, config)
	held := memory(t, other)
	for name, array := range held {
		if strings.HasPrefix(name, "Learner.Actor.Params.") {
			n := array.Shape[0] * array.Shape[1]
			held[name] = npz.Of(slices.Repeat([]float32{3}, n), array.Shape...)
		}
	}
	restore(t, other, -1, held)
	steps(t, other, 4)
	if !slices.Equal(floatsOf(t, memory(t, other), "replay"), floatsOf(t, warm, "replay")) {
		t.Error("warm-up depends on the actor")
	}
	if changed := xlatest.Differ(warm, end); !slices.Contains(changed,
		"Learner.Actor.Params.Bias.0") || !slices.Contains(changed, "Learner.Critic.Trainable.Params.0.Bias.0") {
		t.Errorf("the first update changes %v", changed)
	}
}

// Every return exceeds a target of -Inf: SMERL then equals PlusReward, bit for bit. With an
// unreachable target it learns only the task.
func TestSMERLWithoutATargetIsPlusReward(t *testing.T) {
	p := xlatest.Pure(t)
	after := func(objective Objective) map[string]npz.Array {
		s := startSearch(t, p, methodOf(short, 3, smallDIAYN, objective), small())
		steps(t, s, 12)
		held := memory(t, s)
		// SMERL logs one more metric.
		maps.DeleteFunc(held, func(name string, _ npz.Array) bool {
			return strings.HasPrefix(name,
				"Returns.") || slices.Contains(counters, name)
		})
		return held
	}
	plus, task := after(PlusReward{2}), after(PlusReward{0})
	if len(xlatest.Differ(plus, task)) == 0 {
		t.Error("the diversity reward changes nothing: the test is vacuous")
	}
	if names := xlatest.Differ(plus, after(SMERL{Target: negativeInfinity,
		Scale: 2})); len(names) > 0 {
		t.Errorf("without a target %v differ", names)
	}
	if names := xlatest.Differ(task, after(SMERL{Target: 1e9, Margin: 1, Scale: 2})); len(names) > 0 {
		t.Errorf("below its target %v differ", names)
	}
}

// SAC moves to where the cost is zero and stays there.
func TestSACSolvesThePoint(t *testing.T) {
	s := begun(t, xlatest.Best(t), sacAlone)
	mean := func() (sum float64) {
		_, e, err := s.Evaluate()
		must.Do(err)
		for _, f := range e.Fitnesses {
			sum += float64(f) / float64(len(e.Fitnesses))
		}
		return sum
	}
	untaught := mean()
	steps(t, s, 151)
	taught := mean() // the optimum is 3/4 + 1/2 + 1/4
	t.Logf("the mean return goes from %.2f to %.2f", untaught, taught)
	if untaught > -4 || taught < -2.2 {
		t.Errorf("the mean return goes from %.2f to %.2f", untaught, taught)
	}
}

// DIAYN without a task reward: the discriminator learns to distinguish the skills, and they end in
// different positions.
func TestDIAYNParts(t *testing.T) {
	diayn := DIAYN{LearningRate: 3e-3, Hidden: []int{32}}
	s := startSearch(t, xlatest.Best(t), methodOf(sacAlone.method.Env, 3, diayn, DiversityOnly{}),
		quick(15))
	outcomes := steps(t, s, 201)
	loss := func(outcomes []scoring.Outcome) (sum float64) {
		for _, o := range outcomes {
			sum += o.Extra[slices.Index(s.Columns(), "discriminator_loss")] / float64(len(outcomes))
		}
		return sum
	}
	first, last := loss(outcomes[4:5]), loss(outcomes[200:])
	_, e, err := s.Evaluate()
	must.Do(err)
	distance := func(i, k int) float64 {
		return math.Hypot(float64(e.Descriptors[2*i]-e.Descriptors[2*k]),
			float64(e.Descriptors[2*i+1]-e.Descriptors[2*k+1]))
	}
	within, between := 0.0, math.Inf(1) // largest distance within a skill, smallest between two
	for i := range e.Fitnesses {
		for k := range i {
			if i%3 == k%3 {
				within = max(within, distance(i, k))
			} else {
				between = min(between, distance(i, k))
			}
		}
	}
	t.Logf("the discriminator's loss goes from %.2f to %.2f; skills end %.2f apart, episodes of one "+
		"skill %.2f", first, last, between, within)
	if first < 0.9 || last > 0.6*math.Log(3) {
		t.Errorf("the discriminator's loss goes from %.2f to %.2f; log 3 is %.2f", first, last,
			math.Log(3))
	}
	if between < 0.5 || between < 1.5*within {
		t.Errorf("skills end %.2f apart, episodes of one skill %.2f", between, within)
	}
}
