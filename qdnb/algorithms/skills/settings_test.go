package skills

import (
	"math"
	"reflect"
	"testing"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/errtest"
)

// An environment without published settings uses defaults; only SMERL's target must be set.
func TestUnknownEnvironments(t *testing.T) {
	spec := endless.Spec()
	mean := spec
	mean.Descriptor.Kind = envs.Mean
	if err := defaultSAC(spec).Check(); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"diayn", "dads", "diayn-reward", "dads-reward"} {
		h := Defaults(name, spec)
		if err := h.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if b := h.SAC; b.RewardScaling != 1 || b.EpisodeLength != 8 || b.Updates() != 200 ||
			!b.FixAlpha || b.AlphaInit != 0.1 {
			t.Errorf("%s: %+v", name, b)
		}
		if h.method(endless).Width() != 2 || len(Defaults(name, mean).method(endless).Features.Columns) > 0 {
			t.Errorf("%s: skills are distinguished by positions if they are the descriptor, else by "+
				"observations", name)
		}
	}
	for _, name := range []string{"smerl-diayn", "smerl-dads"} {
		errtest.Want(t, Defaults(name, spec).Check(), "smerl_target is unknown")
	}
}

// Each algorithm has the right factors, with its settings.
func TestMethods(t *testing.T) {
	spec := endless.Spec()
	spec.Name = "ant-maze"
	diayn := DIAYN{Hidden: []int{256, 256}}
	dads := DADS{Hidden: []int{256, 256}, Components: 4}
	for _, c := range []struct {
		name      string
		diversity Diversity
		objective Objective
		wide      bool
	}{
		{"diayn", diayn, DiversityOnly{}, false},
		{"dads", dads, DiversityOnly{}, true},
		{"diayn-reward", diayn, PlusReward{3}, false},
		{"dads-reward", dads, PlusReward{3}, true},
		{"smerl-diayn", diayn, SMERL{-6820, 682, 3}, false},
		{"smerl-dads", dads, SMERL{-6820, 682, 3}, true},
	} {
		h := Defaults(c.name, spec)
		m := h.method(endless)
		if !reflect.DeepEqual(m.Diversity, c.diversity) || m.Objective != c.objective ||
			(len(entryOf(c.name).Options) > 0) != c.wide {
			t.Errorf("%s: %+v and %+v, %d options", c.name, m.Diversity, m.Objective,
				len(entryOf(c.name).Options))
		}
		if m.Skills.OneHot != 5 || m.Learner.LearningRate != 3e-4 || len(m.Features.Columns) != 2 || m.Length != 8 {
			t.Errorf("%s: %+v", c.name, m.Problem)
		}
	}
	if entryOf("sac").Options != nil {
		t.Errorf("sac: %+v", entryOf("sac"))
	}
}

func TestUpdatesAreRounded(t *testing.T) {
	for _, c := range []struct {
		per  float64
		want int
	}{{1, 200}, {0, 0}, {0.5, 100}, {0.001, 0}, {0.0051, 1}, {2.5, 500}} {
		if got := (SAC{EnvBatchSize: 200, GradUpdatesPerStep: c.per}).Updates(); got != c.want {
			t.Errorf("%g updates per transition, 200 transitions: %d, want %d", c.per, got, c.want)
		}
	}
}

func TestBadSettingsGiveOneLine(t *testing.T) {
	spec := endless.Spec()
	spec.Name = "pointmaze"
	s := Defaults("smerl-diayn", spec)
	smerl := s.Objective.(SMERL)
	s.Objective = &smerl
	nan := math.NaN()
	for _, c := range []struct {
		want   string
		field  any // a pointer
		values []any
	}{
		{"replay_buffer_size must be between 200 and", &s.ReplayBufferSize, []any{199}},
		{"replay_buffer_size must be a multiple of env_batch", &s.ReplayBufferSize, []any{100_100}},
		{"replay_buffer_size must hold whole episodes of all environments, at least 1600 transitions, " +
			"not 1400", &s.ReplayBufferSize, []any{1400}},
		{"grad_updates_per_step must be between 0 and ", &s.GradUpdatesPerStep, []any{-1, nan, 1e9}},
		{"grad_updates_per_step is 0.002, less than one", &s.GradUpdatesPerStep, []any{0.002}},
		{"num_skills must be at most env_batch_size (200)", &s.NumSkills, []any{201}},
		{"num_skills must be at least 2", &s.NumSkills, []any{1}},
		{"smerl_target is unknown", &smerl.Target, []any{nan}},
		{"smerl_margin must be at least 0", &smerl.Margin, []any{-1, nan}},
	} {
		field := reflect.ValueOf(c.field).Elem()
		published := reflect.ValueOf(field.Interface())
		for _, value := range c.values {
			if err := s.Check(); err != nil {
				t.Fatalf("the published values: %v", err)
			}
			field.Set(reflect.ValueOf(value).Convert(field.Type()))
			errtest.Want(t, s.Check(), c.want)
			field.Set(published)
		}
	}
	ok := Defaults("smerl-diayn", spec)
	ok.Objective = SMERL{Target: math.Inf(-1), Scale: -1}
	ok.GradUpdatesPerStep, ok.EarlyInterval, ok.Hidden, ok.ReplayBufferSize = 0, 0, nil, 200*8
	ok.Config.Discount, ok.Config.Tau = 0, 1
	if err := ok.Check(); err != nil {
		t.Errorf("values at the limits: %v", err)
	}
	if (SAC{}).Check() == nil {
		t.Error("zero settings are accepted")
	}
}
