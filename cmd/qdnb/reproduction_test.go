package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/paper"
)

func TestRecordCommand(t *testing.T) {
	dir, other := experimentsFolder(t), experimentsFolder(t)
	var pages [2]string
	for i, in := range []string{dir, filepath.Join(dir, paper.PlanFile)} {
		out := filepath.Join(t.TempDir(), "docs")
		stdout, stderr, status := invoke(t, "reproduction", "--in", in, "--in", other, "--out", out)
		if status != 0 || stderr != "" || strings.Count(stdout, "\n") != 2 {
			t.Fatalf("status %d, %q, %s", status, stdout, stderr)
		}
		data := must.Get(os.ReadFile(filepath.Join(out, "reproduction.md")))
		pages[i] = string(data)
		picture, err := os.ReadFile(filepath.Join(out, "reproduction.png"))
		if err != nil || !strings.HasPrefix(string(picture), "\x89PNG") {
			t.Errorf("the figure: %v", err)
		}
	}
	if pages[0] != pages[1] {
		t.Error("the page of a folder and that of its plan differ")
	}
	for text, count := range map[string]int{"\n## Scale ": 2, "2 of 56 cells have complete runs.": 2,
		"| 1280 (± 410) | 1280 (± 0.816), inside |": 2} {
		if got := strings.Count(pages[0], text); got != count {
			t.Errorf("%q is %d times in the page, not %d", text, got, count)
		}
	}

	entries := must.Get(os.ReadDir(filepath.Join(dir, paper.RunsFolder)))
	damaged := filepath.Join(dir, paper.RunsFolder, entries[0].Name(), "status.json")
	must.Do(os.WriteFile(damaged, []byte("{"), 0o666))
	out := filepath.Join(t.TempDir(), "docs")
	for in, want := range map[string]string{dir: damaged, t.TempDir(): "has no plan.jsonl",
		filepath.Join(dir, "none"): "has no plan.jsonl"} {
		_, stderr, status := invoke(t, "reproduction", "--in", in, "--out", out)
		if status != 1 || !strings.Contains(stderr, want) ||
			strings.Contains(strings.TrimSpace(stderr), "\n") {
			t.Errorf("%s: status %d, %q; want %q in a line", in, status, stderr, want)
		}
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a page was written although a run is damaged")
	}
}
