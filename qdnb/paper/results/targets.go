package results

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"example.com/qdnb/qdnb/stats"
)

// SMERLTarget is SMERL's target return on an environment.
type SMERLTarget struct {
	Env    string
	Seeds  int
	Target float64 // median over seeds of SAC's best return
	Margin float64 // 10 % of the target's magnitude
}

// SMERLTargets returns the targets measured by the SAC runs.
func (t *Tables) SMERLTargets() []SMERLTarget {
	samples := map[string][]float64{}
	for _, r := range t.finished(ExperimentTargets) {
		samples[r.Env] = append(samples[r.Env], r.MaxFitness)
	}
	var list []SMERLTarget
	for env, x := range samples {
		target := stats.Median(x)
		list = append(list, SMERLTarget{Env: env, Seeds: len(x), Target: target,
			Margin: 0.1 * math.Abs(target)})
	}
	slices.SortFunc(list, func(a, b SMERLTarget) int { return byEnv(a.Env, b.Env) })
	return list
}

// smerlTargetsHeader are the columns of smerl_targets_summary.csv.
const smerlTargetsHeader = "env,seeds,target,margin"

// ReadSMERLTargets reads the SMERL targets of each environment from a smerl_targets_summary.csv
// written by [Tables.Write].
func ReadSMERLTargets(path string) ([]SMERLTarget, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("SMERL's targets: %w; write them with `qdnb sweep results` for the "+
			"experiment smerl-targets", err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(rows) < 2 || strings.Join(rows[0], ",") != smerlTargetsHeader {
		return nil, fmt.Errorf("%s has no targets: use the smerl_targets_summary.csv of a complete "+
			"experiment smerl-targets", path)
	}
	var list []SMERLTarget
	for _, row := range rows[1:] {
		target := SMERLTarget{Env: row[0]}
		var numbers [3]float64
		for i := range numbers {
			if numbers[i], err = strconv.ParseFloat(row[1+i],
				64); err != nil || math.IsNaN(numbers[i]) || math.IsInf(numbers[i], 0) {
				return nil, fmt.Errorf("%s: the target on %s is %q, not a number: the SAC runs on it are "+
					"damaged or empty", path, row[0], row[1+i])
			}
		}
		target.Seeds, target.Target, target.Margin = int(numbers[0]), numbers[1], numbers[2]
		list = append(list, target)
	}
	return list, nil
}
