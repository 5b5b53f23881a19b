package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb"
	"example.com/qdnb/qdnb/paper"
	"example.com/qdnb/qdnb/paper/experiments"
	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla/backend"
)

var (
	codeBlock = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	codeWords = regexp.MustCompile("`([^`\n]+)`")
	// command matches a shell line with a qdnb command and what may precede it.
	command = regexp.MustCompile(`^(?:\$ |[A-Z_]+=\S+ )*(?:for .*; do )?(?:[A-Z_]+=\S+ )*` +
		`(?:go run \./cmd/qdnb|build/qdnb|qdnb)(?: (.*))?$`)
)

// makeTarget matches a target of make in a page: in words or in a block of code.
var makeTarget = regexp.MustCompile("(?m)(?:`|^)make ([a-z0-9-]+)(?:`|$| +#| [A-Z])")

// quoted lists the qdnb commands in a page without their first word: complete commands from code
// blocks, and possibly partial commands from inline code.
func quoted(page string) (blocks, words []string) {
	for _, block := range codeBlock.FindAllString(page, -1) {
		block = strings.ReplaceAll(block, "\\\n", " ")
		for line := range strings.SplitSeq(block, "\n") {
			for part := range strings.SplitSeq(strings.ReplaceAll(line, "&&", "|"), "|") {
				if match := command.FindStringSubmatch(strings.TrimSpace(part)); match != nil {
					blocks = append(blocks, match[1])
				}
			}
		}
	}
	for _, match := range codeWords.FindAllStringSubmatch(codeBlock.ReplaceAllString(page, ""), -1) {
		if match := command.FindStringSubmatch(match[1]); match != nil {
			words = append(words, match[1])
		}
	}
	return blocks, words
}

// arguments splits a command as a shell does, up to a comment, a redirection or the next command.
func arguments(line string) (args []string) {
	word, open, quote := "", false, rune(0)
	end := func() {
		if open {
			args = append(args, word)
		}
		word, open = "", false
	}
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote, open = r, true
		case quote == 0 && (r == ' ' || r == '\t'):
			end()
		case quote == 0 && (strings.ContainsRune(">;|&", r) || r == '#' && !open):
			if r == '>' && (word == "2" || word == "1") {
				open = false
			}
			end()
			return args
		default:
			word, open = word+string(r), true
		}
	}
	end()
	return args
}

// parse parses a command of a page. A partial command may lack required arguments.
func parse(line string, whole bool) error {
	flags := cli
	parser := kong.Must(&flags, kong.Name("qdnb"), kong.Writers(io.Discard, io.Discard), kong.Exit(func(int) {}))
	var args []string
	for _, arg := range arguments(line) {
		if arg == "…" || arg == "..." { // stands for further arguments
			whole = false
			continue
		}
		args = append(args, arg)
	}
	if len(args) == 0 || args[0] == "--help" {
		return nil
	}
	_, err := parser.Parse(args)
	var wrong *kong.ParseError
	if errors.As(err, &wrong) && !whole && (strings.Contains(err.Error(),
		"missing flags") || strings.HasPrefix(err.Error(), "expected ") || strings.Contains(err.Error(), "no run given")) {
		return nil
	}
	if err != nil {
		return err
	}
	switch {
	case args[0] == "train": // names of algorithms, environments and settings
		spec := qdnb.Spec{Algorithm: flags.Train.Algorithm, Env: flags.Train.Env, Tune: runs.Assign(flags.Train.Set...)}
		if flags.Train.Robot != "" { // a file that is not here
			spec.Algorithm, spec.Env = cmp.Or(spec.Algorithm, "map-elites"), "pointmaze"
		}
		if flags.Train.Simulator != "" {
			spec.Environment = &envs.Simulator{Facts: must.Get(envs.Make("pointmaze")).Spec()}
			spec.Environment.(*envs.Simulator).Facts.Name = "simulated"
		}
		_, err = spec.Config()
	case args[0] == "sweep" && args[1] == "plan":
		p := flags.Sweep.Plan
		var targets []results.SMERLTarget
		if p.Targets != "" { // written by an earlier command of the page
			for _, env := range envs.Names() {
				targets = append(targets, results.SMERLTarget{Env: env, Target: 1, Margin: 1})
			}
		}
		for _, experiment := range p.Experiment {
			if err == nil && !strings.HasPrefix(experiment, "$") { // a variable of the page
				_, err = experiments.Plan(experiment, experiments.Options{Scale: experiments.Scale(p.Scale),
					Seeds: 1, Envs: p.Envs,
					Algorithms: p.Algorithms, Budget: p.Budget, Targets: targets})
			}
		}
	}
	return err
}

func TestQuotedCommandsAreRight(t *testing.T) {
	root, count := filepath.Join("..", ".."), 0
	targets := must.Get(exec.Command("make", "--no-print-directory", "-C", root).Output())
	check := func(path string) {
		data := must.Get(os.ReadFile(path))
		blocks, words := quoted(string(data))
		count += len(blocks)
		for _, line := range blocks {
			if err := parse(line, true); err != nil {
				t.Errorf("%s: qdnb %s: %v", path, line, err)
			}
		}
		for _, line := range words {
			if err := parse(line, false); err != nil {
				t.Errorf("%s: `qdnb %s`: %v", path, line, err)
			}
		}
		for _, target := range makeTarget.FindAllStringSubmatch(string(data), -1) {
			errtest.Contains(t, string(targets), "\n  make "+target[1]+" ")
		}
	}
	check(filepath.Join(root, "README.md"))
	check(filepath.Join(root, "ARCHITECTURE.md"))
	check(filepath.Join(root, "CONTRIBUTING.md"))
	must.Do(filepath.WalkDir(filepath.Join(root, "docs"), func(path string, _ fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".md" {
			check(path)
		}
		return err
	}))
	if count < 40 {
		t.Errorf("only %d commands were found", count)
	}
}

// The page on set-up tells how to train from a module outside the checkout.
func TestTrainFromAnotherModule(t *testing.T) {
	root := must.Get(filepath.Abs("../.."))
	page := must.Get(os.ReadFile(filepath.Join(root, "docs/reference/set-up.md")))
	_, commands, _ := strings.Cut(string(page), "```sh\ngo mod init")
	commands, _, _ = strings.Cut("go mod init"+commands, "```")
	dir := t.TempDir()
	source := `package main

import (
	"fmt"

	"example.com/qdnb/qdnb"
	"example.com/qdnb/qdnb/nb"
	"example.com/qdnb/qdnb/runs"
)

func main() {
	run := nb.Must(qdnb.Train(nb.Interruptible(), qdnb.Spec{
		Algorithm: "map-elites", Env: "pointmaze", Budget: qdnb.Generations(1),
		Tune: runs.Assign("batch=4", "hidden=[4]", "cells=8", "cvt_samples=100"),
	}))
	fmt.Println("generation", run.Status.Generation)
}
`
	must.Do(os.WriteFile(filepath.Join(dir, "main.go"), []byte(source), 0o666))
	cmd := exec.Command("bash", "-e", "-c", strings.ReplaceAll(commands, "=PATH", "="+root))
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "generation 1\n") {
		t.Errorf("%v: %s\n%s", err, commands, out)
	}
}

func TestExamplesOfTheHelpAreRight(t *testing.T) {
	texts, examples := helpTexts()
	for name, text := range texts { // the rest of a text that is not indented would replace its begin
		if text[0] >= 'a' && text[0] <= 'z' {
			t.Errorf("the help of %s begins in the middle: %s", name, text)
		}
	}
	odd := regexp.MustCompile(`=(INT|STRING|FLOAT)|--env=NAME --[^a]`)
	for path, lines := range examples {
		stdout, _, _ := invoke(t, append(strings.Fields(path), "--help")...)
		errtest.Equal(t, "types of Go, or flags that exclude each other, in the help", odd.FindString(stdout), "")
		for line := range strings.SplitSeq(strings.TrimSpace(lines), "\n") {
			rest, ok := strings.CutPrefix(strings.TrimSpace(line), "qdnb ")
			if err := parse(rest, true); err != nil || !ok || !strings.HasPrefix(rest, path) {
				t.Errorf("example of %s: %s: %v", path, line, err)
			}
		}
	}
	if stdout, _, status := invoke(t, "sweep", "plan",
		"--help"); status != 0 || !strings.Contains(stdout, " qdnb sweep plan --experiment adaptation") {
		t.Errorf("the help has no example: %s", stdout)
	}
}

// overlaid runs the go command in the repository with additional files, by their paths there.
func overlaid(t *testing.T, files map[string]string, args ...string) (string, error) {
	t.Helper()
	root, dir, replace := must.Get(filepath.Abs("../..")), t.TempDir(), map[string]string{}
	for path, text := range files {
		file := filepath.Join(dir, strings.ReplaceAll(path, "/", "_"))
		must.Do(os.WriteFile(file, []byte(text), 0o600))
		replace[filepath.Join(root, path)] = file
	}
	overlay := filepath.Join(dir, "overlay.json")
	must.Do(os.WriteFile(overlay, must.Get(json.Marshal(map[string]any{"Replace": replace})), 0o600))
	cmd := exec.Command("go", append([]string{args[0], "-overlay", overlay}, args[1:]...)...)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// The programs of guides run: that of environments with fewer generations, and that of figures with a shipped run, whose
// drawing it saves as the page says.
func TestProgramsOfGuides(t *testing.T) {
	dir, files := t.TempDir(), map[string]string{}
	for _, name := range []string{"add-an-environment", "figure-for-a-paper"} {
		page := must.Get(os.ReadFile(filepath.Join("../../docs/guides", name+".md")))
		program := regexp.MustCompile("(?s)```go\n(package main.*?)```").FindStringSubmatch(string(page))[1]
		files["pages/"+name+"/main.go"] = strings.Replace(program, "Generations(200)", "Generations(2)", 1)
	}
	out, err := overlaid(t, files, "build", "-ldflags=-w", "-o", dir+"/", "./pages/add-an-environment",
		"./pages/figure-for-a-paper")
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name, c := range map[string]struct{ runs, says string }{"add-an-environment": {"runs", "stands for"},
		"figure-for-a-paper": {must.Get(filepath.Abs("../../notebooks/results-skills/runs")), "drawing-1.png"}} {
		cmd := exec.Command(filepath.Join(dir, name))
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "QDNB_RUNS="+c.runs, "QDNB_FIGURES="+dir)
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), c.says) {
			t.Fatalf("%s: %v: %s", name, err, out)
		}
	}
	svg := string(must.Get(os.ReadFile(filepath.Join(dir, "repertoire.svg"))))
	errtest.Contains(t, svg, ">not reached<", ">x at the end<", ">Sum of rewards<", `width="238.11`)
	if pdf := string(must.Get(os.ReadFile(filepath.Join(dir, "repertoire.pdf")))); !strings.HasPrefix(pdf, "%PDF-") ||
		strings.Contains(svg, ">MAP-Elites on") {
		t.Errorf("the figure has its title, or the PDF begins with %.20q", pdf)
	}
}

// preludes declare what the blocks of a page use without saying where it comes from.
var preludes = map[string]string{
	"add-an-environment":   "var low envs.Env",
	"environments":         "var (env envs.Env; state envs.State; g *Graph)",
	"hierarchical-control": "var (ctx = context.Background(); maze envs.Env; skills envs.Skills)",
	"own-simulator": "var (ctx = context.Background(); simulator *envs.Simulator)\n" +
		"func throws(context.Context, [][]float32) ([]envs.Result, error) { return nil, nil }",
}

// The Go code of all pages compiles. Blocks of a page share their declarations, as cells of a notebook do.
func TestGoCodeOfPagesCompiles(t *testing.T) {
	root := must.Get(filepath.Abs("../.."))
	packages := map[string]string{"context": "context", "fmt": "fmt", "math": "math", "os": "os"}
	for _, pattern := range []string{"envs/*", "qdnb", "envs", "qdnb/*", "qdnb/algorithms/*", "qdnb/plot/*", "xla", "xla/*"} {
		for _, dir := range must.Get(filepath.Glob(filepath.Join(root, pattern))) {
			packages[filepath.Base(dir)] = "example.com/qdnb/" + must.Get(filepath.Rel(root, dir))
		}
	}
	files, args := map[string]string{}, []string{"build", "-gcflags=-e", "-o", os.DevNull}
	for _, pattern := range []string{"README.md", "docs/*.md", "docs/*/*.md"} {
		for _, path := range must.Get(filepath.Glob(filepath.Join(root, pattern))) {
			name := strings.TrimSuffix(filepath.Base(path), ".md")
			blocks := regexp.MustCompile("(?s)\n```go\n(.*?)\n```").FindAllStringSubmatch(string(must.Get(os.ReadFile(path))), -1)
			text := preludes[name] + "\n"
			for i, block := range blocks {
				if strings.HasPrefix(block[1], "package ") || strings.HasPrefix(block[1], "\t") {
					continue // a program, or a line of one: see the tests of guides
				}
				declared, run, cell := strings.Cut(block[1], "%%\n")
				if !cell {
					declared, run = "", block[1]
				}
				declared = regexp.MustCompile(`(?s)import (\(.*?\n\)|(\. )?"[^"]*")`).ReplaceAllString(declared, "")
				text += fmt.Sprintf("%s\nfunc block%d() {\n%s\n}\n", declared, i, run)
			}
			if !strings.Contains(text, "func block") {
				continue
			}
			imports := "package page // which is not linked\n\nimport . \"github.com/gomlx/gomlx/core/graph\"\n"
			seen := map[string]bool{}
			for _, match := range regexp.MustCompile(`\b([a-z]+)\.[A-Z]`).FindAllStringSubmatch(text, -1) {
				if path := packages[match[1]]; path != "" && !seen[match[1]] {
					imports += fmt.Sprintf("import %q\n", path)
				}
				seen[match[1]] = true
			}
			files["pages/"+name+"/page.go"] = imports + text
			args = append(args, "./pages/"+name)
		}
	}
	if len(args) < 4+6 {
		t.Errorf("only the pages %v have code", args)
	}
	out, _ := overlaid(t, files, args...)
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, "#") && !strings.Contains(line, "declared and not used") &&
			!strings.Contains(line, "imported and not used") {
			t.Error(strings.TrimSpace(line))
		}
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
		{"export", "--run", "map-elites-pointmaze-0", "--runs", root, "--out", filepath.Join(root, "exported.npz")},
		{"figures", "--only", "figure-1", "--out", filepath.Join(root, "figures")},
	} {
		out, err := exec.Command(unshare[0], append(append(slices.Clone(unshare[1:]), program), args...)...).CombinedOutput()
		if err != nil {
			t.Errorf("qdnb %s without a network: %v\n%s", strings.Join(args, " "), err, out)
		}
		if strings.Contains(string(out), "fetching") {
			t.Errorf("qdnb %s fetches:\n%s", args[0], out)
		}
	}
}

// A notebook's outputs are outdated if their runs are gone, trained further, replaced by other settings, or computed
// by other programs.
func TestNotebookCheckListsOutdatedOutputs(t *testing.T) {
	dir := t.TempDir()
	train := func(args ...string) (string, int64) {
		succeed(t, append([]string{"train", "-q", "--backend", "go", "--runs", filepath.Join(dir, "runs"), "--algorithm",
			"map-elites", "--env", "pointmaze", "--set", "hidden=[4]", "--set", "cells=16", "--set", "cvt_samples=100",
			"--set", "episode_length=5"}, args...)...)
		found, _, err := runs.Find(filepath.Join(dir, "runs"), "*")
		must.Do(err)
		newest := found[0]
		for _, run := range found {
			if run.Status.Updated.After(newest.Status.Updated) {
				newest = run
			}
		}
		return "runs/" + newest.Name(), newest.Status.Generation
	}
	small, generation := train("--set", "batch=8", "--generations", "2")
	large, _ := train("--set", "batch=16", "--generations", "2")
	file := filepath.Join(dir, "book.ipynb")
	check := func(outputs ...string) (stdout, stderr string, status int) {
		var cells []string
		for _, output := range outputs {
			cells = append(cells, `{"cell_type":"markdown","source":[]},{"cell_type":"code","outputs":[{"output_type":"stream"},
				{"output_type":"display_data","metadata":`+output+`}]}`)
		}
		must.Do(os.WriteFile(file, []byte(`{"cells":[`+strings.Join(cells, ",")+`]}`), 0o666))
		return invoke(t, "notebook", "check", file)
	}
	of := func(run string, generation int64) string {
		return fmt.Sprintf(`{"qdnb_runs":{%q:%d}}`, run, generation)
	}
	trained := func(run string) string { return strings.Replace(of(run, 2), "{", `{"qdnb_trained":"true",`, 1) }

	if stdout, stderr, status := check(trained(small), of(small, generation), `{}`); status != 0 ||
		stdout != "2 outputs name their runs; none that could be compared is outdated\n" {
		t.Errorf("status %d, %s%s", status, stdout, stderr)
	}
	both := fmt.Sprintf(`{"qdnb_runs":{%q:2,%q:2}}`, small, large)
	if stdout, stderr, status := check(trained(small), both); status != 0 {
		t.Errorf("a comparison of two settings: status %d, %s%s", status, stdout, stderr)
	}
	if stdout, stderr, status := check(of(small+"x", 2)); status != 0 ||
		!strings.HasPrefix(stdout, "outputs whose runs are not here: 1; ") {
		t.Errorf("a run that is not shipped: status %d, %s%s", status, stdout, stderr)
	}
	programs := filepath.Join(dir, large, "status.json")
	before := must.Get(os.ReadFile(programs))
	run := must.Get(runs.Open(filepath.Join(dir, large)))
	use := run.Status.Machines[0]
	must.Do(os.WriteFile(programs, []byte(strings.NewReplacer(use.Programs, "0123456789abcdef", use.Numbers,
		"fedcba9876543210").Replace(string(before))), 0o666))
	for _, test := range []struct {
		outputs []string
		says    string
	}{
		{[]string{of(small, 1)}, "is shown at generation 1 and is now at 2"},
		{[]string{`{}`, of(large, 2)},
			"cell 2: " + filepath.Base(large) + " was computed by other programs than today's"},
		{[]string{of(small, 1), of(small, 1)}, "cells 1, 2: " + filepath.Base(small) + " is shown at generation 1"},
		{[]string{trained(large), of(small, 2)}, "has other settings than " + filepath.Base(large) + ", which a cell trained"},
	} {
		stdout, stderr, status := check(test.outputs...)
		if status != 1 || !strings.Contains(stdout, test.says) || !strings.Contains(stderr, "are outdated: rerun their cells") {
			t.Errorf("status %d, %q%q, want %q", status, stdout, stderr, test.says)
		}
	}
	plan := must.Get(filepath.Abs("../../qdnb/paper/testdata/frozen"))
	identity := must.Get(paper.Open(plan)).Identity()
	if stdout, stderr, status := check(fmt.Sprintf(`{"qdnb_plans":{%q:%q}}`, plan, identity)); status != 0 {
		t.Errorf("a plan: status %d, %s%s", status, stdout, stderr)
	}
	for folder, says := range map[string]string{plan: "frozen is shown with 2 runs, 1a2b3c4d and now has " + identity,
		plan + "x": "frozenx is not there any more"} {
		stdout, _, status := check(fmt.Sprintf(`{"qdnb_plans":{%q:"2 runs, 1a2b3c4d"}}`, folder))
		if status != 1 || !strings.Contains(stdout, says) {
			t.Errorf("status %d, %q, want %q", status, stdout, says)
		}
	}
	// Runs of a shipped plan that other programs computed are said once, and are not outdated.
	shipped := filepath.Join(dir, "shipped")
	must.Do(os.CopyFS(shipped, os.DirFS(plan)))
	for _, status := range must.Get(filepath.Glob(filepath.Join(shipped, "runs", "*", "status.json"))) {
		text := string(must.Get(os.ReadFile(status)))
		must.Do(os.WriteFile(status, []byte(strings.ReplaceAll(text, `"version":`, `"programs": "0123456789abcdef", "version":`)),
			0o666))
	}
	shown := fmt.Sprintf(`{"qdnb_plans":{%q:%q}}`, shipped, must.Get(paper.Open(shipped)).Identity())
	stdout, stderr, status := check(shown, shown)
	if says := " shipped runs that were computed by other programs"; status != 0 || strings.Count(stdout, says) != 1 {
		t.Errorf("shipped runs of other programs: status %d, %s%s", status, stdout, stderr)
	}
	_, stderr, _ = check(of(small, 1), of(small+"x", 2))
	stdout, _, status = invoke(t, "notebook", "check", "--json", file)
	var list []outdatedOutput
	if must.Do(json.Unmarshal([]byte(stdout), &list)); status != 1 || len(list) != 2 || list[0].Cell != 1 ||
		list[0].Outdated[filepath.Base(small)] == "" || list[1].Absent[0] != filepath.Base(small)+"x" ||
		!strings.Contains(stderr, "1 of 2 outputs") {
		t.Errorf("status %d, %s%s", status, stdout, stderr)
	}
	must.Do(os.WriteFile(file, []byte(`{"cells":[1]}`), 0o666))
	refuses(t, mistake{[]string{"notebook", "check", file}, 1, "is not a notebook: cells has the wrong type (number)"},
		mistake{[]string{"notebook", "check", programs + "x"}, exitUsage, "no such file: give"},
		mistake{[]string{"notebook", "check", filepath.Join(dir, large, "metrics.csv")}, 1, "is not a notebook"},
		mistake{[]string{"notebook", "check", filepath.Join(dir, large, "config.json")}, 1, "it has no cells"})
}
