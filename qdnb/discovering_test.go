package qdnb

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/algorithms/records"
	"example.com/qdnb/qdnb/algorithms/registry"
	"example.com/qdnb/qdnb/algorithms/skills"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla/backend"
)

// smallDiscovery returns the spec of a run of a reinforcement-learning algorithm that takes
// seconds.
func smallDiscovery(algorithm, folder string, iterations int) Spec {
	spec := small(folder, iterations)
	spec.Algorithm = algorithm
	spec.Tune = runs.Assign("env_batch_size=6", "grad_updates_per_step=0.5", "batch_size=16",
		"replay_buffer_size=180", "hidden=[8,8]", "learning_rate=0.01",
		"cells=32", "cvt_samples=500", "episode_length=20", "evaluation_states=2",
		"evaluation_interval=30", "early_interval=12", "warmup_steps=0")
	if algorithm == "sac" {
		return spec
	}
	spec.Tune = more(spec.Tune, "num_skills=3", "diversity_hidden=[8]")
	if strings.Contains(algorithm, "smerl") {
		spec.Tune = more(spec.Tune, "smerl_target=-20", "smerl_margin=2")
	}
	return spec
}

// Every algorithm of the family logs the expected columns and leaves the expected files.
func TestSkillsAreMeasured(t *testing.T) {
	t.Setenv(backend.BackendEnv, "go")
	losses, rewards := []string{"critic_loss", "actor_loss", "alpha_loss"},
		[]string{"training_reward", "diversity_reward", "task_reward"}
	diayn := slices.Concat(losses, []string{"discriminator_loss"}, rewards)
	dads := slices.Concat(losses, []string{"dynamics_loss"}, rewards)
	gated := func(columns []string) []string {
		return slices.Insert(slices.Clone(columns), len(columns)-1, "accepted_share")
	}
	for algorithm, columns := range map[string][]string{
		"diayn": diayn, "diayn-reward": diayn, "smerl-diayn": gated(diayn), "dads": dads,
		"dads-reward": dads, "smerl-dads": gated(dads),
		"metra": slices.Concat(losses, []string{"encoder_loss"}, rewards),
		"csf":   slices.Concat(losses, []string{"encoder_loss"}, rewards),
		"qdac":  slices.Concat(losses, []string{"features_loss"}, rewards),
		"sac":   append(slices.Clone(losses), "training_reward", "task_reward"),
	} {
		run := train(t, smallDiscovery(algorithm, t.TempDir(), 11))
		table := must.Get(run.Metrics())
		columns = append(columns, "evaluation_steps", runs.FinalColumn)
		if got := table.Columns[8:]; !slices.Equal(got, columns) {
			t.Errorf("%s logs %v, want %v", algorithm, got, columns)
		}
		count, episodes := 3, 6.0
		if algorithm == "sac" {
			count, episodes = 0, 2
		}
		// Measured at the start, every 12 steps before step 30, and then every 30 steps, in
		// iterations of 6 steps. The end is measured, too, which counts as no evaluation, but in its steps.
		var got, want [][3]float64
		for _, row := range table.Rows {
			got = append(got, [3]float64(row[:3]))
		}
		for i, generation := range []float64{0, 2, 4, 5, 10} {
			want = append(want, [3]float64{generation, float64(i+1) * episodes, 6 * generation})
		}
		want = append(want, [3]float64{11, 5 * episodes, 66})
		if !slices.Equal(got, want) {
			t.Errorf("%s: generations, evaluations and steps are %v, want %v", algorithm, got, want)
		}
		for i, row := range table.Rows {
			if steps := row[len(row)-2]; steps != 20*(row[1]+row[len(row)-1]*episodes) {
				t.Errorf("%s: %g steps of %g evaluations in row %d", algorithm, steps, row[1], i)
			}
			for k, x := range row[8 : len(row)-2] {
				if math.IsNaN(x) != (i == 0) {
					t.Errorf("%s: %s is %g in row %d", algorithm, columns[k], x, i)
				}
			}
		}
		if s := run.Status; s.Generation != 11 || s.EnvSteps != 66 || !s.Finished {
			t.Errorf("%s: %+v", algorithm, s)
		}

		left := must.Get(run.Skills())
		if left.Count != count || len(left.Fitnesses) != int(episodes) || len(left.Descriptors) != 2*int(
			episodes) || len(left.Trajectories) != 2*20*int(episodes) {
			t.Errorf("%s leaves %d skills of %d episodes, %d descriptors and %d positions", algorithm,
				left.Count, len(left.Fitnesses), len(left.Descriptors), len(left.Trajectories))
		}
		for i, which := range left.Which {
			if which != i%max(1, count) {
				t.Errorf("%s: episodes are of the skills %v", algorithm, left.Which)
			}
		}
		if (len(left.Extra) == 0) != (algorithm == "sac") {
			t.Errorf("%s leaves %d arrays of its diversity reward", algorithm, len(left.Extra))
		}

		repertoire := must.Get(run.Repertoire())
		stats := repertoire.Stats()
		if repertoire.Cells() != 32 || stats.Filled == 0 || stats.MaxFitness != run.Status.MaxFitness ||
			repertoire.Params != left.Params() {
			t.Errorf("%s: a repertoire of %d cells with %+v; the run says %+v", algorithm,
				repertoire.Cells(), stats, run.Status)
		}
		spec := PlaySpec{Seed: 1, Cells: []int{repertoire.Best()}}
		if played, err := Play(background, run, spec); err != nil || len(played.Results) != 1 ||
			len(played.Results[0].Recorded[0].Path) != 20 {
			t.Errorf("%s: replaying its best policy: %v", algorithm, err)
		}
	}
}

// Replacing one part turns an algorithm into another. DIAYN with the objective of DIAYN+REWARD is
// DIAYN+REWARD. So is DADS+REWARD with its diversity reward, on pointmaze, where no position is
// clipped.
func TestVariantsOfSkills(t *testing.T) {
	plain := train(t, smallDiscovery("diayn-reward", t.TempDir(), 8))
	objective := smallDiscovery("diayn", t.TempDir(), 8)
	// as published for pointmaze
	objective.Name = "mine"
	objective.Tune = objective.Tune.And(skilled(skills.Parts{Objective: skills.PlusReward{Scale: 2}}))
	diversity := smallDiscovery("dads-reward", t.TempDir(), 8)
	diversity.Name = "mine"
	diversity.Tune = diversity.Tune.And(skilled(skills.Parts{
		Diversity: skills.DIAYN{LearningRate: 0.01, Hidden: []int{8}}}))
	for _, spec := range []Spec{objective, diversity} {
		run := train(t, spec)
		if !bytes.Equal(finished(t, run), finished(t, plain)) {
			t.Errorf("a variant of %s is not DIAYN+REWARD", spec.Algorithm)
		}
		if run.Config.Algorithm != "mine" || !strings.HasPrefix(run.Name(), "mine-pointmaze-1-") {
			t.Errorf("it is called %s", run.Name())
		}
	}
	if other := train(t, smallDiscovery("diayn", t.TempDir(), 8)); bytes.Equal(finished(t, other),
		finished(t, plain)) {
		t.Error("DIAYN gives the same result: the test proves nothing")
	}
}

// Every algorithm has settings for every training environment of the paper. The settings of the
// reinforcement-learning family that differ between environments are the published ones (QDax,
// qdbenchmark/configs).
// METRA and CSF have their authors' skills for each robot, 50 updates for eight episodes of 200 steps, and
// none before there are 10 000 transitions.
func TestPublishedSettingsOfLaterSkills(t *testing.T) {
	type settings struct {
		Skills     int     `json:"num_skills"`
		Components int     `json:"continuous_skills"`
		Updates    float64 `json:"grad_updates_per_step"`
		Warmup     int     `json:"warmup_steps"`
		Rate       float64 `json:"learning_rate"`
	}
	for env, components := range map[string]int{"ant-uni": 2, "ant-omni": 2, "humanoid-omni": 2, "halfcheetah-uni": 0} {
		for algorithm, components := range map[string]int{"metra": components, "csf": 2} {
			config := must.Get(Spec{Algorithm: algorithm, Env: env}.Config())
			var got settings
			must.Do(json.Unmarshal(config.Hyperparameters, &got))
			if math.Abs(got.Updates/(50./1600)-1) > 0.05 {
				t.Errorf("%s on %s makes %g updates for each transition", algorithm, env, got.Updates)
			}
			got.Updates = 0
			if want := (settings{16, components, 0, 10_000, 1e-4}); got != want {
				t.Errorf("%s on %s: %+v, want %+v", algorithm, env, got, want)
			}
		}
	}
}

func TestPublishedSettings(t *testing.T) {
	type published struct {
		Scaling float64 `json:"reward_scaling"`
		Scale   float64 `json:"diversity_reward_scale"`
		Full    bool    `json:"descriptor_full_state"`
		Target  float64 `json:"smerl_target"`
		Margin  float64 `json:"smerl_margin"`
		Length  int     `json:"episode_length"`
	}
	type common struct {
		Environments int     `json:"env_batch_size"`
		Batch        int     `json:"batch_size"`
		Rate         float64 `json:"learning_rate"`
		Discount     float64 `json:"discount"`
		Tau          float64 `json:"tau"`
		Alpha        float64 `json:"alpha_init"`
		FixAlpha     bool    `json:"fix_alpha"`
		PerStep      float64 `json:"grad_updates_per_step"`
		Buffer       int     `json:"replay_buffer_size"`
		Cells        int     `json:"cells"`
		Samples      int     `json:"cvt_samples"`
		States       int     `json:"evaluation_states"`
		Skills       int     `json:"num_skills"`
	}
	for env, want := range map[string]published{
		"pointmaze":       {1, 2, false, -66, 6.6, 250},
		"ant-uni":         {10, 2, true, 1700, 170, 250},
		"ant-omni":        {1, 4, false, 249, 24.9, 250},
		"ant-trap":        {1, 2, false, 450, 45, 250},
		"ant-maze":        {1, 3, false, -6820, 682, 500},
		"walker-uni":      {10, 2, true, 1180, 118, 250},
		"halfcheetah-uni": {5, 2, true, 2050, 205, 250},
	} {
		folders := map[string]bool{}
		for _, algorithm := range Algorithms() {
			if must.Get(registry.Find(algorithm)).NeedsGradients() {
				continue
			}
			config, err := Spec{Algorithm: algorithm, Env: env}.Config()
			if err != nil {
				t.Errorf("%s on %s: %v", algorithm, env, err)
				continue
			}
			if config.Algorithm != algorithm || config.Env != env || folders[config.Name()] {
				t.Errorf("%s on %s is called %s", algorithm, env, config.Name())
			}
			folders[config.Name()] = true
			if slices.Contains(records.Names(records.Later), algorithm) || records.Of(algorithm).Evolves() || algorithm == "ppo" {
				continue // not of the family, or not in the paper
			}
			var got, expected = published{}, want
			var all common
			for _, into := range []any{&got, &all} {
				must.Do(json.Unmarshal(config.Hyperparameters, into))
			}
			usual := common{200, 256, 3e-4, 0.99, 0.005, 0.1, true, 1, 1_000_000, 1024, 50_000, 40, 5}
			if !strings.Contains(algorithm, "smerl") {
				expected.Target, expected.Margin = 0, 0
				if !strings.Contains(algorithm, "reward") {
					expected.Scale = 0
				}
			}
			if algorithm == "sac" {
				usual.Skills, expected.Full = 0, false
			}
			if got != expected || all != usual {
				t.Errorf("%s on %s has %+v and %+v, want %+v and %+v", algorithm, env, got, all, expected,
					usual)
			}
		}
	}
}
