package faults

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
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
	have, err := listing(got)
	if err != nil {
		return err.Error()
	}
	wanted, err := listing(want)
	if err != nil {
		return err.Error()
	}
	if !slices.Equal(have, wanted) {
		return fmt.Sprintf("there are %q, want %q", have, wanted)
	}
	for _, name := range wanted {
		if difference := compareFiles(filepath.Join(got, name),
			filepath.Join(want, name)); difference != "" {
			return name + " " + difference
		}
	}
	return ""
}

// listing lists the files of a run's folder, without checkpoints before the last one, which depend
// on timing.
func listing(dir string) (names []string, err error) {
	newest, err := newestCheckpoint(dir)
	if err != nil {
		return nil, err
	}
	last := strings.TrimPrefix(filepath.Base(newest), "state")
	err = filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		earlier := filepath.Dir(name) == "checkpoints" && !strings.HasSuffix(name, last)
		if !entry.IsDir() && name != "lock" && !earlier {
			names = append(names, name)
		}
		return nil
	})
	return names, err
}

func newestCheckpoint(dir string) (string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "checkpoints", "state-*.npz"))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s has no checkpoint", dir)
	}
	if err != nil {
		return "", err
	}
	return slices.Max(files), nil
}

// compareFiles describes the differences between two files of runs.
func compareFiles(got, want string) string {
	switch base := filepath.Base(got); {
	case base == "metrics.csv":
		return compareTables(got, want)
	case base == "status.json":
		return compareStatus(got, want)
	case slices.Contains([]string{"snapshots", "checkpoints"}, filepath.Base(filepath.Dir(got))):
		return compareArrays(got, want)
	}
	a, err := os.ReadFile(got)
	if err != nil {
		return err.Error()
	}
	b, err := os.ReadFile(want)
	if err != nil {
		return err.Error()
	}
	if !bytes.Equal(a, b) {
		return "differs"
	}
	return ""
}

// compareTables compares the text of two tables, except for the time column.
func compareTables(got, want string) string {
	a, errA := os.ReadFile(got)
	b, errB := os.ReadFile(want)
	if errA != nil || errB != nil {
		return fmt.Sprint(errA, errB)
	}
	linesA, linesB := withoutSeconds(a), withoutSeconds(b)
	if len(linesA) != len(linesB) {
		return fmt.Sprintf("has %d lines, want %d", len(linesA), len(linesB))
	}
	for i := range linesA {
		if linesA[i] != linesB[i] {
			return fmt.Sprintf("has line %q, want %q", linesA[i], linesB[i])
		}
	}
	return ""
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

// timeless returns a status without the fields that depend on time or name the machine.
func timeless(s runs.Status) runs.Status {
	s.Seconds, s.CPUSeconds, s.CompileSeconds, s.Updated = 0, 0, 0, time.Time{}
	s.Machines = nil
	return s
}

func compareStatus(got, want string) string {
	var statuses [2]runs.Status
	for i, path := range []string{got, want} {
		data, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(data, &statuses[i])
		}
		if err != nil {
			return err.Error()
		}
		statuses[i] = timeless(statuses[i])
	}
	if !reflect.DeepEqual(statuses[0], statuses[1]) {
		return fmt.Sprintf("says %+v, want %+v", statuses[0], statuses[1])
	}
	return ""
}

// compareArrays compares all arrays of two files, except for times.
func compareArrays(got, want string) string {
	a, err := npz.Read(got)
	if err != nil {
		return err.Error()
	}
	b, err := npz.Read(want)
	if err != nil {
		return err.Error()
	}
	// "seconds" is in snapshots; "meta" is in checkpoints, whose status is compared as status.json.
	for _, name := range []string{"seconds", "meta"} {
		delete(a, name)
		delete(b, name)
	}
	if len(a) != len(b) {
		return fmt.Sprintf("has %d arrays, want %d", len(a), len(b))
	}
	for name := range b {
		if !reflect.DeepEqual(a[name].Shape, b[name].Shape) || raw(a[name]) != raw(b[name]) {
			return fmt.Sprintf("has another %q", name)
		}
	}
	return ""
}

// raw returns the elements of an array as text, in which NaN equals NaN.
func raw(a npz.Array) string { return fmt.Sprintf("%s %x", a.DType(), a.Data) }

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
	newest := must.Get(newestCheckpoint(filepath.Join(got, name)))
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
