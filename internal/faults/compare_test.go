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
	root = t.TempDir()
	return root, succeed(t, s.command(t, root)...)
}

// same checks that the runs of a subject in two folders are byte-identical, except for times.
func same(t *testing.T, s subject, got, want string) {
	t.Helper()
	for _, name := range s.results(t) {
		if difference := compareRuns(filepath.Join(got, name),
			filepath.Join(want, name)); difference != "" {
			t.Errorf("%s: %s", name, difference)
		}
	}
}

// compareRuns describes the differences between the folders of two finished runs, or returns "".
func compareRuns(got, want string) string {
	have, wanted := listing(got), listing(want)
	if !slices.Equal(have, wanted) {
		return fmt.Sprintf("there are %q, want %q", have, wanted)
	}
	for _, name := range wanted {
		a, err := timeless(filepath.Join(got, name))
		if err != nil {
			return err.Error()
		}
		b := must.Get(timeless(filepath.Join(want, name)))
		if len(a) != len(b) {
			return fmt.Sprintf("%s has %d parts, want %d", name, len(a), len(b))
		}
		for i := range b {
			if a[i] != b[i] {
				return fmt.Sprintf("%s has %.200q, want %.200q", name, a[i], b[i])
			}
		}
	}
	return ""
}

// listing lists the files of a run's folder, without checkpoints before the last one, which depend
// on timing.
func listing(dir string) (names []string) {
	last := strings.TrimPrefix(filepath.Base(newestCheckpoint(dir)), "state")
	must.Do(filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path)
		earlier := filepath.Dir(name) == "checkpoints" && !strings.HasSuffix(name, last)
		if err == nil && !entry.IsDir() && name != "lock" && !earlier {
			names = append(names, name)
		}
		return err
	}))
	return names
}

func newestCheckpoint(dir string) string {
	return slices.Max(must.Get(filepath.Glob(filepath.Join(dir, "checkpoints", "state-*.npz"))))
}

// timeless returns the contents of a file of a run in parts, without those that depend on time or name
// the machine.
func timeless(path string) (parts []string, err error) {
	data := must.Get(os.ReadFile(path))
	switch base := filepath.Base(path); {
	case base == "metrics.csv":
		return withoutSeconds(data), nil
	case base == "status.json":
		var s runs.Status
		err := json.Unmarshal(data, &s)
		s.Seconds, s.CPUSeconds, s.CompileSeconds, s.Updated, s.Machines = 0, 0, 0, time.Time{}, nil
		return []string{fmt.Sprintf("%+v", s)}, err
	case slices.Contains([]string{"snapshots", "checkpoints"}, filepath.Base(filepath.Dir(path))):
		arrays, err := npz.Read(path)
		// "seconds" is in snapshots; "meta" is in checkpoints, whose status is compared as status.json.
		delete(arrays, "seconds")
		delete(arrays, "meta")
		for _, name := range slices.Sorted(maps.Keys(arrays)) {
			a := arrays[name] // as text, in which NaN equals NaN
			parts = append(parts, fmt.Sprintf("%s %s %v %x", name, a.DType(), a.Shape, a.Data))
		}
		return parts, err
	}
	return []string{string(data)}, nil
}

// withoutSeconds returns the lines of a table without its column of seconds.
func withoutSeconds(data []byte) (lines []string) {
	at := -1
	for i, line := range strings.Split(string(data), "\n") {
		fields := strings.Split(line, ",")
		if i == 0 {
			at = slices.Index(fields, "seconds")
		}
		if at >= 0 && at < len(fields) {
			fields = slices.Delete(fields, at, at+1)
		}
		lines = append(lines, strings.Join(fields, ","))
	}
	return lines
}

// The comparison must detect a difference of one bit: otherwise the other tests prove nothing.
func TestComparisonSeesOneBit(t *testing.T) {
	begin(t)
	s := training(spec("smerl-diayn"))
	want, _ := undisturbed(t, s)
	name := s.results(t)[0]
	for _, file := range []string{"repertoire.npz", "skills.npz", "metrics.csv", "config.json",
		"status.json"} {
		got := t.TempDir()
		must.Do(os.CopyFS(got, os.DirFS(want)))
		path := filepath.Join(got, name, file)
		data := must.Get(os.ReadFile(path))
		at := len(data) / 2
		if file == "status.json" {
			at = bytes.Index(data, []byte(`"coverage": `)) + len(`"coverage": `)
		}
		data[at] ^= 1
		must.Do(os.WriteFile(path, data, 0o666))
		if compareRuns(filepath.Join(got, name), filepath.Join(want, name)) == "" {
			t.Errorf("a bit of %s is not seen", file)
		}
	}
	got := t.TempDir()
	must.Do(os.CopyFS(got, os.DirFS(want)))
	newest := newestCheckpoint(filepath.Join(got, name))
	arrays := must.Get(npz.Read(newest))
	for _, array := range arrays {
		if data, ok := array.Data.([]float32); ok && len(data) > 0 {
			data[len(data)/2] = 0.123 // which may have been infinite
			break
		}
	}
	must.Do(npz.Write(newest, arrays))
	if compareRuns(filepath.Join(got, name), filepath.Join(want, name)) == "" {
		t.Error("a number of a checkpoint is not seen")
	}
}
