package compiler

import (
	"encoding/csv"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/qdnb/envs/mujoco"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
)

// TestSurvey reads all models below the folder $QDNB_SURVEY, such as a checkout of MuJoCo Menagerie,
// and writes docs/robots.csv: which are modelled, which only with IgnorePairs, and what is in the way. It counts
// files with joints that MuJoCo compiles and no other file includes. For those that load, it writes
// golden files to the folder $QDNB_REFERENCES, if that is set, for the tests of package mujoco.
func TestSurvey(t *testing.T) {
	root := os.Getenv("QDNB_SURVEY")
	if root == "" {
		t.Skip("SKIPPED: QDNB_SURVEY=FOLDER reads all models below a folder")
	}
	var paths []string
	included := map[string]bool{}
	must.Do(filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".xml" {
			paths = append(paths, path)
			for _, source := range sources(path) {
				if source = filepath.Join(filepath.Dir(path), source); source != path {
					included[source] = true
				}
			}
		}
		return err
	}))
	reason := regexp.MustCompile(`contact of \w+ and \w+|\([a-z_.]+\)`)
	verdicts := []string{"loads", "loads with IgnorePairs", "refused"}
	counts, reasons := [3]int{}, map[string]int{}
	table := [][]string{{"model", "result", "in the way"}}
	for _, path := range paths {
		if included[path] {
			continue
		}
		name := must.Get(filepath.Rel(root, path))
		model, err := Compile(t.Context(), path)
		if err != nil {
			table = append(table, []string{name, "not compiled by MuJoCo",
				strings.ReplaceAll(err.Error(), root+"/", "")})
			continue
		}
		if model.Sizes.NV == 0 {
			continue
		}
		verdict := 0
		if _, err = model.Check(mujoco.Options{}); err != nil {
			verdict = 1
			if _, err := model.Check(mujoco.Options{IgnorePairs: true}); err != nil {
				verdict = 2
			}
			for _, text := range reason.FindAllString(err.Error(), -1) {
				reasons[text]++
			}
		}
		if out := os.Getenv("QDNB_REFERENCES"); out != "" && verdict < 2 {
			writeReference(t, path, filepath.Join(out, strings.NewReplacer("/", "-", ".xml", "").Replace(name)), model)
		}
		counts[verdict]++
		row := []string{name, verdicts[verdict], ""}
		if err != nil {
			row[2] = strings.TrimPrefix(err.Error(), "the engine does not model ")
		}
		table = append(table, row)
	}
	file := must.Get(os.Create("../../../docs/robots.csv"))
	must.Do(csv.NewWriter(file).WriteAll(table))
	must.Do(file.Close())
	fmt.Printf("%d models: %v %v\nmodels with:\n", counts[0]+counts[1]+counts[2], verdicts, counts)
	for _, text := range slices.SortedFunc(maps.Keys(reasons), func(a, b string) int { return reasons[b] - reasons[a] }) {
		fmt.Printf("%4d %s\n", reasons[text], text)
	}
}

// writeReference writes a compiled model and what MuJoCo computes for it, as the golden files do.
func writeReference(t *testing.T, path, base string, model mujoco.Model) {
	supported := must.Get(model.Check(mujoco.Options{IgnorePairs: true}))
	arrays, err := Reference(t.Context(), path, supported.Pairs)
	if err != nil {
		t.Errorf("%s: %v", path, err)
		return
	}
	must.Do(os.MkdirAll(filepath.Dir(base), 0o777))
	must.Do(npz.Write(base+".npz", arrays))
	must.Do(os.WriteFile(base+"_model.json", must.Get(run(t.Context(), compileScript, path)), 0o666))
}
