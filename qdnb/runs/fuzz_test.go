package runs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/hostile"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/pareto"
)

// tuned has a field of each kind used in settings.
type tuned struct {
	Batch   int       `json:"batch"`
	Sigma   float64   `json:"sigma"`
	Hidden  []int     `json:"hidden"`
	Table   [][]int   `json:"table"`
	Pair    [2]uint8  `json:"pair"`
	Name    string    `json:"name"`
	On      bool      `json:"on"`
	Maybe   *float32  `json:"maybe"`
	Budget  Budget    `json:"budget"`
	Network *struct{} `json:"network"`
	Inner   struct {
		Layers uint16 `json:"layers"`
	} `json:"inner"`
}

func FuzzSet(f *testing.F) {
	for _, seed := range []string{"batch=1e3", "sigma=-0.5", "hidden=256,,256", "hidden=[1,\n2]",
		"table=[[1],[2]]", "table=1,2", "pair=1,2,3", "name=a\nb",
		"on=maybe", "maybe=null", "budget={\"time\":\"1h\"}", "inner.layers=70000", "inner=3",
		"network={}", "=", "batch.x=1", "batch=[\n1]",
		`{"batch":1,"hidden":null,"maybe":1e400,"budget":{"time":"2h"}}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, assignment string) {
		before := tuned{Batch: 3, Hidden: []int{1, 2}}
		s := before
		var err error
		hostile.Bounded(t, len(assignment), func() { err = Set(&s, assignment) })
		hostile.Error(t, err)
		if err != nil && !reflect.DeepEqual(s, before) {
			t.Errorf("%q: %v, but it changed the settings to %+v", assignment, err, s)
		}
		err = Decode([]byte(assignment), &s)
		hostile.Error(t, err)
		if err == nil {
			must.Get(json.Marshal(s))
		}
	})
}

// everyFile writes a run with every file of a folder and returns their names. It is an adaptation, whose
// metrics are read in two ways.
func everyFile(root string) (c Config, files []string) {
	c = Config{Algorithm: "adaptation", Env: "ant-uni", Hyperparameters: json.RawMessage(`{"perturbation":"gravity"}`)}
	w := must.Get(Create(root, c))
	must.Do(w.Begin(-1, "generation", "index", "x", "y", "skill", "fitness_median"))
	must.Do(w.Log(0, 0, 1, math.NaN(), 3, 5))
	r, s := testRepertoire(), evaluated(testSkills(3, 3))
	must.Do(w.SaveRepertoire(r))
	must.Do(w.SaveSkills(s))
	must.Do(w.SaveSnapshot(Snapshot{Repertoire: *r, Progress: Progress{Generation: 0}}))
	must.Do(w.SaveReplay(2, 10, 1, func(int64, int64) ([]float32, error) { return []float32{1, 2}, nil }))
	must.Do(w.SaveCheckpoint(0, map[string]npz.Array{"fitnesses": npz.Of(r.Fitnesses),
		"genotypes": npz.Of(r.Genotypes, 4, 3)}, map[string]int{"generation": 0}))
	must.Do(w.SaveStatus(Status{Progress: Progress{Generation: 0}, MaxFitness: 1,
		Machines: []MachineUse{{Backend: "xla:cpu", After: -1}}, Descriptor: []string{"x"}}))
	must.Do(w.Close())
	must.Do(filepath.WalkDir(w.Dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && d.Name() != lockFile {
			files = append(files, must.Get(filepath.Rel(w.Dir, path)))
		}
		return err
	}))
	return c, files
}

// FuzzFolder reads a run, and resumes it, with a file of any content: raw bytes, or arrays of a text as
// [hostile.Archive] makes them. What can be read can be written again.
func FuzzFolder(f *testing.F) {
	root := f.TempDir()
	config, files := everyFile(root)
	for i, file := range files {
		whole := must.Get(os.ReadFile(filepath.Join(root, config.Name(), file)))
		f.Add(i, whole, false)
		f.Add(i, whole[:len(whole)*2/3], false)
	}
	add := func(file string, isText bool, seeds ...string) {
		i := slices.IndexFunc(files, func(name string) bool { return must.Get(filepath.Match(file, name)) })
		if i < 0 {
			f.Fatalf("%v has no %s", files, file)
		}
		for _, seed := range seeds {
			f.Add(i, []byte(seed), isText)
		}
	}
	add(configFile, false, `{"algorithm":"a","env":"b","seed":1e2,"hyperparameters":[`+"\n"+`1]}`,
		`{"algorithm":"a","env":"b","hyperparameters":{"a\nb":1e999}}`, `{"algorithm":"a"}{}`,
		`{"algorithm":"../../etc","env":"b","seed":-9223372036854775808}`)
	add(statusFileName, false, `{"max_fitness":null,"budget":{"time":"x"},"updated":"now\n"}`,
		`{"seconds":-1,"generation":1e3}`)
	add(metricsFile, false, "generation,x\n0,1.5\n1,-inf\n2,nan\n3,", "generation,\"a\nb\"\n0,\"x\ny\"\n", "\"a\n",
		"index,x,y,skill,fitness_median\n0,1,nan,3,5\n1e300,nan,nan,-1e300,nan\n", "a\r\n1\r\n\r\n", "a,b\n\"1\",0x1p-2\n",
		"index,x,y,skill,fitness_median\nnan,1,1,1,1\ninf,1,1,1,1\n")
	add(repertoireFile, true, "fitnesses <f4 3, 1 -inf\ndescriptors <f4 3,2 0.5\ncentroids <f4 3,2 0.5\ngenotypes <f4 "+
		"3,4\nqd_offset <f8 1, 3\ndescriptor_min <f4 2,",
		"fitnesses <f4 4, 1 -inf 3\ndescriptors <f4 4,2 0.5\ncentroids <f4 2,2 0.5\nobjectives <f4 4,2 "+
			"1\norigins <i4 4,2 1\nreference_point <f4 2,",
		"fitnesses <f4 2, 1\ndescriptors <f4 2,2\ncentroids <f4 2,2\nobjectives <f4 2,3,2 1",
		"fitnesses <f4 4, 1\ndescriptors <f4 0,4611686018427387904\ncentroids <f4 0,4611686018427387904",
		"fitnesses <f4 2, 1\ndescriptors <f4 0,9223372036854775807\ncentroids <f4 0,9223372036854775807\ngenotypes <f4 2,0",
		"fitnesses <f4 0,\ndescriptors <f4 0,4611686018427387904\ncentroids <f4 0,4611686018427387904\n"+
			"genotypes <f4 0,99999999999", "fitnesses <i8 3, 1\ndescriptors |b1 3,2 1\ncentroids >f8 3,2 1e300\ngenotypes <u8 3,4",
		"fitn\x1besses <f4 3, 1\nfoo <f4 0,")
	add(skillsFile, true, "observations <i8  2\nactions <i8  1\nskills <i8  2\nhidden <i8 1, 3\npolicy <f4 23,\nwhich "+
		"<i4 2, 0 1\nfitnesses <f4 2,\ndescriptors <f4 2,2\ntrajectories <f4 2,3,2",
		"observations <i8  2\nactions <i8  1\nskills <i8  0\nhidden <i8 0,\npolicy <f4 6,\nwhich <i4 "+
			"0,\nfitnesses <f4 0,\ndescriptors <f4 0,99999999999\ntrajectories <f4 0,99999999999,2",
		"observations <i8  16384\nactions <i8  16384\nskills <i8  16384\nhidden <i8 16, 16384\npolicy <f4 6,",
		"observations <f8  1.5\nactions <f8  nan\nskills <i8  -1\nhidden <f8 1, 1e300",
		"observations <i8  2\nactions <i8  1\nskills <i8  2\nhidden <i8 1, 3")
	add(snapshotsDir+"/*", true, "fitnesses <f4 1, 1\ndescriptors <f4 1,1\ncentroids <f4 1,1\n"+
		"generation <f8  nan\nevaluations <f8  1e300\nenv_steps <i8  3\nseconds <f8  inf",
		"fitnesses <f4 1, 1\ndescriptors <f4 1,1\ncentroids <f4 1,1\ngeneration <f8 0,")
	add(checkpointsDir+"/*", true, "meta |u1 2, 123 125\ngenotypes <f4 0,4611686018427387904", "meta <f4 2,",
		"meta |u1 8, 34 10 34", "fitnesses <f4 3, -inf 2 nan", "fitnesses <f8 3,", "fitnesses <f4 1048576, -inf",
		"fitnesses <f4 2, 1\ngenotypes <f4 2,3 1", "fitnesses <f4 2, 1\ngenotypes <f8 2,3 1",
		"fitnesses <f4 1, -inf\ngenotypes <f4 0,268435456", "a_genotypes <f4 2,0\nfitnesses <f4 1,")
	add(replayDir+"/*", true, "rows <f4 2,1", "rows <f4 4611686018427387904,0", "rows <f8 2,1")
	whole := maxArrayBytes
	maxArrayBytes = 1 << 20
	f.Cleanup(func() { maxArrayBytes = whole })

	f.Fuzz(func(t *testing.T, which int, data []byte, isText bool) {
		if which < 0 || which >= len(files) {
			return
		}
		file := files[which]
		if isText {
			archive := file
			if filepath.Ext(file) != ".npz" {
				archive = repertoireFile
			}
			data = withMeta(must.Get(npz.Read(filepath.Join(root, config.Name(), archive))), hostile.Archive(string(data)))
		}
		copied := t.TempDir()
		must.Do(os.CopyFS(copied, os.DirFS(root)))
		must.Do(os.WriteFile(filepath.Join(copied, config.Name(), file), data, 0o666))
		hostile.Bounded(t, len(data)+2*maxArrayBytes, func() {
			readFolder(t, filepath.Join(copied, config.Name()))
			resumeFolder(t, copied, config)
		})
	})
}

// withMeta gives an archive the metadata of another one if it lacks them, so that its arrays are read.
func withMeta(whole map[string]npz.Array, data []byte) []byte {
	r, err := npz.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil || r.Has(metaKey) || whole[metaKey].Data == nil {
		return data
	}
	arrays, err := r.ReadAll()
	if err != nil {
		return data
	}
	arrays[metaKey] = whole[metaKey]
	var out bytes.Buffer
	if npz.WriteTo(&out, arrays) != nil {
		return data // an invalid name
	}
	return out.Bytes()
}

// readFolder reads a run as figures and commands do.
func readFolder(t *testing.T, dir string) {
	run, err := Open(dir)
	hostile.Error(t, err)
	if err != nil {
		return
	}
	again := must.Get(parseConfig(must.Get(run.Config.file())))
	if name := run.Config.Name(); filepath.Base(name) != name || again.Hash() != run.Config.Hash() {
		t.Errorf("%q was written as %+v", name, again)
	}
	var status Status
	must.Do(json.Unmarshal(must.Get(json.Marshal(run.Status)), &status))
	errtest.Equal(t, "a status", fmt.Sprint(status.Progress, status.MaxFitness),
		fmt.Sprint(run.Status.Progress, run.Status.MaxFitness))
	table, err := run.Metrics()
	hostile.Error(t, err)
	if err == nil {
		for _, row := range table.Rows {
			errtest.Equal(t, "cells of a row", len(row), len(table.Columns))
			for _, v := range row {
				if again := must.Get(parseTable([]byte("a\n" + FormatNumber(v) + "\n"))).Rows[0][0]; again != v && v == v {
					t.Errorf("%v came back as %v", v, again)
				}
			}
		}
	}
	a, err := run.Adaptation()
	hostile.Error(t, err)
	if err == nil {
		for _, v := range a.Values {
			if skill, _ := v.Best(); skill != -1 && !slices.Contains(v.Skills, skill) {
				t.Errorf("the best of %v is %d", v.Skills, skill)
			}
			v.Score(0)
		}
	}
	for _, read := range []func() (*Repertoire, error){run.Repertoire, run.RepertoireMap} {
		r, err := read()
		hostile.Error(t, err)
		if err != nil {
			continue
		}
		r.Stats()
		r.Best()
		r.Near(1, 2)
		if at := r.ReferencePoint(); len(at) > 0 { // as figures do
			for _, front := range r.Fronts() {
				pareto.Hypervolume(front, at)
			}
		}
		for cell := range r.Cells() {
			r.Descriptor(cell)
			r.Centroid(cell)
			r.Genotype(cell)
		}
		must.Do(npz.WriteTo(io.Discard, r.arrays()))
	}
	s, err := run.Skills()
	hostile.Error(t, err)
	if err == nil {
		for k := range min(s.Skills(), 4) {
			errtest.Equal(t, fmt.Sprintf("skill %d", k), len(s.Genotype(k)), s.Params())
		}
		hostile.Error(t, npz.WriteTo(io.Discard, s.arrays())) // possibly with invalid names
	}
	snapshots, err := run.Snapshots()
	hostile.Error(t, err)
	for _, s := range snapshots {
		s.Stats()
	}
}

// resumeFolder resumes a run and saves the next checkpoint.
func resumeFolder(t *testing.T, root string, config Config) {
	var status struct {
		Generation int64 `json:"generation"`
	}
	w, err := Create(root, config)
	hostile.Error(t, err)
	if err != nil {
		return
	}
	defer w.Close()
	from, err := w.LoadCheckpoint(&status)
	hostile.Error(t, err)
	for _, warning := range from.Warnings {
		hostile.Error(t, &advice{text: warning})
	}
	if err != nil || from.Generation != 0 && from.Generation != -1 {
		if err == nil {
			t.Errorf("generation %d", from.Generation)
		}
		return
	}
	rows := 0
	err = w.LoadReplay(2, 10, 1, func(_ int64, numbers []float32) error {
		rows += len(numbers)
		return nil
	})
	hostile.Error(t, err)
	if err == nil && rows != 2 {
		t.Errorf("%d rows of 2", rows)
	}
	err = w.Begin(from.Generation, "generation", "index", "x", "y", "skill", "fitness_median")
	hostile.Error(t, err)
	if err == nil {
		must.Get(ReadTable(filepath.Join(w.Dir, metricsFile)))
		hostile.Error(t, w.SaveCheckpoint(1, from.Arrays, nil))
	}
}
