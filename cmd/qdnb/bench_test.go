package main

import (
	"encoding/json"
	"strings"
	"testing"

	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla/backend"
)

func TestBench(t *testing.T) {
	fast := xlatest.Best(t).Kind != backend.Go && !testing.Short()
	for _, c := range []struct {
		args     string
		positive string         // names of numbers
		want     map[string]any // other values
	}{
		{"generation --warmup 1 --generations 2 --set batch=16 --set cells=32 --set cvt_samples=500 " +
			"--set hidden=[8,8] --set episode_length=20", "generation_s", nil},
		{"rollout --env walker-uni --batch 5 --steps 3 --repeats 1 --backend go",
			"best_s env_steps_per_s compile_seconds memory_bytes",
			map[string]any{"env": "walker-uni", "batch": 5., "steps": 3., "backend": "go"}},
		{"rollout --env ../../envs/mujoco/testdata/accepted/gym_hopper_model.json --batch 2 --steps 2 --repeats 1 --backend go",
			"env_steps_per_s", nil},
		{"insertion --batch 20 --better 6 --repeats 2", "best_s entered", map[string]any{"params": 90376.}},
		{"adaptation --env walker-uni --policies 3 --episodes 2 --values 2 --steps 4 --repeats 1",
			"best_s whole_s env_steps_per_s", map[string]any{"batch": 6.}},
		{"training --algorithm diayn --env pointmaze --warmup 1 --generations 2 --set env_batch_size=5 " +
			"--set hidden=[8] --set batch_size=8 --set replay_buffer_size=65", "generation_s checkpoint_s", nil},
		{"ceilings", "products_gflops shared_gflops arithmetic_gflops cache_gbs memory_gbs", nil},
	} {
		if c.args == "ceilings" && !fast { // they take some seconds, on XLA
			continue
		}
		var found map[string]any
		answer(t, &found, append(append([]string{"bench"}, strings.Fields(c.args)...), "--json")...)
		for _, name := range strings.Fields(c.positive) {
			if x, ok := found[name].(float64); !ok || x <= 0 {
				t.Errorf("%s: %s is %v", c.args, name, found[name])
			}
		}
		for name, want := range c.want {
			if found[name] != want {
				t.Errorf("%s: %s is %v, want %v", c.args, name, found[name], want)
			}
		}
	}
}

func TestMistakesOfBench(t *testing.T) {
	for args, want := range map[string]string{
		"rollout --env pointmaze --batch 0":                     "at least 1 policy",
		"rollout --env ant-umi":                                 `did you mean "ant-uni"?`,
		"rollout":                                               "missing flags: --env",
		"rollout --env ../../envs/robots/robots.txt":            "no such file",
		"rollout --env pointmaze --steps 0":                     "needs at least 1 policy, 1 st",
		"insertion --batch 3 --better 4":                        "not 3 and 4",
		"adaptation --values 21":                                "not 21",
		"adaptation --env walker-uni --policies 0":              "not 0 and",
		"adaptation --env walker-uni --policies 1 --episodes 0": "and 0",
		"adaptation --env pointmaze":                            "pointmaze",
		"ceilings":                                              "plugin",
	} {
		_, stderr, status := invoke(t, append([]string{"bench"},
			strings.Fields(args+" --backend go")...)...)
		if status == 0 || !strings.Contains(stderr, want) ||
			strings.Count(strings.TrimSpace(stderr), "\n") != 0 {
			t.Errorf("bench %s: status %d, %q, want %q", args, status, stderr, want)
		}
	}
}

// The numbers can be read without --json, too.
func TestBenchInLines(t *testing.T) {
	stdout, _, _ := invoke(t, "bench", "insertion", "--batch", "2", "--better", "1", "--repeats", "1")
	if !json.Valid([]byte(stdout)) || strings.Count(stdout, "\n") < 5 {
		t.Errorf("%s", stdout)
	}
}
