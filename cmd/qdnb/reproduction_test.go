package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/paper"
)

// The committed page is what the command writes from the shipped runs.
func TestCommittedPage(t *testing.T) {
	root, out := filepath.Join("..", ".."), t.TempDir()
	shipped := filepath.Join(root, "notebooks", "results")
	succeed(t, "reproduction", "--in", shipped, "--in", shipped+"-paper", "--out", out)
	if string(must.Get(os.ReadFile(filepath.Join(out, "reproduction.md")))) !=
		string(must.Get(os.ReadFile(filepath.Join(root, "docs", "reproduction.md")))) {
		t.Error("docs/reproduction.md is out of date: run `make reproduction`")
	}
}

func TestReproductionCommand(t *testing.T) {
	dir := experimentsFolder(t)
	out := filepath.Join(t.TempDir(), "docs")
	stdout, stderr := succeed(t, "reproduction", "--in", dir, "--in", experimentsFolder(t), "--out", out)
	if stderr != "" || strings.Count(stdout, "\n") != 2 {
		t.Fatalf("%q, %s", stdout, stderr)
	}
	page := string(must.Get(os.ReadFile(filepath.Join(out, "reproduction.md"))))
	picture, err := os.ReadFile(filepath.Join(out, "reproduction.png"))
	if err != nil || !strings.HasPrefix(string(picture), "\x89PNG") {
		t.Errorf("the figure: %v", err)
	}
	if got := strings.Count(page, " 1280 = (1280) |"); got != 2 {
		t.Errorf("the page has the number of DADS+REWARD %d times:\n%s", got, page)
	}

	entries := must.Get(os.ReadDir(filepath.Join(dir, paper.RunsFolder)))
	damaged := filepath.Join(dir, paper.RunsFolder, entries[0].Name(), "status.json")
	must.Do(os.WriteFile(damaged, []byte("{"), 0o666))
	out = filepath.Join(t.TempDir(), "docs")
	for in, want := range map[string]string{dir: damaged, t.TempDir(): "has no plan.jsonl",
		filepath.Join(dir, "none"): "has no plan.jsonl"} {
		refuses(t, mistake{[]string{"reproduction", "--in", in, "--out", out}, 1, want})
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a page was written although a run is damaged")
	}
}
