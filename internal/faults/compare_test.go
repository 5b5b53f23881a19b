package faults

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/runs"
)

// undisturbed returns the folder that a subject makes when nothing disturbs it.
func undisturbed(t *testing.T, s subject) (root string, e ending) {
	t.Helper()
	root = filepath.Join(t.TempDir(), "runs")
	return root, succeed(t, s.command(root)...)
}

// difference describes the first difference between the folders of two finished runs, or returns "". Files that are
// spared may differ.
func difference(got, want string, spared ...string) string {
	have, wanted := contents(got), contents(want)
	for _, name := range spared {
		delete(have, name)
		delete(wanted, name)
	}
	if a, b := slices.Sorted(maps.Keys(have)), slices.Sorted(maps.Keys(wanted)); !slices.Equal(a, b) {
		return fmt.Sprintf("there are %q, want %q", a, b)
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if have[name] != wanted[name] {
			return fmt.Sprintf("%s has %.200q, want %.200q", name, have[name], wanted[name])
		}
	}
	return ""
}

// contents returns what the files of a run contain, but for what depends on time or names the machine. Of the
// checkpoints, there is only the last one: which others are kept depends on timing.
func contents(dir string) map[string]string {
	files := map[string]string{}
	last := strings.TrimPrefix(filepath.Base(newestCheckpoint(dir)), "state")
	must.Do(filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path)
		earlier := filepath.Dir(name) == "checkpoints" && !strings.HasSuffix(name, last)
		if err == nil && !entry.IsDir() && name != "lock" && !earlier {
			files[name] = timeless(path)
		}
		return err
	}))
	return files
}

func newestCheckpoint(dir string) string {
	return slices.Max(must.Get(filepath.Glob(filepath.Join(dir, "checkpoints", "state-*.npz"))))
}

// timeless returns the contents of a file of a run without times, or why it cannot be read.
func timeless(path string) string {
	data := must.Get(os.ReadFile(path))
	switch folder := filepath.Base(filepath.Dir(path)); {
	case filepath.Base(path) == "metrics.csv":
		table, err := runs.ReadTable(path)
		if err != nil {
			return err.Error()
		}
		for _, row := range table.Rows {
			if at := slices.Index(table.Columns, "seconds"); at >= 0 {
				row[at] = 0
			}
		}
		return fmt.Sprint(table.Columns, table.Rows)
	case filepath.Base(path) == "status.json":
		var s runs.Status
		err := json.Unmarshal(data, &s)
		s.Seconds, s.CPUSeconds, s.CompileSeconds, s.Updated, s.Machines = 0, 0, 0, time.Time{}, nil
		return fmt.Sprintf("%+v %v", s, err)
	case folder == "snapshots" || folder == "checkpoints":
		arrays, err := npz.Read(path)
		text := fmt.Sprint(err)
		for _, name := range slices.Sorted(maps.Keys(arrays)) {
			// "seconds" is in snapshots; "meta" is in checkpoints, whose status is compared as status.json.
			if a := arrays[name]; name != "seconds" && name != "meta" { // as text, in which NaN equals NaN
				text += fmt.Sprintf("\n%s %s %v %x", name, a.DType(), a.Shape, a.Data)
			}
		}
		return text
	}
	return string(data)
}

// The comparison must detect a difference of one bit: otherwise the other tests prove nothing.
func TestComparisonSeesOneBit(t *testing.T) {
	begin(t)
	s := training(spec("smerl-diayn"))
	root, _ := undisturbed(t, s)
	want := filepath.Join(root, s.results()[0])
	flip := func(data []byte, at int) []byte {
		data[at] ^= 1
		return data
	}
	halve := func(data []byte) []byte { return flip(data, len(data)/2) }
	for file, change := range map[string]func([]byte) []byte{
		"repertoire.npz": halve, "skills.npz": halve, "metrics.csv": halve, "config.json": halve,
		"status.json": func(data []byte) []byte {
			return flip(data, bytes.Index(data, []byte(`"coverage": `))+len(`"coverage": `))
		},
		must.Get(filepath.Rel(want, newestCheckpoint(want))): func(data []byte) []byte {
			arrays := must.Get(must.Get(npz.NewReader(bytes.NewReader(data), int64(len(data)))).ReadAll())
			for _, array := range arrays {
				if numbers, ok := array.Data.([]float32); ok && len(numbers) > 0 {
					numbers[len(numbers)/2] = 0.123 // which may have been infinite
				}
			}
			var out bytes.Buffer
			must.Do(npz.WriteTo(&out, arrays))
			return out.Bytes()
		},
	} {
		got := filepath.Join(t.TempDir(), filepath.Base(want))
		must.Do(os.CopyFS(got, os.DirFS(want)))
		path := filepath.Join(got, file)
		must.Do(os.WriteFile(path, change(must.Get(os.ReadFile(path))), 0o666))
		if difference(got, want) == "" {
			t.Errorf("a difference of %s is not seen", file)
		}
	}
}
