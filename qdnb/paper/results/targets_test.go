package results

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/algorithms/records"
	"example.com/qdnb/qdnb/runs"
)

func TestReadSMERLTargets(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "smerl_targets_summary.csv")
	tables := &Tables{Trained: []Trained{
		{Experiment: ExperimentTargets, Env: "ant-maze", Finished: true, Point: Point{MaxFitness: -9000.5}},
		{Experiment: ExperimentTargets, Env: "ant-uni", Finished: true, Point: Point{MaxFitness: 300}},
	}}
	must.Get(tables.Write(dir))
	got, err := ReadSMERLTargets(path)
	if want := tables.SMERLTargets(); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	for text, want := range map[string]string{
		"": "no targets", "env,seeds,target,margin\n": "no targets",
		"env,seed,max_fitness\na,1,2\n":               "no targets",
		"env,seeds,target,margin\nant-uni,3,-inf,1\n": "not a number",
		"env,seeds,target,margin\nant-uni,3\n":        "wrong number of fields",
	} {
		must.Do(os.WriteFile(path, []byte(text), 0o666))
		errtest.Want(t, errtest.Of(ReadSMERLTargets(path)), want)
	}
	errtest.Want(t, errtest.Of(ReadSMERLTargets(filepath.Join(dir, "none"))), "smerl-targets")
}

// The shipped table names what exists, with steps that a run can take. A run with such a budget took the measured
// time on the measured machine, wherever it was trained, and any other run what it took.
func TestMeasured(t *testing.T) {
	steps, machine := measured()
	for pair, n := range steps {
		if _, ok := records.Find(pair[0]); !ok || !slices.Contains(catalog.Names(), pair[1]) || n < 10_000 {
			t.Errorf("%v: %d steps", pair, n)
		}
	}
	r := Trained{Algorithm: "map-elites", Env: "pointmaze", Processor: 500, Machine: "another", Units: []int{64, 64}}
	other, larger := r, r
	larger.Units = []int{256, 256}
	if larger.measure(runs.Budget{EnvSteps: MediumSteps(r.Algorithm, r.Env)}); larger.Processor != 500 {
		t.Errorf("larger networks: %.0f s", larger.Processor)
	}
	r.measure(runs.Budget{EnvSteps: MediumSteps(r.Algorithm, r.Env)})
	if r.Processor != 360 || r.CPUSeconds != 360 || r.Machine != machine || machine == "" {
		t.Errorf("%.0f s on %q", r.Processor, r.Machine)
	}
	for _, budget := range []runs.Budget{{}, {EnvSteps: 1000}, {CPU: MediumTime}} {
		kept := other
		if kept.measure(budget); kept.Processor != 500 || kept.Machine != "another" {
			t.Errorf("%v: %.0f s on %q", budget, kept.Processor, kept.Machine)
		}
	}
}
