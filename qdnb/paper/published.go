package paper

import (
	_ "embed"
	"encoding/csv"
	"math"
	"strconv"
	"strings"
	"sync"

	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/paper/results"
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
func PublishedOf(table int, method, env string, metric results.Metric) (score PublishedScore,
	ok bool) {
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
