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
		if difference := compareRuns(filepath.Join(got, name), filepath.Join(want, name)); difference != "" {
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
	root, _ := undisturbed(t, s)
	want := filepath.Join(root, s.results(t)[0])
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
		if compareRuns(got, want) == "" {
			t.Errorf("a difference of %s is not seen", file)
		}
	}
}
