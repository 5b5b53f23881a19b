package qdnb_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/robots"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb"
	"example.com/qdnb/qdnb/algorithms/evolution"
	"example.com/qdnb/qdnb/nb"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/policies"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/stats"
	"example.com/qdnb/qdnb/watch"
	"example.com/qdnb/xla/random"
)

func train(t *testing.T, spec qdnb.Spec) *runs.Run {
	t.Helper()
	spec.Runs, spec.Backend, spec.Quiet = t.TempDir(), qdnb.Device(), true
	if spec.Algorithm == "" {
		spec.Algorithm, spec.Env = "map-elites", "pointmaze"
	}
	run := must.Get(qdnb.Train(context.Background(), spec))
	s := run.Status
	t.Logf("%s on %s, seed %d: generation %d, max fitness %.1f, coverage %.1f %%, QD score %.4g, %.0f s on %s",
		spec.Algorithm, spec.Env, spec.Seed, s.Generation, s.MaxFitness, s.Coverage, s.QDScore, s.Seconds, s.Backend)
	return run
}

// Short runs learn: they reach a fitness and a coverage, and multiply the QD score of the first, random policies.
func TestShortRunsLearn(t *testing.T) {
	lowest := math.Inf(-1)
	mutation := []string{"batch=64", "iso_sigma=0.05", "line_sigma=0.1"}
	for _, c := range []struct {
		algorithm, env           string
		generations              int
		set                      []string
		fitness, coverage, times float64
	}{
		// These fill most cells before the second wall. A hundred random policies fill a twentieth of the cells.
		{"map-elites", "pointmaze", 40, []string{"batch=100", "hidden=[64,64]"}, lowest, 30, 6},
		// The best hoppers earn 264 and 286 with seeds 0 and 1, those of the first, random ones 150 and 176.
		{"map-elites", "hopper-uni", 20, []string{"batch=100", "cells=128", "hidden=[32,32]"}, 220, 60, 2},
		// The best half-cheetahs of Gymnasium earn 218 to 538 with seeds 0 to 2, those of the first, random ones -8 to 73.
		{"map-elites", "HalfCheetah-v5", 30, mutation, 150, 0, 2},
		{"cma-mae", "HalfCheetah-v5", 60, []string{"batch=60"}, 150, 0, 2},
		{"pga-map-elites", "HalfCheetah-v5", 60, append([]string{"critic_hidden=[32,32]", "replay_buffer_size=100000",
			"num_critic_training_steps=50", "num_pg_training_steps=10"}, mutation...), 150, 0, 2},
	} {
		t.Run(c.algorithm+" on "+c.env, func(t *testing.T) {
			if c.algorithm != "map-elites" { // XLA compiles each for half a minute
				long(t)
			}
			if c.env == "HalfCheetah-v5" {
				c.set = append(c.set, "cells=64", "hidden=[32,32]", "episode_length=200")
			}
			run := train(t, qdnb.Spec{Algorithm: c.algorithm, Env: c.env, Budget: qdnb.Generations(c.generations),
				Tune: runs.Assign(c.set...)})
			first, last := must.Get(must.Get(run.Metrics()).Column("qd_score"))[0], run.Status
			if last.MaxFitness < c.fitness || last.Coverage < c.coverage || last.QDScore < c.times*first {
				t.Errorf("from a QD score of %.4g to %+v", first, last)
			}
		})
	}
}

// long skips tests that take minutes, unless they are enabled.
func long(t *testing.T) {
	t.Helper()
	if os.Getenv("QDNB_LONG") == "" {
		t.Skip("SKIPPED: it trains for minutes; `make test-long`, or QDNB_LONG=1, runs it")
	}
}

// Medians over seeds of what runs reach, and a column that falls. See the comments for what QDax and the paper reach.
func TestRunsReachWhatIsPublished(t *testing.T) {
	long(t)
	lowest := math.Inf(-1)
	generations := func(n int64) runs.Budget { return runs.Budget{Generations: n} }
	steps := func(n int64) runs.Budget { return runs.Budget{EnvSteps: n} }
	for _, c := range []struct {
		algorithm, env           string
		seeds                    int64
		budget                   runs.Budget
		set                      []string
		fitness, coverage, score float64
		falls                    string
		from, to                 float64
	}{
		// QDax at generation 100 of 1000 policies: -128, 73.7 %, 2.51e5 with one seed
		{"map-elites", "pointmaze", 5, generations(100), nil, -170, 68, 2.25e5, "", 0, 0},
		// The paper's level is a max fitness of about -25 and a QD score of about 4.2e5, after some 6400 generations.
		// The generation at which the room at the top left is found varies by seed; seed 0 finds it near generation 1100.
		{"map-elites", "pointmaze", 1, generations(2000), nil, -27, 0, 3.9e5, "", 0, 0},
		// AURORA fills the measured grid without using it.
		{"aurora", "pointmaze", 1, generations(1000), nil, lowest, 70, 2.5e5, "", 0, 0},
		// Twelve seeds of QDax's MAP-Elites end with a max fitness of 222 to 297, a coverage of 33 to 48 % (42.8 on average)
		// and a QD score of 1.42 to 2.23e5; two of its PGA-MAP-Elites at 337 and 244, 57.9 and 47.6 %, 2.64 and 2.07e5.
		{"map-elites", "walker-uni", 3, generations(30), []string{"batch=100"}, 220, 37, 1.7e5, "", 0, 0},
		{"pga-map-elites", "walker-uni", 3, generations(30), []string{"batch=100"}, 220, 37, 1.7e5, "", 0, 0},
		// QDax's DIAYN+REWARD ends with a passive repertoire of max fitness 260 to 280, coverage 22 to 32 % and QD
		// score 1.0 to 1.35e5, and its discriminator's loss falls from about 1.1 to 0.2 or 0.3; its DADS+REWARD at
		// 266, 27.5 % and 1.24e5.
		{"diayn-reward", "walker-uni", 1, steps(30_000), nil, 180, 18, 0.8e5, "discriminator_loss", 0.5, 0.4},
		{"dads-reward", "walker-uni", 1, steps(30_000), nil, 180, 18, 0.8e5, "dynamics_loss", lowest, math.Inf(1)},
		// Rewards of pointmaze are negative, so partial returns fall below SMERL's target: its gate closes.
		{"smerl-diayn", "pointmaze", 1, steps(20_000), []string{"hidden=[64,64]", "diversity_hidden=[64,64]"}, lowest, 0, lowest,
			"accepted_share", 0.5, 0.05},
	} {
		t.Run(fmt.Sprintf("%s on %s after %v", c.algorithm, c.env, c.budget), func(t *testing.T) {
			var fitness, coverage, score []float64
			for seed := range c.seeds {
				run := train(t, qdnb.Spec{Algorithm: c.algorithm, Env: c.env, Seed: seed, Tune: runs.Assign(c.set...),
					Budget: c.budget})
				s := run.Status
				fitness, coverage, score = append(fitness, s.MaxFitness), append(coverage, s.Coverage), append(score, s.QDScore)
				if c.falls == "" {
					continue
				}
				values := must.Get(must.Get(run.Metrics()).Column(c.falls)) // the first row is from before learning
				if first, last := values[1], values[len(values)-1]; !(last < first) || first < c.from || last > c.to {
					t.Errorf("the %s goes from %.3f to %.3f", c.falls, first, last)
				}
			}
			if median(fitness) < c.fitness || median(coverage) < c.coverage || median(score) < c.score {
				t.Errorf("max fitness %.0f, coverage %.1f %%, QD score %.3g", median(fitness), median(coverage), median(score))
			}
		})
	}
}

// SAC finds a trajectory around both walls if exploration gets behind them, as random actions do in long episodes. With
// the paper's settings it learns to stand below the upper wall, where it only sees a fitness of -156.
func TestSACSolvesPointmaze(t *testing.T) {
	long(t)
	run := train(t, qdnb.Spec{Algorithm: "sac", Env: "pointmaze", Tune: runs.Assign(
		"hidden=128,128", "learning_rate=0.001", "episode_length=2000", "warmup_steps=800000",
		"grad_updates_per_step=0.5",
		"early_interval=0", "evaluation_interval=20000"), Budget: runs.Budget{EnvSteps: 900_000}})
	found := must.Get(qdnb.Play(context.Background(), run, qdnb.PlaySpec{Episodes: 100}))
	if mean := found.Results[0].Mean(); mean < -40 {
		t.Errorf("from a hundred starts the policy's mean fitness is %.1f", mean)
	}
}

func median(x []float64) float64 {
	slices.Sort(x)
	return x[len(x)/2]
}

// With 20 000 evaluations PGA-MAP-Elites finds better walkers than MAP-Elites, by the median of
// three seeds. The networks are small, so that the test takes minutes.
func TestPolicyGradientsFindBetterWalkers(t *testing.T) {
	long(t)
	best := func(algorithm string, set ...string) float64 {
		var fitness []float64
		for seed := range int64(3) {
			fitness = append(fitness, train(t, qdnb.Spec{
				Algorithm: algorithm, Env: "walker-uni", Seed: seed,
				Tune:   runs.Assign(append(set, "batch=100", "hidden=[64,64]")...),
				Budget: runs.Budget{Evaluations: 20_000},
			}).Status.MaxFitness)
		}
		return median(fitness)
	}
	if pga, me := best("pga-map-elites", "critic_hidden=[128,128]"), best("map-elites"); pga <= me {
		t.Errorf("max fitness %.1f with policy gradients, %.1f without", pga, me)
	}
}

// A gait walks as far in MuJoCo as here, in the mean of 64 episodes from the same states, and as evenly.
func TestGaitsWalkAsFarInMuJoCo(t *testing.T) {
	if os.Getenv("QDNB_MUJOCO") == "" {
		t.Skip("SKIPPED: QDNB_MUJOCO=1 runs the tests that fetch MuJoCo")
	}
	run := train(t, qdnb.Spec{Algorithm: "map-elites", Budget: qdnb.Generations(12),
		Environment: must.Get(envs.RobotTask{Name: "go1"}.Environment(robots.Go1())),
		Tune:        runs.Assign("batch=128", "cells=128", "hidden=[16]", "iso_sigma=0.05", "line_sigma=0.1")})
	played := must.Get(watch.InMuJoCo(t.Context(), run, watch.PeerSpec{Cell: -1, Episodes: 64}))
	here, there := played.Here.Distances, played.Same.Distances
	spread := math.Hypot(stats.Std(here), stats.Std(there)) / 8
	t.Logf("%.2f ± %.2f m here, %.2f ± %.2f m in MuJoCo, with all contacts %.2f m", stats.Mean(here), stats.Std(here),
		stats.Mean(there), stats.Std(there), stats.Mean(played.MuJoCo.Distances))
	if stats.Mean(here) < 0.3 {
		t.Errorf("the gait walks %.2f m: nothing is compared", stats.Mean(here))
	}
	if difference := stats.Mean(here) - stats.Mean(there); math.Abs(difference) > 4*spread {
		t.Errorf("the distances differ by %.2f m, %.1f standard errors", difference, difference/spread)
	}
}

// crossover takes each parameter from one of two parents and adds noise.
func crossover(parents evolution.Parents, keys random.Key) *Node {
	x1, x2 := parents.Sample(keys.FoldIn(0)), parents.Sample(keys.FoldIn(1)) // [children, params]
	dims := x1.Shape().Dimensions
	coin := keys.FoldIn(2).Uniform(0, 1, dims...)
	mixed := Where(LessThan(coin, ConstAs(coin, 0.5)), x1, x2)
	return Add(mixed, MulScalar(keys.FoldIn(3).Normal(dims...), 0.005))
}

// crossed replaces Iso+LineDD by a crossover.
var crossed = qdnb.Tune(func(h *evolution.MapElites) {
	h.Mix = evolution.Mix{{Emitter: evolution.Stateless(crossover), Of: 1}}
})

// strategies are separable CMA-ES.
func strategies(number int) evolution.Emitter {
	return evolution.StrategySettings{Emitters: number, Sigma0: 0.5}.Emitter()
}

// onGrid fills MAP-Elites' grid by evolution strategies.
var onGrid = qdnb.Tune(func(h *evolution.MapElites) {
	h.Mix = evolution.Mix{{Emitter: strategies(4), Of: 1}}
})

// mixed fills AURORA's archive by policy gradients and evolution strategies.
var mixed = qdnb.Tune(func(h *evolution.MapElites) {
	h.Mix[1] = evolution.Share{Emitter: strategies(2), Of: 0.5}
})

// variant is a small run of an algorithm with custom parts.
func variant(folder, name, algorithm string, parts qdnb.Tuning) qdnb.Spec {
	set := []string{"batch=16", "cells=32", "cvt_samples=500", "hidden=[8]", "episode_length=20"}
	if algorithm == "pga-aurora" {
		set = append(set, "critic_hidden=[8]", "replay_buffer_size=1000", "num_critic_training_steps=4",
			"num_pg_training_steps=3", "transitions_batch_size=16", "capacity=24", "sampling=5", "loop=2",
			"epochs=3", "late_epochs=2", "training_batch=8", "latent=2", "threshold=0.01")
	}
	return qdnb.Spec{
		Algorithm: algorithm, Env: "pointmaze", Seed: 1, Budget: qdnb.Generations(5), Name: name,
		Tune: qdnb.Tuning(runs.Assign(set...)).And(parts), Runs: folder, Backend: "go", Quiet: true,
	}
}

// Variants, loops and learners of users are resumed to the bit, drawn, played and trained with several seeds, like any
// algorithm.
func TestVariants(t *testing.T) {
	looping := func(name, backend string) func() qdnb.Spec {
		return func() qdnb.Spec {
			return qdnb.Spec{Name: name, Env: "pointmaze", Backend: backend, Quiet: true, Loop: loops[name]()}
		}
	}
	of := func(name, algorithm string, parts qdnb.Tuning) func() qdnb.Spec {
		return func() qdnb.Spec { return variant("", name, algorithm, parts) }
	}
	for name, spec := range map[string]func() qdnb.Spec{
		"crossover": of("crossover", "map-elites", crossed), "cma-me": of("cma-me", "map-elites", onGrid),
		"pga-cma-aurora":    of("pga-cma-aurora", "pga-aurora", mixed),
		"local-competition": of("local-competition", "map-elites", competing),
		"novelty-ga":        looping("novelty-ga", "go"), "grid-loop": looping("grid-loop", "go"),
		"grid-loop on XLA": looping("grid-loop", qdnb.Device()),
		"rule": func() qdnb.Spec {
			d := defaultDQN()
			d.Batch, d.Buffer, d.Environments, d.Unroll, d.Hidden, d.EpisodeLength = 4, 20, 2, 3, []int{4}, 5
			return qdnb.Spec{Name: "dqn", Environment: cartPole{}, Loop: d, Backend: "go", Quiet: true}
		},
	} {
		t.Run(name, func(t *testing.T) {
			sized := func(folder string, generations int) qdnb.Spec {
				spec := spec()
				spec.Runs, spec.Budget = folder, qdnb.Generations(generations)
				return spec
			}
			whole := qdnb.Resumes(t, qdnb.Training(sized), 3, 6)
			other := sized(t.TempDir(), 6)
			other.Seed = 2
			list := []*runs.Run{whole, must.Get(qdnb.Train(t.Context(), other))}
			if slices.Equal(must.Get(whole.Repertoire()).Genotypes, must.Get(list[1].Repertoire()).Genotypes) {
				t.Error("two seeds end the same")
			}
			must.Get(qdnb.Play(t.Context(), whole, qdnb.PlaySpec{Environment: other.Environment, Backend: other.Backend}))
			must.Get(figures.Metrics(list, figures.Evaluations))
			must.Get(figures.Repertoire(whole))
		})
	}
}

// The example discovers running skills, trains a meta-controller that chooses among them to pass
// hurdles, and draws one of its episodes. At the paper's sizes, without Tune, this takes hours.
func ExampleControl() {
	skills := nb.Must(qdnb.Train(context.Background(), qdnb.Spec{
		Algorithm: "map-elites", Env: "halfcheetah-uni", Budget: qdnb.Generations(100),
		Tune: qdnb.Tune(func(h *evolution.MapElites) {
			h.Batch, h.Cells, h.Hidden = 200, 128, []int{64, 64}
		}),
	}))
	run := nb.Must(qdnb.Control(context.Background(), qdnb.ControlSpec{
		Skills: skills, Budget: qdnb.Generations(50),
		Tune: qdnb.Tune(func(h *policies.MetaController) {
			h.NumEnvs, h.BatchSize, h.NumMinibatches, h.LearningRate = 64, 32, 4, 1e-3
		}),
	}))
	recording := nb.Must(qdnb.Play(context.Background(), run, qdnb.PlaySpec{}))
	played := recording.Results[0]
	fmt.Println(played.Fitnesses[0], played.Recorded[0].Choices.Hurdles)
	nb.Check(nb.Must(recording.Trajectories()).Save("episode.pdf"))
}
