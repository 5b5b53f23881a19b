package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"example.com/qdnb/xla/backend"
)

// The program downloads only plugins, and starts only the programs listed here.
func TestNoOtherWayOut(t *testing.T) {
	network := regexp.MustCompile(`^net($|/http|/rpc|/smtp|/textproto)|^os/exec$|go-xla/installer`)
	known := map[string][]string{
		// pip; Python's path; MuJoCo's compiler in Python, and MuJoCo to play gaits; ffmpeg, for films of these; qdnb
		// itself; qdnb for figures of the documents; the user's own simulator; git, for the commit
		"os/exec": {"internal/wheel/wheel.go", "xla/backend/plugin.go", "envs/mujoco/compiler/compiler.go",
			"envs/mujoco/compiler/python.go", "envs/mujoco/compiler/peer.go", "cmd/qdnb/play.go",
			"cmd/qdnb/sweep.go", "internal/docfigures/runs.go", "envs/process.go",
			"qdnb/session/machine.go"},
		"github.com/gomlx/go-xla/installer": {"xla/backend/plugin.go"},
	}
	root := filepath.Join("..", "..")
	count := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, path)
		if entry.IsDir() && (name == "build" || name == "tools" || name != "." && strings.HasPrefix(
			entry.Name(),
			".")) {
			return filepath.SkipDir
		}
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		count++
		for _, spec := range file.Imports {
			if imported, err := strconv.Unquote(spec.Path.Value); err == nil && network.MatchString(
				imported) && !slices.Contains(known[imported], filepath.ToSlash(name)) {
				t.Errorf("%s imports %s: if that reaches a network or starts a program, say so in "+
					"docs/reliability.md and here", name, imported)
			}
		}
		return nil
	})
	if err != nil || count < 100 {
		t.Errorf("%d files, %v", count, err)
	}
}

// After set-up, the program works without network access.
func TestWithoutNetwork(t *testing.T) {
	unshare := []string{"unshare", "--map-root-user", "--net"}
	if out, err := exec.Command(unshare[0], append(unshare[1:], "true")...).CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: a process without a network cannot be made here: %v %s", err, out)
	}
	t.Setenv(backend.BackendEnv, "") // XLA, whose plugin is not fetched again
	root := t.TempDir()
	for _, args := range [][]string{
		append([]string{"train", "--runs", root, "--generations", "2"}, small...),
		{"show", "map-elites-pointmaze-0", "--runs", root, "--figures", filepath.Join(root, "figures")},
		{"export", "--run", "map-elites-pointmaze-0", "--runs", root, "--out",
			filepath.Join(root, "exported.npz")},
		{"figures", "--only", "figure-1", "--out", filepath.Join(root, "figures")},
	} {
		out, err := exec.Command(unshare[0], append(append(slices.Clone(unshare[1:]), program),
			args...)...).CombinedOutput()
		if err != nil {
			t.Errorf("qdnb %s without a network: %v\n%s", strings.Join(args, " "), err, out)
		}
		if strings.Contains(string(out), "fetching") {
			t.Errorf("qdnb %s fetches:\n%s", args[0], out)
		}
	}
}
