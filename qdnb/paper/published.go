package paper

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

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

var publishedScores = sync.OnceValues(func() ([]PublishedScore, error) {
	return parsePublished(publishedCSV)
})

// parsePublished reads the table of published numbers.
func parsePublished(text string) (list []PublishedScore, err error) {
	err = readTable(text, "table,metric,method,env,mean,median,std,iqm,printed,note",
		func(row []string) (err error) {
			p := PublishedScore{Metric: results.Metric(row[1]), Method: row[2], Env: row[3],
				Printed: row[8], Note: row[9]}
			if p.Table, err = strconv.Atoi(row[0]); err != nil {
				return err
			}
			for k, target := range []*float64{&p.Mean, &p.Median, &p.Std, &p.IQM} {
				if *target = math.NaN(); row[4+k] == "" {
					continue
				}
				if *target, err = strconv.ParseFloat(row[4+k], 64); err != nil {
					return err
				}
			}
			list = append(list, p)
			return nil
		})
	return list, err
}

// readTable calls parse with the rows of a CSV table that has the given header.
func readTable(text, header string, parse func(row []string) error) error {
	lines, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		return err
	}
	if len(lines) == 0 || strings.Join(lines[0], ",") != header {
		return fmt.Errorf("the header is not %s", header)
	}
	for i, row := range lines[1:] {
		if err := parse(row); err != nil {
			return fmt.Errorf("line %d: %w", i+2, err)
		}
	}
	return nil
}

// Published returns the numbers of a table of the paper: 1 and 9 (max fitness and QD score), 8
// (environment steps), 10 (as table 9, for the methods without rewards; its other rows repeat table
// 9) or 11 (averages). Other tables return nil.
func Published(table int) []PublishedScore {
	all, err := publishedScores()
	if err != nil { // cannot happen: tests parse the file
		return nil
	}
	from := table
	if table == 1 { // table 1 is table 9 without standard deviations
		from = 9
	}
	var list []PublishedScore
	for _, p := range all {
		if p.Table != from {
			continue
		}
		if table == 1 {
			p.Table, p.Std = 1, math.NaN()
		}
		list = append(list, p)
	}
	return list
}

// PublishedOf looks up a number of a table; ok is false if the table does not have it.
func PublishedOf(table int, method, env string, metric results.Metric) (score PublishedScore,
	ok bool) {
	list := Published(table)
	i := slices.IndexFunc(list,
		func(p PublishedScore) bool { return p.Method == method && p.Env == env && p.Metric == metric })
	if i < 0 {
		return PublishedScore{}, false
	}
	return list[i], true
}

// publishedMedian returns the median of table 9, or of table 10 for methods only printed there.
func publishedMedian(method, env string, metric results.Metric) (PublishedScore, bool) {
	if p, ok := PublishedOf(9, method, env, metric); ok {
		return p, true
	}
	return PublishedOf(10, method, env, metric)
}
