package paper

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/qdnb/paper/protocol"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/plot/tables"
)

var settingItems = []Item{
	{ID: "table-2", Title: "Components shared by the methods", Table: withoutRuns(Components)},
	{ID: "table-3", Title: "Target positions of ant-maze in few-shot adaptation",
		Table: withoutRuns(MazeTargets)},
	{ID: "table-4", Title: "Hyperparameters of DIAYN, DADS and SMERL", Table: hyperparameters(4)},
	{ID: "table-5", Title: "Hyperparameters of MAP-Elites", Table: hyperparameters(5)},
	{ID: "table-6", Title: "Hyperparameters of PGA-MAP-Elites", Table: hyperparameters(6)},
	{ID: "table-7", Title: "Hyperparameters of AURORA", Table: hyperparameters(7)},
}

// withoutRuns adapts a table that needs no runs.
func withoutRuns(table func() *tables.Table) func(*Data) (*tables.Table, error) {
	return func(*Data) (*tables.Table, error) { return table(), nil }
}

// hyperparameters returns the table function of one of the tables 4 to 7.
func hyperparameters(number int) func(*Data) (*tables.Table, error) {
	return func(d *Data) (*tables.Table, error) {
		table, err := HyperparameterTable(number)
		if err == nil && number == 4 {
			table.Notes = append(table.Notes, scalingNotes(d)...)
		}
		return table, err
	}
}

// components are the components of table 2 and the methods that have them.
var components = []struct {
	name    string
	methods []string
}{
	{"genetic mutation", qdMethods},
	{"MAP-Elites", qdMethods},
	{"policy gradient", slices.Concat(protocol.With("pga"), rlMethods)},
	{"SAC", rlMethods},
	{"TD3", protocol.With("pga")},
	{"unsupervised diversity", slices.Concat(protocol.With("aurora"), rlMethods)},
	{"SMERL's sum", protocol.With("smerl")},
	{"DADS' diversity", protocol.With("dads")},
	{"DIAYN's diversity", protocol.With("diayn")},
}

// Components returns table 2: the components of the eight methods.
func Components() *tables.Table {
	table := &tables.Table{Caption: "Components shared by the methods (the paper's table 2)",
		Header: []string{"method"}}
	for _, c := range components {
		table.Header = append(table.Header, c.name)
	}
	for _, method := range allMethods {
		row := []string{figures.MethodName(method)}
		for _, c := range components {
			mark := none
			if slices.Contains(c.methods, method) {
				mark = "✓"
			}
			row = append(row, mark)
		}
		table.Rows = append(table.Rows, tables.Row(row...))
	}
	return table
}

// MazeTargets returns table 3: the ten target positions for adaptation on ant-maze.
func MazeTargets() *tables.Table {
	table := &tables.Table{
		Caption: "Target positions of ant-maze in few-shot adaptation (the paper's table 3)",
		Header:  []string{"target", "x (m)", "y (m)"},
		Notes: []string{"Targets are numbered from 0, as in results. The training target is at " +
			"(35, 0)."},
	}
	for i, p := range catalog.Targets() {
		table.Rows = append(table.Rows, tables.Row(strconv.Itoa(i),
			strconv.FormatFloat(p[0], 'g', -1, 64), strconv.FormatFloat(p[1], 'g', -1, 64)))
	}
	return table
}

// Hyperparameter is a row of the paper's tables 4 to 7.
type Hyperparameter struct {
	Name    string
	Setting string            // its name in `qdnb train --set`
	Value   string            // JSON, for environments not in Values; empty if Values has all
	Values  map[string]string // JSON by environment
	// Printed means that the paper gives the value. Other values are only in its published code.
	Printed bool
	Note    string // disagreement between sources
	Here    string // JSON of the default of `qdnb train`, if different
	// Only are the methods that have it; nil for all methods of the table.
	Only []string
}

// On returns the value on an environment, in JSON.
func (h Hyperparameter) On(env string) string {
	if value, ok := h.Values[env]; ok {
		return value
	}
	return h.Value
}

// Hyperparameters in several tables.
var (
	rewarded  = rlMethods
	selective = protocol.With("smerl")

	episodes = Hyperparameter{Name: "episode length", Setting: "episode_length", Value: "250",
		Values: map[string]string{"ant-maze": "500"}}
	cells = Hyperparameter{Name: "cells of the repertoire", Setting: "cells", Value: "1024",
		Printed: true}
	samples = Hyperparameter{Name: "points of its tessellation", Setting: "cvt_samples",
		Value: "50000"}
	policies = Hyperparameter{Name: "hidden layers of policies", Setting: "hidden",
		Value: "[256,256]", Printed: true}
	isoSigma = Hyperparameter{Name: "iso sigma σ₁", Setting: "iso_sigma", Value: "0.005",
		Printed: true}
	lineSigma = Hyperparameter{Name: "line sigma σ₂", Setting: "line_sigma", Value: "0.05",
		Printed: true}
)

// hyperparameterTables are the paper's tables by number.
var hyperparameterTables = map[int]struct {
	caption string
	methods []string
	rows    []Hyperparameter
}{
	4: {"Hyperparameters of DIAYN, DADS and SMERL",
		slices.Concat(rlMethods, protocol.Unrewarded()), []Hyperparameter{
			{Name: "parallel environments", Setting: "env_batch_size", Value: "200", Printed: true},
			{Name: "batch size", Setting: "batch_size", Value: "256", Printed: true},
			{Name: "learning rate", Setting: "learning_rate", Value: "0.0003", Printed: true},
			{Name: "discount γ", Setting: "discount", Value: "0.99", Printed: true},
			{Name: "entropy coefficient α", Setting: "alpha_init", Value: "0.1", Printed: true},
			{Name: "fixed α", Setting: "fix_alpha", Value: "true"},
			{Name: "target network update rate τ", Setting: "tau", Value: "0.005"},
			{Name: "updates per transition", Setting: "grad_updates_per_step", Value: "1"},
			{Name: "replay buffer", Setting: "replay_buffer_size", Value: "1000000"},
			{Name: "hidden layers of actor and critics", Setting: "hidden", Value: "[256,256]",
				Printed: true},
			{Name: "hidden layers of discriminator or dynamics", Setting: "diversity_hidden",
				Value: "[256,256]", Printed: true},
			{Name: "skills", Setting: "num_skills", Value: "5", Printed: true},
			{Name: "reward scaling κ", Setting: "reward_scaling", Value: "1", Printed: true,
				Values: map[string]string{"ant-uni": "10", "walker-uni": "10", "halfcheetah-uni": "5"},
				Note: "on walker-uni the paper prints 1, its code has 10 (the default; --constants paper " +
					"takes 1)"},
			{Name: "diversity reward scale β", Setting: "diversity_reward_scale", Value: "2", Printed: true,
				Values: map[string]string{"ant-omni": "4", "ant-maze": "3"}, Only: rewarded},
			{Name: "diversity on whole observations", Setting: "descriptor_full_state", Value: "false",
				Printed: true,
				Values:  map[string]string{"ant-uni": "true", "walker-uni": "true", "halfcheetah-uni": "true"}},
			{Name: "SMERL's target R*", Setting: "smerl_target", Printed: true, Only: selective,
				Values: map[string]string{
					"ant-trap": "450", "ant-maze": "-6820", "pointmaze": "-66", "ant-uni": "1700",
					"ant-omni": "249", "walker-uni": "1180",
					"halfcheetah-uni": "2050"}},
			{Name: "SMERL's margin ε", Setting: "smerl_margin", Printed: true, Only: selective,
				Values: map[string]string{
					"ant-trap": "45", "ant-maze": "682", "pointmaze": "6.6", "ant-uni": "170", "ant-omni": "24.9",
					"walker-uni":      "118",
					"halfcheetah-uni": "205"}},
			episodes,
			cells,
			{Name: "steps between evaluations", Setting: "evaluation_interval", Value: "100000",
				Printed: true},
			{Name: "steps between early evaluations", Setting: "early_interval", Value: "0", Here: "5000",
				Note: "0 in plans at scale paper; 5000 by default, to get results from short runs"},
			{Name: "episodes per skill and evaluation", Setting: "evaluation_states", Value: "40"},
		}},
	5: {"Hyperparameters of MAP-Elites", []string{"map-elites"}, []Hyperparameter{
		{Name: "policies per generation", Setting: "batch", Value: "1000", Printed: true},
		isoSigma, lineSigma, cells, samples, policies, episodes,
	}},
	6: {"Hyperparameters of PGA-MAP-Elites", protocol.With("pga"),
		[]Hyperparameter{
			{Name: "policies per generation", Setting: "batch", Value: "100", Printed: true},
			{Name: "fraction of genetic variation", Setting: "isoline_share", Value: "0.5", Printed: true},
			isoSigma, lineSigma,
			{Name: "critic steps per generation", Setting: "num_critic_training_steps", Value: "300",
				Printed: true},
			{Name: "gradient steps per offspring", Setting: "num_pg_training_steps", Value: "100",
				Printed: true},
			{Name: "learning rate of offspring", Setting: "policy_learning_rate", Value: "0.001",
				Printed: true},
			{Name: "learning rate of critics", Setting: "critic_learning_rate", Value: "0.0003",
				Printed: true},
			{Name: "learning rate of the greedy actor", Setting: "greedy_learning_rate", Value: "0.0003"},
			{Name: "noise of target actions", Setting: "policy_noise", Value: "0.2", Printed: true},
			{Name: "clip of target noise", Setting: "noise_clip", Value: "0.5", Printed: true},
			{Name: "discount γ", Setting: "discount", Value: "0.99", Printed: true},
			{Name: "reward scaling", Setting: "reward_scaling", Value: "1", Printed: true},
			{Name: "batch size", Setting: "transitions_batch_size", Value: "256"},
			{Name: "target network update rate τ", Setting: "soft_tau_update", Value: "0.005"},
			{Name: "critic steps per actor step", Setting: "policy_delay", Value: "2"},
			{Name: "replay buffer", Setting: "replay_buffer_size", Value: "1000000"},
			{Name: "hidden layers of critics", Setting: "critic_hidden", Value: "[256,256]", Printed: true},
			cells, samples, policies, episodes,
		}},
	7: {"Hyperparameters of AURORA", protocol.With("aurora"), []Hyperparameter{
		{Name: "dimensions of the learned descriptor", Setting: "latent", Value: "5", Printed: true},
		{Name: "initial distance threshold", Setting: "threshold", Value: "0.2", Printed: true},
		{Name: "archive capacity", Setting: "capacity", Value: "1024"},
		{Name: "policies per generation", Setting: "batch", Value: "1000", Only: []string{"aurora"},
			Note: "100 for PGA-AURORA"},
		isoSigma, lineSigma,
		{Name: "content of sequences", Setting: "observation", Value: `"only_sd"`, Printed: true,
			Values: map[string]string{"ant-uni": `"no_sd"`, "walker-uni": `"no_sd"`,
				"halfcheetah-uni": `"no_sd"`},
			Note: "only_sd: positions; no_sd: observations"},
		{Name: "steps between sequence elements", Setting: "sampling", Value: "10"},
		{Name: "features per observation", Setting: "max_observation", Value: "25",
			Note: "the paper says full state"},
		{Name: "generations per loop", Setting: "loop", Value: "10"},
		{Name: "auto-encoder epochs, loops up to 100", Setting: "epochs", Value: "100"},
		{Name: "auto-encoder epochs, later loops", Setting: "late_epochs", Value: "25"},
		{Name: "auto-encoder batch size", Setting: "training_batch", Value: "128"},
		{Name: "auto-encoder learning rate", Setting: "ae_learning_rate", Value: "0.0001"},
		cells, samples,
		{Name: policies.Name, Setting: policies.Setting, Value: policies.Value},
		{Name: episodes.Name, Setting: episodes.Setting, Value: episodes.Value, Values: episodes.Values,
			Note: "on pointmaze the published code has 200, which the paper's scores do not fit"},
	}},
}

// Hyperparameters returns the rows of one of the paper's tables 4 to 7 and the methods it covers: 4
// DIAYN, DADS and SMERL with and without reward, 5 MAP-Elites, 6 PGA-MAP-Elites, 7 AURORA.
// PGA-AURORA uses tables 6 and 7. Other tables return nothing.
func Hyperparameters(table int) (rows []Hyperparameter, methods []string) {
	p := hyperparameterTables[table]
	return slices.Clone(p.rows), slices.Clone(p.methods)
}

// HyperparameterTable returns one of the paper's tables 4 to 7; see [Hyperparameters]. Other
// numbers are an error.
func HyperparameterTable(number int) (*tables.Table, error) {
	rows, _ := Hyperparameters(number)
	if len(rows) == 0 {
		return nil, fmt.Errorf("table %d of the paper has no hyperparameters: tables 4 to 7 do",
			number)
	}
	table := &tables.Table{
		Caption: fmt.Sprintf("%s (the paper's table %d)", hyperparameterTables[number].caption, number),
		Header:  []string{"hyperparameter", "value", "setting", "source"},
		Notes: []string{"Setting: name in run configurations. Source: the paper, or only its " +
			"published code."},
	}
	for _, h := range rows {
		source := "code"
		if h.Printed {
			source = "paper"
		}
		if h.Note != "" {
			source += "; " + h.Note
		}
		table.Rows = append(table.Rows, tables.Row(h.Name, h.text(), h.Setting, source))
	}
	return table, nil
}

// scalingNotes states the reward scaling of the training runs on walker-uni, where the paper and
// its code disagree.
func scalingNotes(d *Data) (notes []string) {
	if d == nil {
		return nil
	}
	methods := map[float64][]string{}
	for _, line := range d.Lines {
		var s struct {
			Scaling *float64 `json:"reward_scaling"`
			Envs    int      `json:"env_batch_size"` // set by reinforcement-learning methods only
		}
		if line.Run.Env != "walker-uni" || json.Unmarshal(line.Run.Hyperparameters,
			&s) != nil || s.Scaling == nil || s.Envs == 0 {
			continue
		}
		name := figures.MethodName(line.Run.Algorithm)
		if !slices.Contains(methods[*s.Scaling], name) {
			methods[*s.Scaling] = append(methods[*s.Scaling], name)
		}
	}
	for _, scaling := range slices.Sorted(maps.Keys(methods)) {
		origin := map[float64]string{1: "the paper's", 10: "its code's"}[scaling]
		if origin == "" {
			origin = "neither the paper's nor its code's"
		}
		notes = append(notes, fmt.Sprintf("κ of these runs on walker-uni is %g, %s: %s.", scaling, origin,
			strings.Join(methods[scaling], ", ")))
	}
	return notes
}

// text formats the value for readers, with its exceptions.
func (h Hyperparameter) text() string {
	var values []string
	envs := map[string][]string{}
	for _, env := range curveEnvs {
		if value, ok := h.Values[env]; ok {
			if envs[value] == nil {
				values = append(values, value)
			}
			envs[value] = append(envs[value], env)
		}
	}
	var parts []string
	for _, value := range values {
		parts = append(parts, strings.Join(envs[value], ", ")+": "+plain(value))
	}
	exceptions := strings.Join(parts, "; ")
	switch {
	case h.Value == "":
		return exceptions
	case exceptions == "":
		return plain(h.Value)
	}
	return plain(h.Value) + " (" + exceptions + ")"
}

// plain formats a JSON value for readers.
func plain(value string) string {
	var v any
	if json.Unmarshal([]byte(value), &v) != nil {
		return value
	}
	switch v := v.(type) {
	case bool:
		if v {
			return "yes"
		}
		return "no"
	case string:
		return v
	case []any:
		return strings.ReplaceAll(strings.Trim(value, "[]"), ",", ", ")
	}
	return value
}
