package paper

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/paper/sweep"
	"example.com/qdnb/qdnb/runs"
)

func TestSettingsNeedNoRuns(t *testing.T) {
	for id, want := range map[string][]string{
		"table-2": {"DADS+REWARD,–,–,✓,✓,–,✓,–,✓,–\n", "PGA-AURORA,✓,✓,✓,–,✓,✓,–,–,–\n",
			"MAP-Elites,✓,✓,–,–,–,–,–,–,–\n", "SMERL(DIAYN),–,–,✓,✓,–,✓,✓,–,✓\n"},
		"table-3": {"0,11.739233,35.159004\n", "9,19.50973,14.577911\n"},
		"table-4": {"hidden layers of actor and critics,\"256, 256\",hidden,paper\n",
			"hidden layers of discriminator or dynamics,\"256, 256\",diversity_hidden,paper\n",
			"reward scaling κ,\"1 (ant-uni, walker-uni: 10; halfcheetah-uni: 5)\",reward_scaling,",
			"SMERL's target R*,ant-trap: 450; ant-maze: -6820; pointmaze: -66;",
			"steps between early evaluations,0,early_interval,", "skills,5,num_skills,paper\n",
			"fixed α,yes,fix_alpha,code\n"},
		"table-5": {"iso sigma σ₁,0.005,iso_sigma,paper\n",
			"hidden layers of policies,\"256, 256\",hidden,paper\n"},
		"table-6": {"critic steps per generation,300,",
			"hidden layers of critics,\"256, 256\",critic_hidden,paper\n"},
		"table-7": {"hidden layers of policies,\"256, 256\",hidden,code\n",
			"dimensions of the learned descriptor,5,latent,paper\n",
			"content of sequences,\"only_sd (ant-uni, walker-uni, halfcheetah-uni: no_sd)\","},
	} {
		item := must.Get(Find(id))
		table := must.Get(item.Table(new(Data)))
		for _, line := range want {
			if got := table.CSV(); !strings.Contains(got, "\n"+line) {
				t.Errorf("%s lacks %q:\n%s", id, line, got)
			}
		}
		if number := strings.TrimPrefix(id, "table-"); !strings.Contains(table.Caption, "the paper's table "+number) {
			t.Errorf("%s has the caption %q", id, table.Caption)
		}
	}
}

// Table 4 notes the runs' reward scaling where the paper and its code disagree.
func TestTableOfHyperparametersSaysWhichScalingRunsHave(t *testing.T) {
	item := must.Get(Find("table-4"))
	line := func(algorithm, env, settings string) sweep.Line {
		return sweep.Line{Run: runs.Config{Algorithm: algorithm, Env: env,
			Hyperparameters: json.RawMessage(settings)}}
	}
	for scaling, want := range map[string]string{
		"10": "κ of these runs on walker-uni is 10, its code's: DADS+REWARD.",
		"1":  "κ of these runs on walker-uni is 1, the paper's: DADS+REWARD.",
	} {
		data := &Data{Lines: []sweep.Line{
			line("dads-reward", "walker-uni", `{"reward_scaling":`+scaling+`,"env_batch_size":200}`),
			line("dads-reward", "ant-uni", `{"reward_scaling":7,"env_batch_size":200}`),
			line("pga-map-elites", "walker-uni", `{"reward_scaling":7}`),
			line("map-elites", "walker-uni", `{}`),
		}}
		table := must.Get(item.Table(data))
		errtest.Equal(t, "the note", table.Notes[len(table.Notes)-1], want)
	}
}

// A row has values for all environments, and no row of a table is repeated.
func TestHyperparameters(t *testing.T) {
	for _, number := range []int{4, 5, 6, 7} {
		rows, methods := Hyperparameters(number)
		var settings []string
		for _, h := range rows {
			for _, env := range paperEnvs {
				if cmp.Or(h.Values[env], h.Value) == "" {
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
	errtest.Want(t, errtest.Of(HyperparameterTable(8)), "4 to 7")
}

// Items has every table of the paper.
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
