package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/paper"
	"example.com/qdnb/qdnb/paper/sweep"
)

// experimentsFolder writes made-up training runs of two methods on ant-trap.
func experimentsFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	var lines []sweep.Line
	for seed := range int64(3) {
		for algorithm, fitness := range map[string]float64{"map-elites": 381, "dads-reward": 1280} {
			lines = append(lines, made(t, filepath.Join(dir, paper.RunsFolder), algorithm, seed,
				fitness+float64(seed), 50+float64(seed)))
		}
	}
	file := must.Get(os.Create(filepath.Join(dir, paper.PlanFile)))
	must.Do(sweep.Write(file, lines))
	must.Do(file.Close())
	return dir
}

func TestFigures(t *testing.T) {
	dir, out := experimentsFolder(t), filepath.Join(t.TempDir(), "figures")
	stdout, _ := succeed(t, "figures", "--in", dir, "--out", out, "--only", "fig 6,table-1,table-3", "--format",
		"png,svg,pdf")
	for name, begins := range map[string]string{
		"figure-6.png": "\x89PNG", "figure-6.svg": "<?xml", "figure-6.pdf": "%PDF", "table-1.md": "",
		"table-1.csv": "", "table-1.tex": "", "table-3.md": "",
	} {
		data, err := os.ReadFile(filepath.Join(out, name))
		if err != nil || len(data) == 0 || !strings.HasPrefix(string(data),
			begins) || !strings.Contains(stdout, name) {
			t.Errorf("%s: %d bytes, %v; output %q", name, len(data), err, stdout)
		}
	}
	text := string(must.Get(os.ReadFile(filepath.Join(out, "table-1.csv"))))
	if !strings.Contains(text, "382") || !strings.Contains(text, "1280") { // the medians over seeds
		t.Errorf("table 1 is\n%s", text)
	}
}

// Each failure is reported in one line, and the other items are still drawn.
func TestFiguresOfMissingRuns(t *testing.T) {
	dir, out := experimentsFolder(t), filepath.Join(t.TempDir(), "figures")
	_, stderr, status := invoke(t, "figures", "--in", dir, "--out", out, "--only", "figure-5,table-1")
	if status != 1 || !strings.Contains(stderr, "figure-5") || !strings.Contains(stderr,
		"failed to draw 1 of 2 items") {
		t.Errorf("status %d: %s", status, stderr)
	}
	must.Get(os.Stat(filepath.Join(out, "table-1.md")))
	for _, c := range []mistake{
		{[]string{"--in", t.TempDir()}, 1, "make experiments"},
		{[]string{"--in", dir, "--only", "figure-99"}, 1, "figure-99"},
		{[]string{"--in", dir, "--experiment", "smerl-targets"}, 1,
			"no selected figure or table uses the experiment smerl-targets"},
		{[]string{"--in", dir, "--only", "figure-2", "--experiment", "hurdles,prior"}, 1,
			"uses the experiment hurdles or prior"},
		{[]string{"--in", dir, "--experiment", "trainig"}, 1, `"training"`},
		{[]string{"--in", dir, "--only", "table-3", "--tables", "xls"}, 1, "xls"},
		{[]string{"--in", dir, "--only", "table-3", "--out", filepath.Join(dir, paper.PlanFile)}, 1,
			"choose another one"},
	} {
		c.args = append([]string{"figures"}, c.args...)
		refuses(t, c)
	}
	// Items that are the same for all runs need no runs.
	succeed(t, "figures", "--in", t.TempDir(), "--out", out, "--only", "table-2")
}
