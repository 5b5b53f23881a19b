package results

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/runs"
)

// Shortcomings of a training run follow from its configuration and metrics, and also apply to runs
// that use its skills.
func TestShortcomings(t *testing.T) {
	for _, c := range []struct {
		algorithm, env, settings, metrics string
		generation, steps                 int64
		want                              string
	}{
		{"map-elites", "ant-uni", `{"episode_length":250,"cells":1024}`, "", 1, 1, ""},
		{"map-elites", "ant-uni", `{"batch":7}`, "", 1, 1, ""},
		{"map-elites", "ant-omni", `{"episode_length":50,"cells":32}`, "", 1, 1,
			"episodes of 50 steps, not 250; 32 cells, not 1024"},
		{"map-elites", "ant-maze", `{"episode_length":250,"cells":1024}`, "", 1, 1,
			"episodes of 250 steps, not 500"},
		{"aurora", "ant-uni", `{"loop":10}`, "", 19, 1,
			"the auto-encoder was not retrained (generation 19 of 20)"},
		{"aurora", "ant-uni", `{"loop":10}`, "", 20, 1, ""},
		{"dads-reward", "ant-uni", `{"evaluation_interval":100000}`, "", 1, 99_800,
			"skills were not evaluated on schedule (99800 of 100000 steps)"},
		{"smerl-dads", "ant-uni", `{}`, "accepted_share\nnan\n0\n", 1, 1, "SMERL's gate never opened"},
		{"smerl-dads", "ant-uni", `{}`, "accepted_share\nnan\n0\n0.01\n", 1, 1, ""},
		{"diayn-reward", "ant-uni", `{}`, "accepted_share\nnan\n0\n", 1, 1, ""},
	} {
		dir := t.TempDir()
		if c.metrics != "" {
			must.Do(os.WriteFile(filepath.Join(dir, "metrics.csv"), []byte(c.metrics), 0o666))
		}
		run := &runs.Run{Dir: dir, Config: runs.Config{Algorithm: c.algorithm, Env: c.env,
			Hyperparameters: json.RawMessage(c.settings)},
			Status: runs.Status{Progress: runs.Progress{Generation: c.generation, EnvSteps: c.steps}}}
		short, err := shortcomings(run)
		if got := strings.Join(short, "; "); err != nil || got != c.want {
			t.Errorf("%s on %s with %s: %q, %v; want %q", c.algorithm, c.env, c.settings, got, err, c.want)
		}
	}

	root := t.TempDir()
	trained := runs.Config{Algorithm: "map-elites", Env: "ant-uni",
		Hyperparameters: json.RawMessage(`{"cells":32}`)}
	w, err := runs.Create(root, trained)
	if err == nil {
		err = w.Close()
	}
	must.Do(err)
	for skills, want := range map[string]string{trained.Name(): "32 cells, not 1024",
		"gone": "the training run of its skills is missing"} {
		short, err := skillsShortcomings(&runs.Run{Dir: filepath.Join(root, "adaptation"),
			Config: runs.Config{Hyperparameters: json.RawMessage(`{"skills":"` + skills + `"}`)}})
		if err != nil || len(short) != 1 || short[0] != want {
			t.Errorf("skills of %s: %v, %v; want %q", skills, short, err, want)
		}
	}
}
