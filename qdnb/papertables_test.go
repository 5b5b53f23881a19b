package qdnb

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/algorithms/records"
	"example.com/qdnb/qdnb/nb"
	"example.com/qdnb/qdnb/paper"
	"example.com/qdnb/qdnb/paper/protocol"
	"example.com/qdnb/qdnb/paper/results"
)

// The paper's tables of hyperparameters match those of the algorithms.
func TestPublishedHyperparametersAreTheDefaults(t *testing.T) {
	envs := protocol.Environments()
	covered := map[string]bool{}
	for _, table := range []int{4, 5, 6, 7} {
		rows, methods := paper.Hyperparameters(table)
		if len(rows) < 5 {
			t.Errorf("table %d has %d rows", table, len(rows))
		}
		for _, method := range methods {
			covered[method] = true
			for _, env := range envs {
				config := nb.Must(Spec{Algorithm: method, Env: env}.Config())
				var settings map[string]any
				nb.Check(json.Unmarshal(config.Hyperparameters, &settings))
				for _, row := range rows {
					if len(row.Only) > 0 && !slices.Contains(row.Only, method) {
						if got, ok := settings[row.Setting]; ok && table == 4 {
							t.Errorf("table %d: %s has %s, %v, too", table, method, row.Setting, got)
						}
						continue
					}
					var want any
					must.Do(json.Unmarshal([]byte(cmp.Or(row.Here, row.Values[env], row.Value)), &want))
					if got, ok := settings[row.Setting]; !ok || !reflect.DeepEqual(got, want) {
						t.Errorf("table %d: %s of %s on %s is %v, published is %v", table, row.Setting, method, env,
							got, want)
					}
				}
			}
		}
	}
	for _, method := range append(records.Compared(), records.Names(records.Unrewarded)...) {
		if !covered[method] {
			t.Errorf("no table has the hyperparameters of %s", method)
		}
	}
}

// Table 3 lists the targets that adaptation uses.
func TestPublishedTargets(t *testing.T) {
	targets, rows := catalog.Targets(), paper.MazeTargets().Rows
	if len(rows) != len(targets) {
		t.Fatalf("%d targets, not %d", len(rows), len(targets))
	}
	for i, row := range rows {
		for k := range 2 {
			if got := nb.Must(strconv.ParseFloat(row[1+k].Text,
				64)); got != targets[i][k] || row[0].Text != strconv.Itoa(i) {
				t.Errorf("target %d is %v, not %v", i, row, targets[i])
			}
		}
	}
}

// The paper's results are all of known methods, and the catalogue has the facts of the environments.
func TestProtocolIsThatOfTheProgram(t *testing.T) {
	methods := slices.Concat(records.Compared(), records.Names(records.Unrewarded), []string{"sac"})
	for _, table := range []int{1, 8, 9, 10, 11} {
		for _, p := range paper.Published(table) {
			if methods = append(methods, p.Method); p.Metric != results.EnvSteps {
				must.Get(envs.Make(p.Env))
			}
		}
	}
	for _, name := range methods {
		if !slices.Contains(Algorithms(), name) {
			t.Errorf("there is no algorithm %s", name)
		}
	}
	for _, task := range catalog.Tasks() {
		spec := nb.Must(envs.Make(task.Name)).Spec()
		// these follow from the model
		spec.Zero, spec.ObservationComponents, spec.ActionComponents = nil, task.ObservationComponents, task.ActionComponents
		if !reflect.DeepEqual(spec, task.Spec) {
			t.Errorf("%+v, want %+v", spec, task.Spec)
		}
	}
}
