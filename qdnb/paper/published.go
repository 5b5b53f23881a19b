package paper

import (
	_ "embed"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/algorithms/records"
	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/plot/tables"
)

// PublishedScore is a number printed in the paper for a method on an environment, over five seeds
// of two hours each.
//
// For evident misprints the numbers are corrected, Printed is the printed text and Note explains
// the correction. If tables disagree and neither is evidently right, each number is as printed,
// with a Note.
type PublishedScore struct {
	Table       int // 1, 8, 9, 10 or 11
	Metric      results.Metric
	Method, Env string // Env is empty in table 8, which averages over environments
	// Numbers that a table does not print are NaN. Tables 1, 9 and 10 print the median, 9 and 10 also
	// the standard deviation, 8 the mean, 11 the mean, median and interquartile mean.
	Mean, Median, Std, IQM float64
	Printed                string
	Note                   string
}

//go:embed published_scores.csv
var publishedCSV string

var publishedScores = sync.OnceValue(func() (list []PublishedScore) {
	for _, row := range readTable(publishedCSV) {
		number := func(column int) float64 {
			if row[column] == "" {
				return math.NaN()
			}
			return must.Get(strconv.ParseFloat(row[column], 64))
		}
		list = append(list, PublishedScore{Table: must.Get(strconv.Atoi(row[0])),
			Metric: results.Metric(row[1]), Method: row[2], Env: row[3], Mean: number(4), Median: number(5),
			Std: number(6), IQM: number(7), Printed: row[8], Note: row[9]})
	}
	return list
})

// readTable returns the rows of an embedded CSV table without its header.
func readTable(text string) [][]string {
	return must.Get(csv.NewReader(strings.NewReader(text)).ReadAll())[1:]
}

// Published returns the numbers of a table of the paper: 1 and 9 (max fitness and QD score), 8
// (environment steps), 10 (as table 9, for the methods without rewards; its other rows repeat table
// 9) or 11 (averages). Other tables return nil.
func Published(table int) (list []PublishedScore) {
	for _, p := range publishedScores() {
		if table == 1 && p.Table == 9 { // table 1 is table 9 without standard deviations
			p.Table, p.Std = 1, math.NaN()
		}
		if p.Table == table {
			list = append(list, p)
		}
	}
	return list
}

// PublishedOf looks up a number of a table; ok is false if the table does not have it.
func PublishedOf(table int, method, env string, metric results.Metric) (score PublishedScore, ok bool) {
	for _, p := range Published(table) {
		if p.Method == method && p.Env == env && p.Metric == metric {
			return p, true
		}
	}
	return PublishedScore{}, false
}

// publishedMedian returns the median of table 9, or of table 10 for methods only printed there.
func publishedMedian(method, env string, metric results.Metric) (PublishedScore, bool) {
	if p, ok := PublishedOf(9, method, env, metric); ok {
		return p, true
	}
	return PublishedOf(10, method, env, metric)
}

// hyperparameters returns one of the tables 4 to 7.
func hyperparameters(number int) Item {
	return listed(number, hyperparameterTables[number].caption,
		func(*Data) (*tables.Table, error) { return HyperparameterTable(number) })
}

// components are the components of table 2 and the methods that have them.
var components = []struct {
	name    string
	methods []string
}{
	{"genetic mutation", qdMethods},
	{"MAP-Elites", qdMethods},
	{"policy gradient", slices.Concat(records.Compared("pga"), rlMethods)},
	{"SAC", rlMethods},
	{"TD3", records.Compared("pga")},
	{"unsupervised diversity", slices.Concat(records.Compared("aurora"), rlMethods)},
	{"SMERL's sum", records.Compared("smerl")},
	{"DADS' diversity", records.Compared("dads")},
	{"DIAYN's diversity", records.Compared("diayn")},
}

// Components returns table 2: the components of the eight methods.
func Components() *tables.Table {
	table := &tables.Table{Caption: "Components shared by the methods (the paper's table 2)", Header: []string{"method"}}
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
		Notes:   []string{"Targets are numbered from 0, as in results. The training target is at (35, 0)."},
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
	// Only are the methods that have it; none for all methods of the table.
	Only []string
}

// hyperparameterTables are the captions and methods of the paper's tables by number.
var hyperparameterTables = map[int]struct {
	caption string
	methods []string
}{
	4: {"Hyperparameters of DIAYN, DADS and SMERL", slices.Concat(rlMethods, records.Names(records.Unrewarded))},
	5: {"Hyperparameters of MAP-Elites", []string{"map-elites"}},
	6: {"Hyperparameters of PGA-MAP-Elites", records.Compared("pga")},
	7: {"Hyperparameters of AURORA", records.Compared("aurora")},
}

// publishedHyperparameters has the rows of all tables. Its exceptions are values by environment.
//
//go:embed published_hyperparameters.csv
var publishedHyperparameters string

var parseHyperparameters = sync.OnceValue(func() map[int][]Hyperparameter {
	tables := map[int][]Hyperparameter{}
	for _, row := range readTable(publishedHyperparameters) {
		h := Hyperparameter{Name: row[1], Setting: row[2], Value: row[3], Values: map[string]string{},
			Printed: row[5] == "paper", Only: strings.Fields(row[6]), Here: row[7], Note: row[8]}
		for _, exception := range strings.Fields(row[4]) {
			env, value, _ := strings.Cut(exception, "=")
			h.Values[env] = value
		}
		number := must.Get(strconv.Atoi(row[0]))
		tables[number] = append(tables[number], h)
	}
	return tables
})

// Hyperparameters returns the rows of one of the paper's tables 4 to 7 and the methods it covers: 4
// DIAYN, DADS and SMERL with and without reward, 5 MAP-Elites, 6 PGA-MAP-Elites, 7 AURORA.
// PGA-AURORA uses tables 6 and 7. Other tables return nothing.
func Hyperparameters(table int) (rows []Hyperparameter, methods []string) {
	return slices.Clone(parseHyperparameters()[table]), slices.Clone(hyperparameterTables[table].methods)
}

// HyperparameterTable returns one of the paper's tables 4 to 7; see [Hyperparameters]. Other
// numbers are an error.
func HyperparameterTable(number int) (*tables.Table, error) {
	rows, _ := Hyperparameters(number)
	if len(rows) == 0 {
		return nil, fmt.Errorf("table %d of the paper has no hyperparameters: tables 4 to 7 do", number)
	}
	table := &tables.Table{
		Caption: fmt.Sprintf("%s (the paper's table %d)", hyperparameterTables[number].caption, number),
		Header:  []string{"hyperparameter", "value", "setting", "source"},
		Notes:   []string{"Setting: name in run configurations. Source: the paper, or only its published code."},
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
