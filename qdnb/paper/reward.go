package paper

import (
	"fmt"
	"slices"
	"strings"

	"example.com/qdnb/qdnb/algorithms/records"
	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/plot/tables"
	"example.com/qdnb/qdnb/stats"
)

// RewardImpact compares the effect of the task's reward in these runs and in the paper's tables 9
// and 10: on each environment, the median QD score of DIAYN and DADS divided by that of
// DIAYN+REWARD and DADS+REWARD. Both scores have the same budget, so small runs are comparable with
// the paper's.
func RewardImpact(data *Data) (*tables.Table, error) {
	_, envs, err := trained(data, results.ExperimentReward)
	if err != nil {
		return nil, err
	}
	table := &tables.Table{
		Caption: "QD score without the task's reward, relative to that with it (medians over seeds)",
		Header:  []string{"environment"},
		Notes:   []string{"1: no loss; below 1: the reward helps."},
	}
	for _, label := range records.Names(records.Unrewarded) {
		table.Header = append(table.Header, figures.MethodName(label)+", here", "in the paper")
	}
	for _, env := range envs {
		row := []string{env}
		for _, label := range records.Names(records.Unrewarded) {
			here, there := "", ""
			without, with := data.Scores(label, env, results.QDScore),
				data.Scores(label+"-reward", env, results.QDScore)
			if len(without) > 0 && len(with) > 0 {
				here = ratio(stats.Median(without), stats.Median(with))
			}
			published, ok := publishedMedian(label, env, results.QDScore)
			rewarded, both := publishedMedian(label+"-reward", env, results.QDScore)
			if ok && both {
				there = ratio(published.Median, rewarded.Median)
			}
			row = append(row, here, there)
		}
		table.Rows = append(table.Rows, tables.Row(row...))
	}
	table.Notes[0] = data.withMissing(table.Notes[0], slices.DeleteFunc(rewardMethods(),
		func(method string) bool { return strings.HasPrefix(method, "smerl") }), envs)
	return table, nil
}

// ratio formats a / b with two decimals. It is empty for b = 0, an empty repertoire.
func ratio(a, b float64) string {
	if b == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", a/b)
}

// rewardMethods lists the methods of the experiment "reward": each diversity without the task's
// reward, summed with it, and in SMERL.
func rewardMethods() (list []string) {
	for _, name := range records.Names(records.Unrewarded) {
		list = append(append(list, name), records.With(name)...)
	}
	return list
}
