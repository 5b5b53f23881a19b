package results

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"example.com/qdnb/internal/names"
	"example.com/qdnb/internal/npz/atomicfile"
	"example.com/qdnb/qdnb/algorithms/records"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/stats"
)

// Write writes the tables into a folder and returns the paths. It creates the folder if needed and
// replaces existing files. Numbers are written with full precision; numbers that are not finite are
// nan, inf or -inf. The files are
//
//	training.csv    a row for each training run of any experiment
//	adaptation.csv  the best skill at each value of a perturbation
//	control.csv     the evaluations of meta-controllers
//	curves.csv      every logged row of the training runs
//	summary.csv     statistics over seeds of what the paper's tables and figures show
//	smerl_targets_summary.csv  SMERL's targets, if there are runs of smerl-targets
func (t *Tables) Write(dir string) ([]string, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, fmt.Errorf("cannot create the folder %s: choose another one (%w)", dir, err)
	}
	var paths []string
	for _, f := range t.files() {
		path := filepath.Join(dir, f.name)
		if err := atomicfile.Write(path, f.write); err != nil {
			return paths, fmt.Errorf("%s: %w", path, err)
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// file is a CSV file: the names of its columns, separated by commas, and its rows.
type file struct {
	name, header string
	rows         [][]any
}

func (t *Tables) files() []file {
	training := file{name: "training.csv", header: "experiment,label,algorithm,env,seed,run,env_steps," +
		"seconds,generation,max_fitness,coverage,qd_score,finished,paper_steps,steps_ratio,a_name,a,b_name,b,prior"}
	curves := file{name: "curves.csv", header: "experiment,label,env,seed,run,env_steps,seconds,max_fitness,coverage,qd_score"}
	for _, r := range t.Trained {
		training.add(r.Experiment, r.Label, r.Algorithm, r.Env, r.Seed, r.Run, r.EnvSteps, r.Seconds,
			r.Generation, r.MaxFitness, r.Coverage, r.QDScore, r.Finished, r.PaperSteps(), r.StepsRatio(),
			r.A.Name, r.A.Value, r.B.Name, r.B.Value, r.Prior)
		for _, p := range r.Curve {
			curves.add(r.Experiment, r.Label, r.Env, r.Seed, r.Run, p.EnvSteps, p.Seconds, p.MaxFitness, p.Coverage, p.QDScore)
		}
	}
	adaptation := file{name: "adaptation.csv", header: "experiment,label,env,seed,perturbation,index,x,y," +
		"score,gain,skill,skills"}
	for _, a := range t.Adapted {
		for _, v := range a.Values {
			adaptation.add(a.Experiment, a.Label, a.Env, a.Seed, a.Perturbation, v.Index, v.X, v.Y, v.Score,
				a.Gain(v.X), v.Skill, v.Skills)
		}
	}
	control := file{name: "control.csv", header: "label,seed,env_steps,fitness_mean,fitness_max,hurdles_mean,hurdles_max"}
	for _, c := range t.Controlled {
		for _, p := range c.Curve {
			control.add(c.Label, c.Seed, p.EnvSteps, p.FitnessMean, p.FitnessMax, p.HurdlesMean, p.HurdlesMax)
		}
	}
	list := []file{training, curves, adaptation, control, t.summary()}
	if targets := t.SMERLTargets(); len(targets) > 0 {
		f := file{name: "smerl_targets_summary.csv", header: smerlTargetsHeader}
		for _, target := range targets {
			f.add(target.Env, target.Seeds, target.Target, target.Margin)
		}
		list = append(list, f)
	}
	return list
}

// summary aggregates over the seeds of an experiment, a label and an environment, at a value of a
// perturbation (x) or after some environment steps of a meta-controller (x). The row with the
// environment "all" has the interquartile mean of [Tables.Normalised] over environments and seeds, with the 95 %
// interval of a bootstrap that resamples seeds within each environment.
func (t *Tables) summary() file {
	f := file{name: "summary.csv", header: "experiment,label,env,metric,x,seeds,median,q1,q3,mean,std,iqm," +
		"median_low,median_high,iqm_low,iqm_high"}
	none := math.NaN()
	add := func(experiment, label, env, metric string, x float64, values []float64) {
		if len(values) > 0 {
			values = slices.Sorted(slices.Values(values)) // independent of the order in which runs were found
			q1, q3 := stats.Quartiles(values)
			median, iqm := stats.Interval95(stats.Median, values), stats.Interval95(stats.IQM, values)
			f.add(experiment, label, env, metric, x, len(values), stats.Median(values), q1, q3, stats.Mean(values),
				stats.Std(values), stats.IQM(values), median.Low, median.High, iqm.Low, iqm.High)
		}
	}
	for _, experiment := range []string{ExperimentTraining, ExperimentReward, ExperimentBeyond} {
		labels, envs := t.Axes(experiment)
		for _, label := range labels {
			for _, env := range envs {
				for _, metric := range []Metric{MaxFitness, QDScore, Coverage, EnvSteps} {
					add(experiment, label, env, string(metric), none, t.Scores(label, env, metric))
				}
			}
			if scores := t.Normalised(label, envs); scores != nil {
				interval := stats.Interval95(stats.IQM, scores...)
				f.add(experiment, label, "all", "qd_score_normalised", none, 0, none, none, none, none, none,
					stats.IQM(slices.Concat(scores...)), none, none, interval.Low, interval.High)
			}
		}
	}
	for _, p := range t.Sensitivity() {
		setting := fmt.Sprintf("%s=%g %s=%g", p.A.Name, p.A.Value, p.B.Name, p.B.Value)
		add(ExperimentSensitivity, p.Label, p.Env, "qd_score_normalised "+setting, none, []float64{p.Normalised})
	}
	for _, prior := range []bool{true, false} {
		for _, algorithm := range records.Compared("-reward") {
			label := algorithm
			if !prior {
				label += ", no prior"
			}
			add(ExperimentPrior, label, "ant-omni", string(Coverage), none, Coverage.Scores(t.PriorRuns(algorithm, prior)))
		}
	}
	t.summariseSkills(add)
	return f
}

// summariseSkills adds the rows of adaptation and control.
func (t *Tables) summariseSkills(add func(experiment, label, env, metric string, x float64, values []float64)) {
	type key struct{ perturbation, env, label string }
	var seen []key
	for _, a := range t.Adapted {
		k := key{a.Perturbation, a.Env, a.Label}
		if slices.Contains(seen, k) {
			continue
		}
		seen = append(seen, k)
		if a.Perturbation == Target {
			add(ExperimentAdaptation, a.Label, a.Env, Target, math.NaN(), t.TargetMeans(a.Label))
			continue
		}
		for _, x := range t.Multipliers(a.Perturbation, a.Env) {
			add(ExperimentAdaptation, a.Label, a.Env, a.Perturbation, x, t.Adaptation(a.Perturbation, a.Env, a.Label, x))
			add(ExperimentAdaptation, a.Label, a.Env, a.Perturbation+" gain", x, t.Gains(a.Perturbation, a.Env, a.Label, x))
		}
	}
	for _, label := range t.Labels() {
		fitness, hurdles := t.FinalControl(label)
		add(ExperimentHurdles, label, "halfcheetah-hurdles", "fitness", math.NaN(), fitness)
		add(ExperimentHurdles, label, "halfcheetah-hurdles", "hurdles", math.NaN(), hurdles)
	}
}

// Axes returns the rows and columns of an experiment's summary: labels and environments. The
// experiment "reward" includes the methods with rewards, trained for the main table, as in the
// paper's table 10.
func (t *Tables) Axes(experiment string) (rowLabels, envs []string) {
	for _, r := range t.finished(experiment) {
		envs, rowLabels = append(envs, r.Env), append(rowLabels, r.Label)
	}
	slices.SortFunc(envs, byEnv)
	envs = slices.Compact(envs)
	if experiment == ExperimentReward {
		for _, label := range records.Names(records.Reinforcement) {
			trained := func(env string) bool { return len(t.FinishedRuns(label, env)) > 0 }
			if slices.ContainsFunc(envs, trained) {
				rowLabels = append(rowLabels, label)
			}
		}
	}
	slices.SortFunc(rowLabels, byLabel)
	return slices.Compact(rowLabels), envs
}

func (f *file) add(values ...any) { f.rows = append(f.rows, values) }

func (f file) write(w io.Writer) error {
	lines := [][]string{strings.Split(f.header, ",")}
	for _, row := range f.rows {
		fields := make([]string, len(row))
		for i, value := range row {
			if number, ok := value.(float64); ok {
				fields[i] = runs.FormatNumber(number)
			} else {
				fields[i] = fmt.Sprint(value)
			}
		}
		lines = append(lines, fields)
	}
	return csv.NewWriter(w).WriteAll(lines)
}

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
		list = append(list, SMERLTarget{Env: env, Seeds: len(x), Target: target, Margin: 0.1 * math.Abs(target)})
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
		return nil, fmt.Errorf("SMERL's targets %s: %w", path,
			names.File(err, "write them with `qdnb sweep results` for the experiment smerl-targets"))
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
