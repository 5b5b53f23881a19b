package qdnb

import (
	"fmt"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/algorithms/evolution"
	"example.com/qdnb/qdnb/algorithms/skills"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/session"
	"example.com/qdnb/xla/random"
)

// reporting is an emitter that copies parents and reports a number.
type reporting struct {
	name  string
	value func(evolution.Generation) *Node
}

func (r reporting) Init(evolution.Start, random.Key) evolution.Emitter { return r }

func (r reporting) Offspring(p evolution.Parents, _ *Node, keys random.Key) *Node {
	return p.Sample(keys)
}

func (r reporting) Update(g evolution.Generation, _ random.Key) (evolution.Emitter, []evolution.Metric) {
	return r, []evolution.Metric{{Name: r.name, Value: r.value(g)}}
}

// unnamed is a ball whose loss has no name.
type unnamed struct{ Ball Ball }

func (u unnamed) Condition(p skills.Problem) skills.Problem { return u.Ball.Condition(p) }

func (u unnamed) Init(p skills.Problem, key random.Key) skills.Diversity {
	return unnamed{u.Ball.Init(p, key).(Ball)}
}

func (u unnamed) Reward(of skills.Batch) *Node { return u.Ball.Reward(of) }

func (u unnamed) Learn(of skills.Batch) (skills.Diversity, *Node) {
	after, loss := u.Ball.Learn(of)
	return unnamed{after.(Ball)}, loss
}

func (unnamed) Loss() string { return "" }

// Whatever parts and environments call their metrics, each has a column.
func TestMetricsHaveColumnsOfTheirOwn(t *testing.T) {
	own := func(spec Spec) (*runs.Table, []string) {
		t.Helper()
		spec.TensorBoard = true
		table := must.Get(train(t, spec).Metrics())
		return table, table.Columns[len(session.Columns) : len(table.Columns)-1]
	}
	spec := small(t.TempDir(), 2)
	mix := evolution.Mix{}
	reported := []string{"loss", "loss", "final", "seconds", "", "a, b", "损失", "loss"}
	for i, name := range reported {
		number := func(g evolution.Generation) *Node { return ConstAs(ReduceAllSum(g.Found.Fitness), float64(i)) }
		mix = append(mix, evolution.Share{Emitter: reporting{name, number}, Of: 0.125})
	}
	spec.Name, spec.Tune = "reporting", spec.Tune.And(Tune(func(h *evolution.MapElites) { h.Mix = mix }))
	table, names := own(spec)
	want := []string{"loss", "loss_2", "final_2", "seconds_2", "column", "a__b", "损失", "loss_3"}
	errtest.Equal(t, fmt.Sprintf("the losses %q have the columns", reported), names, want)
	for i, name := range names {
		column := must.Get(table.Column(name))
		if slices.ContainsFunc(column, func(x float64) bool { return x != float64(i) }) {
			t.Errorf("column %s is %v, want %d", name, column, i)
		}
	}

	spec = smallOf("pga-map-elites", t.TempDir(), 2)
	spec.Name, spec.Tune = "two", spec.Tune.And(Tune(func(h *evolution.MapElites) {
		h.Mix[0].Of, h.Mix[1] = 0.5, evolution.Share{Emitter: h.Mix[0].Emitter, Of: 0.5}
	}))
	want = []string{"critic_loss", "actor_loss", "critic_loss_2", "actor_loss_2"}
	if _, names := own(spec); !slices.Equal(names, want) {
		t.Errorf("two policy gradients have the columns %q", names)
	}

	spec = smallDiscovery("diayn", t.TempDir(), 2)
	silent := skills.Parts{Diversity: unnamed{Ball{Weight: 10, LearningRate: 0.01}}}
	spec.Name, spec.Tune = "unnamed", spec.Tune.And(skilled(silent))
	if _, names := own(spec); !slices.Contains(names, "diversity_loss") {
		t.Errorf("a loss without a name is missing in %q", names)
	}

	for _, c := range [][]string{{"+x", "-x", "x", "x_2"}, {"fitness", "+", "fitness_2", "column"},
		{"高度", "Ångström (m) 2", "高度", "ångström_m_2"}} {
		env := altered{plane{"tilted"}, func(spec *envs.Spec) { spec.Descriptor.Components = c[:2] }, nil}
		spec := Spec{Environment: env, Loop: smallPPO(env), Name: "own-ppo", Runs: t.TempDir(), Backend: "go",
			Quiet: true, Budget: Generations(1)}
		want := []string{"fitness_mean", "fitness_std", c[2] + "_mean", c[2] + "_max", c[3] + "_mean", c[3] + "_max",
			"policy_loss", "value_loss", "entropy", "evaluation_steps"}
		if _, names := own(spec); !slices.Equal(names, want) {
			t.Errorf("components %q have the columns %q, want %q", c[:2], names, want)
		}
	}
}
