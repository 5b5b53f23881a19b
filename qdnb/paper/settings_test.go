package paper

import (
	"slices"
	"strings"
	"testing"
)

func TestSettingsNeedNoRuns(t *testing.T) {
	for id, want := range map[string][]string{
		"table-2": {"DADS+REWARD,–,–,✓,✓,–,✓,–,✓,–\n", "PGA-AURORA,✓,✓,✓,–,✓,✓,–,–,–\n", "MAP-Elites,✓,✓,–,–,–,–,–,–,–\n", "SMERL(DIAYN),–,–,✓,✓,–,✓,✓,–,✓\n"},
		"table-3": {"0,11.739233,35.159004\n", "9,19.50973,14.577911\n"},
		"table-4": {"reward scaling κ,\"1 (ant-uni, walker-uni: 10; halfcheetah-uni: 5)\",reward_scaling,",
			"SMERL's target R*,ant-trap: 450; ant-maze: -6820; pointmaze: -66;", "steps between earlier ones,0,early_interval,", "skills,5,num_skills,paper\n", "α is not learned,yes,fix_alpha,code\n"},
		"table-5": {"iso sigma σ₁,0.005,iso_sigma,paper\n", "hidden layers of policies,\"256, 256\",hidden,code\n"},
		"table-6": {"critic steps per generation,300,"},
		"table-7": {"components of the learned descriptor,5,latent,paper\n", "sequences hold,\"only_sd (ant-uni, walker-uni, halfcheetah-uni: no_sd)\","},
	} {
		item, err := Find(id)
		if err != nil {
			t.Fatal(err)
		}
		table, err := item.Table(nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range want {
			if got := table.CSV(); !strings.Contains(got, "\n"+line) {
				t.Errorf("%s lacks %q:\n%s", id, line, got)
			}
		}
		if number := strings.TrimPrefix(id, "table-"); !strings.Contains(table.Caption, "the paper's table "+number) {
			t.Errorf("%s is called %q", id, table.Caption)
		}
	}
}

// A row has the values of all environments, and none of a table is there twice.
func TestHyperparameters(t *testing.T) {
	for _, number := range []int{4, 5, 6, 7} {
		rows, methods := Hyperparameters(number)
		var settings []string
		for _, h := range rows {
			for _, env := range paperEnvs {
				if h.On(env) == "" {
					t.Errorf("table %d: %s has no value on %s", number, h.Name, env)
				}
			}
			for env := range h.Values {
				if !slices.Contains(paperEnvs, env) {
					t.Errorf("table %d: %s has a value on %s", number, h.Name, env)
				}
			}
			settings = append(settings, h.Setting)
		}
		slices.Sort(settings)
		if len(slices.Compact(slices.Clone(settings))) != len(settings) || len(methods) == 0 {
			t.Errorf("table %d of %v has %v", number, methods, settings)
		}
	}
	if rows, methods := Hyperparameters(1); rows != nil || methods != nil {
		t.Errorf("table 1 has %v", rows)
	}
	if _, err := HyperparameterTable(8); err == nil || !strings.Contains(err.Error(), "4 to 7") {
		t.Error(err)
	}
}

// Every table of the paper is there by its number.
func TestTablesOfThePaper(t *testing.T) {
	var ids []string
	for _, item := range Items() {
		if item.Table != nil {
			ids = append(ids, item.ID)
		}
	}
	want := "table-1 table-2 table-3 table-4 table-5 table-6 table-7 table-8 table-9 table-10 table-11"
	if got := strings.Join(ids, " "); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
