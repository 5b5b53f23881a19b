package skills

import (
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
)

func TestWhatIsNoNumberEndsTheSearch(t *testing.T) {
	nan := float32(math.NaN())
	broken := func(name string, at int) func(map[string]npz.Array) {
		return func(arrays map[string]npz.Array) {
			data := slices.Clone(arrays[name].Data.([]float32))
			data[at] = nan
			arrays[name] = npz.Of(data, arrays[name].Shape...)
		}
	}
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		for _, updates := range []int{2, 0} {
			s := begun(t, p, diaynReward)
			if updates == 0 {
				if p.Kind != backend.Go {
					continue
				}
				config := small()
				config.GradUpdatesPerStep = 0
				s = startSearch(t, p, diaynReward.method, config)
			}
			steps(t, s, 3)
			held := memory(t, s)
			for _, c := range []struct {
				// the column named first; after updates it may be that of another network, which learnt from
				// the broken one
				column string
				change func(map[string]npz.Array)
			}{
				// a unit of the first hidden layer
				{"critic_loss", broken("Learner.Critic.Trainable.Params.0.Bias.0", 3)},
				{"actor_loss", broken("Learner.Actor.Params.Bias.0", 3)},
				{"discriminator_loss", broken("Diversity.Discriminator.Params.Bias.0", 3)},
			} {
				arrays := maps.Clone(held)
				c.change(arrays)
				restore(t, s, 2, arrays)
				o, err := s.Step()
				want := "^" + c.column
				if updates > 0 {
					want = "^(critic_loss|actor_loss|discriminator_loss|training_reward)"
				}
				if err == nil || !regexp.MustCompile(want+
					" is (NaN|[+-]Inf) in iteration 3: ").MatchString(err.Error()) || strings.Contains(err.Error(),
					"\n") || o.Fitnesses != nil {
					t.Errorf("%d updates: %v; want one line that begins with %s", updates, err, c.column)
				}
				if s.Generation != 2 {
					t.Errorf("the search is in iteration %d", s.Generation)
				}
			}
		}
	})
}

// Steps with NaN rewards are counted, and do not enter the replay buffer.
func TestNaNRewardsAreDropped(t *testing.T) {
	s := startSearch(t, xlatest.Pure(t), methodOf(point{Edge: math.Inf(1), Limit: 0.6, Spread: 0.1}, 0, nil,
		nil), small())
	dropped := 0
	for _, o := range steps(t, s, 100) {
		dropped += o.Dropped
	}
	if dropped == 0 {
		t.Error("no step was dropped")
	}
	buffer, total := s.Replay()
	capacity, _ := buffer.Shape()
	rows, err := buffer.Rows(total, max(0, total-capacity), total)
	if err != nil || slices.ContainsFunc(rows, func(x float32) bool { return x != x }) {
		t.Errorf("the replay buffer has NaN rewards, %v", err)
	}
}

func TestMisfitsGiveOneLine(t *testing.T) {
	p := xlatest.Pure(t)
	type all struct {
		method method
		config config
	}
	together := "skills, a diversity reward and an objective go together"
	for _, c := range []struct {
		want   string
		change func(*all)
	}{
		{"2 environments cannot play all of 3 skills", func(a *all) { a.config.EnvBatchSize = 2 }},
		{"must hold whole episodes: at least 48 transitions, not 42",
			func(a *all) { a.config.ReplayBufferSize, a.method.Objective = 42, SMERL{Target: 1} }},
		{together, func(a *all) { a.method.Objective = nil }},
		{together, func(a *all) { a.method.Diversity = nil }},
		{together, func(a *all) { a.method.Skills.OneHot = 0 }},
		{together, func(a *all) { a.method.Diversity, a.method.Objective = nil, nil }},
		{"skills are either one-hot, or vectors", func(a *all) { a.method.Skills.Draw = cube(1, 1).Draw }},
		{"evaluated skill 1 has 2 components, the first has 1", func(a *all) {
			a.method.Skills = Distribution{Draw: cube(1, 1).Draw, Evaluated: [][]float32{{0}, {0, 1}}}
		}},
		{"the share of redrawn skills is 0.5", func(a *all) { a.method.Skills.Redraw = 0.5 }},
	} {
		a := all{diaynReward.method, small()}
		c.change(&a)
		s, err := newSearch(p, a.method, a.config)
		if errtest.Want(t, err, c.want); s != nil {
			t.Errorf("%q: there is a search", c.want)
		}
	}
}
