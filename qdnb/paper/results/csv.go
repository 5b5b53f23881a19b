package results

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"example.com/qdnb/internal/npz/atomicfile"
	"example.com/qdnb/qdnb/paper/protocol"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/stats"
)

// Write writes the tables of the plan's experiments into a folder and returns the paths. It creates
// the folder if needed and replaces existing files. Numbers are written with full precision;
// numbers that are not finite are nan, inf or -inf.
//
// Files by experiment:
//
//	training       training.csv, curves.csv, training_summary.csv, training_summary.md
//	smerl-targets  smerl_targets.csv, smerl_targets_summary.csv
//	adaptation     adaptation.csv, adaptation_summary.csv, adaptation_targets.csv
//	hurdles        hurdles.csv, hurdles_summary.csv
//	sensitivity    sensitivity.csv, sensitivity_summary.csv
//	prior          prior.csv
//	reward         reward.csv, reward_summary.csv, reward_summary.md, and the files of adaptation
//	               prefixed with reward_, such as reward_adaptation.csv
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

type file struct {
	name  string
	write func(io.Writer) error
}

// files returns the files of the experiments in the tables.
func (t *Tables) files() []file {
	var list []file
	add := func(name, header string, rows [][]any) {
		list = append(list, file{name, func(w io.Writer) error { return writeCSV(w, header, rows) }})
	}
	for _, experiment := range Experiments() {
		if !slices.Contains(t.experiments, experiment) {
			continue
		}
		planned := func(r Trained) bool { return r.Experiment == experiment }
		var rows, points, summary [][]any
		switch experiment {
		case ExperimentTraining, ExperimentReward, ExperimentBeyond:
			for _, r := range t.where(planned) {
				rows = append(rows, []any{r.Label, r.Algorithm, r.Env, r.Seed, r.Run, r.EnvSteps, r.Seconds,
					r.Generation, r.MaxFitness, r.Coverage, r.QDScore, r.Finished, r.PaperSteps(), r.StepsRatio()})
				for _, p := range r.Curve {
					points = append(points, []any{r.Label, r.Env, r.Seed, p.EnvSteps, p.Seconds, p.MaxFitness,
						p.Coverage, p.QDScore})
				}
			}
			add(experiment+".csv", "label,algorithm,env,seed,run,env_steps,seconds,generation,max_fitness,"+
				"coverage,qd_score,finished,paper_steps,steps_ratio", rows)
			if experiment == ExperimentTraining {
				add("curves.csv", "label,env,seed,env_steps,seconds,max_fitness,coverage,qd_score", points)
			}
			add(experiment+"_summary.csv", "label,env,metric,seeds,median,q1,q3,mean,std,iqm,median_low,"+
				"median_high,iqm_low,iqm_high", t.summaryRows(experiment))
			list = append(list, file{experiment + "_summary.md", func(w io.Writer) error {
				_, err := io.WriteString(w, t.Markdown(experiment))
				return err
			}})
			if experiment == ExperimentReward {
				t.adaptationFiles("reward_", experiment, add)
			}
		case ExperimentTargets:
			for _, r := range t.finished(experiment) {
				rows = append(rows, []any{r.Env, r.Seed, r.MaxFitness})
			}
			add("smerl_targets.csv", "env,seed,max_fitness", rows)
			for _, target := range t.SMERLTargets() {
				summary = append(summary, []any{target.Env, target.Seeds, target.Target, target.Margin})
			}
			add("smerl_targets_summary.csv", smerlTargetsHeader, summary)
		case ExperimentAdaptation:
			t.adaptationFiles("", experiment, add)
		case ExperimentHurdles:
			for _, c := range t.Controlled {
				for _, p := range c.Curve {
					rows = append(rows, []any{c.Label, c.Seed, p.EnvSteps, p.FitnessMean, p.FitnessMax,
						p.HurdlesMean, p.HurdlesMax})
				}
			}
			add("hurdles.csv", "label,seed,env_steps,fitness_mean,fitness_max,hurdles_mean,hurdles_max",
				rows)
			for _, label := range t.Labels() {
				fitness, hurdles := t.HurdlesCurve(label), t.HurdlesPassed(label)
				for i, f := range fitness { // fitness and hurdles have the same steps
					h := hurdles[i]
					summary = append(summary, []any{label, f.EnvSteps, f.Seeds, f.Median, f.Q1, f.Q3, f.IQM,
						h.Median, h.Q1, h.Q3})
				}
			}
			add("hurdles_summary.csv", "label,env_steps,seeds,fitness_median,fitness_q1,fitness_q3,"+
				"fitness_iqm,hurdles_median,hurdles_q1,hurdles_q3", summary)
		case ExperimentSensitivity:
			for _, r := range t.finished(experiment) {
				rows = append(rows, []any{r.Label, r.Env, r.Seed, r.A.Name, r.A.Value, r.B.Name, r.B.Value,
					r.QDScore})
			}
			add("sensitivity.csv", "label,env,seed,a_name,a,b_name,b,qd_score", rows)
			for _, p := range t.Sensitivity() {
				summary = append(summary, []any{p.Label, p.Env, p.A.Name, p.A.Value, p.B.Name, p.B.Value,
					p.Seeds, p.QDScore, p.Normalised})
			}
			add("sensitivity_summary.csv", "label,env,a_name,a,b_name,b,seeds,qd_score,normalised", summary)
		case ExperimentPrior:
			for _, r := range t.where(planned) {
				for _, p := range r.Curve {
					rows = append(rows, []any{r.Label, r.Prior, r.Seed, p.Seconds, p.EnvSteps, p.Coverage})
				}
			}
			add("prior.csv", "label,prior,seed,seconds,env_steps,coverage", rows)
		}
	}
	return list
}

// summaryRows summarises each metric over the seeds of a label on an environment. The last row of a
// label, with env "all", is [Tables.Overall].
func (t *Tables) summaryRows(experiment string) (rows [][]any) {
	rowLabels, envs := t.Axes(experiment)
	for _, label := range rowLabels {
		seeds := 0
		for _, env := range envs {
			for _, metric := range []Metric{MaxFitness, QDScore, Coverage, EnvSteps} {
				x := t.Scores(label, env, metric)
				if len(x) == 0 {
					continue
				}
				s := stats.Summarize(x)
				rows = append(rows, []any{label, env, string(metric), s.N, s.Median, s.Q1, s.Q3, s.Mean, s.Std,
					s.IQM, s.MedianCI.Low, s.MedianCI.High, s.IQMCI.Low, s.IQMCI.High})
			}
			seeds += len(t.FinishedRuns(label, env))
		}
		if iqm, interval, ok := t.Overall(label, envs); ok {
			none := math.NaN()
			rows = append(rows, []any{label, "all", "qd_score_normalised", seeds, none, none, none, none,
				none, iqm, none, none, interval.Low, interval.High})
		}
	}
	return rows
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
		for _, label := range protocol.Reinforcement() {
			trained := func(env string) bool { return len(t.FinishedRuns(label, env)) > 0 }
			if slices.ContainsFunc(envs, trained) {
				rowLabels = append(rowLabels, label)
			}
		}
	}
	slices.SortFunc(rowLabels, byLabel)
	return slices.Compact(rowLabels), envs
}

func (t *Tables) adaptationFiles(prefix, experiment string,
	add func(name, header string, rows [][]any)) {
	var own []Adapted
	var rows, means [][]any
	for _, a := range t.Adapted {
		if a.Experiment != experiment {
			continue
		}
		own = append(own, a)
		for _, v := range a.Values {
			rows = append(rows, []any{a.Label, a.Env, a.Seed, a.Perturbation, v.Index, v.X, v.Y, v.Score,
				v.Skill, v.Skills})
		}
		if a.Perturbation == Target {
			means = append(means, []any{a.Label, a.Env, a.Seed, len(a.Values), a.mean()})
		}
	}
	add(prefix+"adaptation.csv", "label,env,seed,perturbation,index,x,y,score,skill,skills", rows)
	add(prefix+"adaptation_summary.csv", "label,env,perturbation,index,x,y,seeds,median,q1,q3,iqm,"+
		"gain_median,gain_q1,gain_q3,gain_iqm", adaptationSummary(own))
	add(prefix+"adaptation_targets.csv", "label,env,seed,targets,score", means)
}

// adaptationSummary summarises scores and gains over seeds for each value. The mean over targets
// has index -1.
func adaptationSummary(adapted []Adapted) (rows [][]any) {
	type key struct {
		label, env, perturbation string
		index                    int
	}
	type group struct {
		Value
		scores, gains []float64
	}
	groups := map[key]*group{}
	var order []key
	add := func(a Adapted, v Value, gain float64) {
		k := key{a.Label, a.Env, a.Perturbation, v.Index}
		if groups[k] == nil {
			order = append(order, k)
			groups[k] = &group{Value: v}
		}
		g := groups[k]
		g.scores, g.gains = append(g.scores, v.Score), append(g.gains, gain)
	}
	none := math.NaN()
	for _, a := range adapted {
		for _, v := range a.Values {
			gain := none
			if a.Perturbation != Target {
				gain = a.Gain(v.X)
			}
			add(a, v, gain)
		}
		if a.Perturbation == Target {
			add(a, Value{Index: -1, X: none, Y: none, Score: a.mean()}, none)
		}
	}
	for _, k := range order {
		g := groups[k]
		row := []any{k.label, k.env, k.perturbation, k.index, g.X, g.Y, len(g.scores)}
		for _, x := range [][]float64{g.scores, g.gains} {
			q1, q3 := stats.Quartiles(x)
			row = append(row, stats.Median(x), q1, q3, stats.IQM(x))
		}
		rows = append(rows, row)
	}
	return rows
}

// writeCSV writes rows below a header, whose names are separated by commas.
func writeCSV(w io.Writer, header string, rows [][]any) error {
	lines := [][]string{strings.Split(header, ",")}
	for _, row := range rows {
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
