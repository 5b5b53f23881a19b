package paper

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"example.com/qdnb/internal/lists"
	"example.com/qdnb/internal/names"
	"example.com/qdnb/qdnb/algorithms/records"
	"example.com/qdnb/qdnb/paper/protocol"
	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/paper/sweep"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/runs"
)

// longHash matches a commit's full hash, and its first seven digits, which name it.
var longHash = regexp.MustCompile(`\b([0-9a-f]{7})[0-9a-f]{33}\b`)

// ShortHash shortens the hashes of commits in a text to seven digits.
func ShortHash(text string) string { return longHash.ReplaceAllString(text, "$1") }

// Summary describes the runs of some experiments in a few lines of at most 100 characters: their
// origin and size, their methods, environments and seeds, and which of the paper's are missing.
func (d *Data) Summary(experiments ...string) string {
	var text strings.Builder
	write := func(indent, line string) {
		lines := names.Wrap(line, 98-len(indent))
		fmt.Fprintf(&text, "%s%s\n", indent, strings.Join(lines, "\n  "+indent))
	}
	if d.About != nil {
		line := fmt.Sprintf("Runs shipped with qdnb: scale %s, trained on %s", d.About.Scale, d.About.Machine)
		if commit := ShortHash(d.About.Commit); commit != "" {
			line += ". Commit " + strings.ReplaceAll(commit, ", modified", " (modified)")
		}
		write("", line)
	}
	for _, experiment := range experiments {
		lines := d.linesOf(experiment)
		if len(lines) == 0 {
			write("", experiment+": no runs")
			continue
		}
		seeds := sorted(lines, func(l sweep.Line) int64 { return l.Run.Seed }, cmp.Compare)
		methods := sorted(lines, func(l sweep.Line) string { return l.Label }, records.Compare)
		envs := sorted(lines, func(l sweep.Line) string { return l.Run.Env }, protocol.CompareEnvironments)
		write("", experiment+": "+describe(lines))
		some := ""
		if len(lines) < len(seeds)*len(methods)*len(envs) {
			some = ", not for every environment"
		}
		write("  ", fmt.Sprintf("%s on %s, seed%s %s%s", strings.Join(methodNames(methods), ", "),
			strings.Join(envs, ", "), plural(len(seeds)),
			strings.Trim(strings.ReplaceAll(fmt.Sprint(seeds), " ", ", "), "[]"), some))
		if experiment == results.ExperimentTraining {
			if missing := d.missing(allMethods, curveEnvs); missing != "" {
				write("  ", missing)
			}
		}
	}
	return text.String()
}

// describe returns the number and sizes of runs.
func describe(lines []sweep.Line) string {
	text := fmt.Sprintf("%d run%s", len(lines), plural(len(lines)))
	for _, part := range []struct{ prefix, setting, suffix string }{
		{"", "cells", " cells"}, {"hidden layers of ", "hidden", " units"}} {
		values := sorted(lines, func(l sweep.Line) string {
			var settings map[string]json.RawMessage
			_ = json.Unmarshal(l.Run.Hyperparameters, &settings) // a valid line has an object
			value := strings.Trim(string(settings[part.setting]), "[]")
			return strings.ReplaceAll(value, ",", " and ")
		}, numerically)
		if values = slices.DeleteFunc(values, func(v string) bool { return v == "" }); len(values) > 0 {
			text += ", " + part.prefix + strings.Join(values, " or ") + part.suffix
		}
	}
	trained := slices.DeleteFunc(slices.Clone(lines), // runs without budget end by themselves
		func(l sweep.Line) bool { return l.Budget == (runs.Budget{}) })
	budgets := sorted(trained, func(l sweep.Line) string {
		budget, steps := l.Budget, l.Budget.EnvSteps
		if steps > 0 && steps == results.MediumSteps(l.Run.Algorithm, l.Run.Env) {
			budget = runs.Budget{CPU: results.MediumTime} // for which they were measured
		}
		unit := int64(math.Pow10(max(len(fmt.Sprint(steps))-3, 0))) // three digits suffice
		budget.EnvSteps = (budget.EnvSteps + unit/2) / unit * unit
		return budget.String()
	}, numerically)
	if n := len(budgets); n == 1 || n == 2 {
		_, unit, _ := strings.Cut(budgets[n-1], " ")
		text += ", " + strings.Join(budgets, " or ") + " each"
		text = strings.Replace(text, " "+unit+" or ", " or ", 1) // 1.2e9 or 1.6e9 environment steps
	}
	return text
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

// numerically compares texts that begin with numbers without leading zeros: by their first words,
// then by the rest.
func numerically(a, b string) int {
	firstA, restA, _ := strings.Cut(a, " ")
	firstB, restB, _ := strings.Cut(b, " ")
	return cmp.Or(cmp.Compare(len(firstA), len(firstB)), cmp.Compare(firstA, firstB),
		cmp.Compare(len(restA), len(restB)), cmp.Compare(restA, restB))
}

// sorted returns the distinct values of lines.
func sorted[T comparable](lines []sweep.Line, value func(sweep.Line) T, compare func(a, b T) int) []T {
	values := lists.Map(lines, value)
	slices.SortFunc(values, compare)
	return slices.Compact(values)
}

func methodNames(methods []string) []string { return lists.Map(methods, figures.NameMethods) }

// lacking returns a sentence with those of some methods that are not among others; "" if all are.
func lacking(methods, among []string) string {
	rest := slices.DeleteFunc(slices.Clone(methods), func(method string) bool { return slices.Contains(among, method) })
	if len(rest) == 0 {
		return ""
	}
	return "No complete runs: " + strings.Join(methodNames(rest), ", ") + "."
}

// withMissing adds to a note what has no complete training runs, if anything; see missing.
func (d *Data) withMissing(note string, methods, envs []string) string {
	return strings.TrimSpace(note + " " + d.missing(methods, envs))
}

// missing returns a sentence with the methods and environments that have no complete runs, and the
// missing pairs of the others; "" if nothing is missing.
func (d *Data) missing(methods, envs []string) string {
	has := func(method, env string) bool { return len(d.FinishedRuns(method, env)) > 0 }
	noMethods := lists.Where(methods, func(method string) bool {
		return !slices.ContainsFunc(envs, func(env string) bool { return has(method, env) })
	})
	var noEnvs, pairs []string
	for _, env := range envs {
		none := lists.Where(methods, func(method string) bool { return !has(method, env) && !slices.Contains(noMethods, method) })
		if len(none) == len(methods)-len(noMethods) {
			noEnvs = append(noEnvs, env)
		} else if len(none) > 0 {
			pairs = append(pairs, "on "+env+" "+strings.Join(methodNames(none), ", "))
		}
	}
	parts := append(notes(strings.Join(methodNames(noMethods), ", "), strings.Join(noEnvs, ", ")), pairs...)
	if len(parts) == 0 {
		return ""
	}
	return "No complete runs: " + strings.Join(parts, "; ") + "."
}

// notes are the texts that are not empty.
func notes(texts ...string) []string {
	return lists.Where(texts, func(text string) bool { return text != "" })
}

// noRuns returns the error for missing runs, which says what there is and how to make others.
func (d *Data) noRuns(experiment string) error {
	if d != nil && d.About != nil {
		return absent{fmt.Sprintf("these need runs of the experiment %q that are not shipped yet; "+
			"set %s to a folder of your own runs", experiment, FolderVariable)}
	}
	if d != nil {
		if methods, envs := d.Axes(experiment); len(methods) > 0 {
			return absent{fmt.Sprintf("of the experiment %[1]q only runs of %[2]s on %[3]s are complete: "+
				"make the others of %[4]s with experiments.Prepare(%[1]q) in a notebook, or plan more with `qdnb sweep plan`",
				experiment, strings.Join(methodNames(methods), ", "), strings.Join(envs, ", "), filepath.Join(d.Dir, PlanFile))}
		}
	}
	return absent{fmt.Sprintf("no run of the experiment %q is complete: make runs with "+
		"experiments.Prepare(%q) in a notebook, or `make experiments`", experiment, experiment)}
}
