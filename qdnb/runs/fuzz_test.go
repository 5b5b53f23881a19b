package runs

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"example.com/qdnb/internal/hostile"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/pareto"
)

func FuzzConfig(f *testing.F) {
	f.Add([]byte(`{"algorithm":"map-elites","env":"pointmaze","seed":1,` +
		`"hyperparameters":{"batch":10,"hidden":[64,64],"x":{"y":1e-3}}}`))
	f.Add([]byte(`{"algorithm":"a","env":"b","seed":1e2,"hyperparameters":[` + "\n" + `1]}`))
	f.Add([]byte(`{"algorithm":"a","env":"b","hyperparameters":{"a\nb":1e999}}`))
	f.Add([]byte(`{"algorithm":"../../etc","env":"b","seed":-9223372036854775808}`))
	f.Add([]byte(`{"algorithm":"a"}{}`))
	f.Add(must.Get(testConfig(f).file()))
	f.Fuzz(func(t *testing.T, data []byte) {
		var c Config
		var err error
		hostile.Bounded(t, len(data), func() { c, err = parseConfig(data) })
		hostile.Error(t, err)
		if err != nil {
			return
		}
		if name := c.Name(); filepath.Base(name) != name {
			t.Errorf("the folder name %q is invalid", name)
		}
		text := must.Get(c.file())
		again, err := parseConfig(text)
		if err != nil {
			t.Fatalf("%s is written as %s: %v", data, text, err)
		}
		if c.Hash() != again.Hash() {
			t.Errorf("%s is written as %s", data, text)
		}
	})
}

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

func FuzzStatus(f *testing.F) {
	whole, err := json.Marshal(Status{Progress: Progress{Generation: 3}, MaxFitness: 1,
		Backends: []BackendUse{{"xla:cpu", -1}}, Descriptor: []string{"x"}})
	must.Do(err)
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add([]byte(`{"max_fitness":null,"budget":{"time":"x"},"updated":"now\n"}`))
	f.Add([]byte(`{"seconds":-1,"generation":1e3}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var s Status
		var err error
		hostile.Bounded(t, len(data), func() { err = json.Unmarshal(data, &s) })
		hostile.Error(t, err)
		if err != nil {
			return
		}
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatalf("%s was read as %+v, which cannot be written: %v", data, s, err)
		}
		var again Status
		if err := json.Unmarshal(text, &again); err != nil || !reflect.DeepEqual(again.Progress,
			s.Progress) || again.MaxFitness != s.MaxFitness {
			t.Errorf("%+v came back as %+v (%v)", s, again, err)
		}
	})
}

func FuzzMetrics(f *testing.F) {
	f.Add([]byte("generation,x\n0,1.5\n1,-inf\n2,nan\n3,"))
	f.Add([]byte("generation,\"a\nb\"\n0,\"x\ny\"\n"))
	f.Add([]byte("index,x,y,skill,fitness_median\n0,1,nan,3,5\n1e300,nan,nan,-1e300,nan\n"))
	f.Add([]byte("\"a\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		run := &Run{Dir: t.TempDir(), Config: Config{Algorithm: "adaptation", Env: "ant-uni",
			Hyperparameters: json.RawMessage(`{"perturbation":"gravity"}`)}}
		must.Do(os.WriteFile(filepath.Join(run.Dir, metricsFile), data, 0o666))
		hostile.Bounded(t, len(data), func() {
			table, err := run.Metrics()
			hostile.Error(t, err)
			if err != nil {
				return
			}
			_, err = table.Column("generation")
			hostile.Error(t, err)
			for _, row := range table.Rows {
				if len(row) != len(table.Columns) {
					t.Errorf("a row of %d numbers in %d columns", len(row), len(table.Columns))
				}
			}
			a, err := run.Adaptation()
			hostile.Error(t, err)
			if err != nil {
				return
			}
			for _, v := range a.Values {
				if skill, _ := v.Best(); skill != -1 && !slices.Contains(v.Skills, skill) {
					t.Errorf("the best of %v is %d", v.Skills, skill)
				}
				v.Score(0)
			}
		})
	})
}

// FuzzWriterOnOldMetrics resumes with arbitrary existing metrics.
func FuzzWriterOnOldMetrics(f *testing.F) {
	f.Add([]byte("generation,x\n0,1.5\n1,-inf\n2,nan\n3,"), int64(1))
	f.Add([]byte("generation,x\nnan,1\ninf,1\n"), int64(1))
	f.Add([]byte("generation,\"x\ny\"\n1,1\n"), int64(3))
	config := Config{Algorithm: "a", Env: "b"}
	f.Fuzz(func(t *testing.T, data []byte, generation int64) {
		w, err := Create(t.TempDir(), config)
		must.Do(err)
		defer w.Close()
		must.Do(os.WriteFile(filepath.Join(w.Dir, metricsFile), data, 0o666))
		err = w.Begin(generation, "generation", "x")
		hostile.Error(t, err)
		if err != nil {
			return
		}
		if _, err := ReadTable(filepath.Join(w.Dir, metricsFile)); err != nil {
			t.Errorf("what was kept cannot be read: %v", err)
		}
	})
}

// archives are seeds of two kinds: raw file bytes, and text from which [hostile.Archive] makes a
// file.
func archives(f *testing.F, arrays map[string]npz.Array, texts ...string) {
	f.Helper()
	var whole bytes.Buffer
	must.Do(npz.WriteTo(&whole, arrays))
	f.Add(whole.Bytes(), false)
	f.Add(whole.Bytes()[:whole.Len()-30], false)
	for _, text := range texts {
		f.Add([]byte(text), true)
	}
}

func archive(data []byte, isText bool) []byte {
	if isText {
		return hostile.Archive(string(data))
	}
	return data
}

func opened(data []byte) (*npz.Reader, error) {
	return npz.NewReader(bytes.NewReader(data), int64(len(data)))
}

func FuzzRepertoire(f *testing.F) {
	r := Repertoire{Params: 2, Dims: 2, Genotypes: make([]float32, 6),
		Fitnesses:   []float32{1, float32(math.Inf(-1)), 3},
		Descriptors: make([]float32, 6), Centroids: make([]float32, 6), Lower: []float32{0, 0},
		Upper: []float32{1, 1}}
	archives(f, r.arrays(),
		"fitnesses <f4 3, 1 -inf\ndescriptors <f4 3,2 0.5\ncentroids <f4 3,2 0.5\ngenotypes <f4 "+
			"3,4\nqd_offset <f8 1, 3\ndescriptor_min <f4 2,",
		"fitnesses <f4 4, 1 -inf 3\ndescriptors <f4 4,2 0.5\ncentroids <f4 2,2 0.5\nobjectives <f4 4,2 "+
			"1\norigins <i4 4,2 1\nreference_point <f4 2,",
		"fitnesses <f4 2, 1\ndescriptors <f4 2,2\ncentroids <f4 2,2\nobjectives <f4 2,3,2 1",
		"fitnesses <f4 4, 1\ndescriptors <f4 0,4611686018427387904\ncentroids <f4 0,4611686018427387904",
		"fitnesses <f4 2, 1\ndescriptors <f4 0,9223372036854775807\ncentroids <f4 "+
			"0,9223372036854775807\ngenotypes <f4 2,0",
		"fitnesses <f4 0,\ndescriptors <f4 0,4611686018427387904\ncentroids <f4 "+
			"0,4611686018427387904\ngenotypes <f4 0,99999999999",
		"fitnesses <i8 3, 1\ndescriptors |b1 3,2 1\ncentroids >f8 3,2 1e300\ngenotypes <u8 3,4",
		"fitn\x1besses <f4 3, 1\nfoo <f4 0,")
	f.Fuzz(func(t *testing.T, data []byte, isText bool) {
		data = archive(data, isText)
		file, err := opened(data)
		hostile.Error(t, err)
		if err != nil {
			return
		}
		hostile.Bounded(t, len(data), func() {
			for _, genotypes := range []bool{false, true} {
				r, err := readRepertoire(file, file, "", genotypes)
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
				_ = make([]float32, r.Dims) // as figures do
				if err := npz.WriteTo(io.Discard, r.arrays()); err != nil {
					t.Errorf("it cannot be written: %v", err)
				}
			}
		})
	})
}

func FuzzSkills(f *testing.F) {
	s := Skills{Observations: 2, Actions: 1, Count: 2, Hidden: []int{3}, Which: []int{0, 1},
		Fitnesses: []float32{1, 2}, Descriptors: make([]float32, 4),
		Trajectories: make([]float32, 12),
		Extra:        map[string]npz.Array{"discriminator.Mean": npz.Of([]float32{1})}}
	s.Policy = make([]float32, Row(s.Sizes()))
	archives(f, s.arrays(),
		"observations <i8  2\nactions <i8  1\nskills <i8  2\nhidden <i8 1, 3\npolicy <f4 23,\nwhich "+
			"<i4 2, 0 1\nfitnesses <f4 2,\ndescriptors <f4 2,2\ntrajectories <f4 2,3,2",
		"observations <i8  2\nactions <i8  1\nskills <i8  0\nhidden <i8 0,\npolicy <f4 6,\nwhich <i4 "+
			"0,\nfitnesses <f4 0,\ndescriptors <f4 0,99999999999\ntrajectories <f4 0,99999999999,2",
		"observations <i8  16384\nactions <i8  16384\nskills <i8  16384\nhidden <i8 16, 16384\npolicy "+
			"<f4 6,",
		"observations <f8  1.5\nactions <f8  nan\nskills <i8  -1\nhidden <f8 1, 1e300",
		"observations <i8  2\nactions <i8  1\nskills <i8  2\nhidden <i8 1, 3",
		"observations <i8  1\nactions <i8  1\nskills <i8  0\nhidden <i8 0,\npolicy <f4 4,\nwhich <i4 "+
			"2, 0\nfitnesses <f4 2,\ndescriptors <f4 2,0\ntrajectories <f4 2,0,2\nextra <f4 0,0")
	f.Fuzz(func(t *testing.T, data []byte, isText bool) {
		data = archive(data, isText)
		file, err := opened(data)
		hostile.Error(t, err)
		if err != nil {
			return
		}
		hostile.Bounded(t, len(data), func() {
			s, err := readSkills(file)
			hostile.Error(t, err)
			if err != nil {
				return
			}
			for k := range min(s.Skills(), 4) {
				if s.Policy == nil { // as in shipped runs, for which Run.Skills returns an error
					break
				}
				if n := len(s.Genotype(k)); n != s.Params() {
					t.Errorf("skill %d has %d parameters of %d", k, n, s.Params())
				}
			}
			_ = make([]float32, s.Dims()+s.Steps())
			hostile.Error(t, npz.WriteTo(io.Discard, s.arrays())) // possibly with invalid names
		})
	})
}

func FuzzSnapshot(f *testing.F) {
	s := Snapshot{Repertoire: Repertoire{Dims: 1, Fitnesses: []float32{1}, Descriptors: []float32{1},
		Centroids: []float32{1}}}
	archives(f, s.arrays(),
		"fitnesses <f4 1, 1\ndescriptors <f4 1,1\ncentroids <f4 1,1\ngeneration <f8  nan\nevaluations "+
			"<f8  1e300\nenv_steps <i8  3\nseconds <f8  inf",
		"fitnesses <f4 1, 1\ndescriptors <f4 1,1\ncentroids <f4 1,1\ngeneration <f8 0,")
	f.Fuzz(func(t *testing.T, data []byte, isText bool) {
		run := &Run{Dir: t.TempDir()}
		dir := filepath.Join(run.Dir, snapshotsDir)
		must.Do(os.Mkdir(dir, 0o777))
		data = archive(data, isText)
		must.Do(os.WriteFile(filepath.Join(dir, generationFile(snapshotKind, 3)), data, 0o666))
		hostile.Bounded(t, len(data), func() {
			snapshots, err := run.Snapshots()
			hostile.Error(t, err)
			for _, s := range snapshots {
				s.Stats()
			}
		})
	})
}

func FuzzCheckpoint(f *testing.F) {
	config := Config{Algorithm: "a", Env: "b"}
	meta := `{"run":"` + config.Name() + `","generation":7,"meta":{"x":1}}`
	archives(f, map[string]npz.Array{metaKey: npz.Of([]byte(meta)),
		"genotypes": npz.Of([]float32{1, 2})},
		"meta |u1 2, 123 125\ngenotypes <f4 0,4611686018427387904", "meta <f4 2,", "meta |u1 8, 34 10 34",
		"x <f4 1,")
	f.Fuzz(func(t *testing.T, data []byte, isText bool) {
		w := must.Get(Create(t.TempDir(), config))
		defer w.Close()
		dir := filepath.Join(w.Dir, checkpointsDir)
		must.Do(os.MkdirAll(dir, 0o777))
		data = archive(data, isText)
		must.Do(os.WriteFile(w.checkpointPath(stateKind, 7), data, 0o666))
		hostile.Bounded(t, len(data), func() {
			var meta struct {
				X int `json:"x"`
			}
			_, generation, warnings, err := w.LoadCheckpoint(&meta)
			hostile.Error(t, err)
			for _, warning := range warnings {
				hostile.Error(t, &advice{text: warning})
			}
			if generation >= 0 && err == nil && generation != 7 {
				t.Errorf("generation %d", generation)
			}
		})
	})
}

func FuzzLoadReplay(f *testing.F) {
	archives(f, map[string]npz.Array{metaKey: npz.Of([]byte(
		`{"run":"a-b-0-12345678","from":0,"to":2}`)), rowsKey: npz.Of([]float32{1, 2}, 2, 1)},
		"rows <f4 2,1", "rows <f4 4611686018427387904,0", "rows <f8 2,1")
	config := Config{Algorithm: "a", Env: "b"}
	f.Fuzz(func(t *testing.T, data []byte, isText bool) {
		w := must.Get(Create(t.TempDir(), config))
		defer w.Close()
		dir := filepath.Join(w.Dir, replayDir)
		must.Do(os.MkdirAll(dir, 0o777))
		data = archive(data, isText)
		if isText { // with valid metadata, so that the rows are read
			arrays := map[string]npz.Array{}
			if r, err := opened(data); err == nil {
				if all, err := r.ReadAll(); err == nil {
					arrays = all
				}
			}
			meta := must.Get(json.Marshal(segmentMeta{w.Name(), 0, 2}))
			arrays[metaKey] = npz.Of(meta)
			var out bytes.Buffer
			if npz.WriteTo(&out, arrays) != nil {
				return // an invalid name
			}
			data = out.Bytes()
		}
		must.Do(os.WriteFile(filepath.Join(dir, segment{0, 2}.file()), data, 0o666))
		hostile.Bounded(t, len(data), func() {
			got := 0
			err := w.LoadReplay(2, 10, 1, func(from int64,
				rows []float32) error {
				got += len(rows)
				return nil
			})
			hostile.Error(t, err)
			if err == nil && got != 2 {
				t.Errorf("%d rows of 2", got)
			}
		})
	})
}
