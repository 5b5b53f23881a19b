package paper

import (
	"fmt"
	"strings"

	"example.com/qdnb/internal/names"
	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/plot/tables"
)

// Item is a figure or a table of the paper.
type Item struct {
	ID    string // "figure-2", "table-1", or "figure-12a"
	Title string // one-line description
	// Experiments are the experiments whose runs it needs, as in [results.Experiments]; none for items
	// that need no runs.
	Experiments []string
	Figure      func(*Data) (figures.Grid, error)  // nil for a table
	Table       func(*Data) (*tables.Table, error) // nil for a figure
}

// Draw makes the figure or the table.
func (i Item) Draw(d *Data) (interface{ Save(path string) error }, error) {
	if i.Figure != nil {
		return i.Figure(d)
	}
	return i.Table(d)
}

// Items lists the paper's figures, then its tables, by number.
func Items() []Item {
	const (
		training    = results.ExperimentTraining
		adaptation  = results.ExperimentAdaptation
		hurdles     = results.ExperimentHurdles
		sensitivity = results.ExperimentSensitivity
		prior       = results.ExperimentPrior
		reward      = results.ExperimentReward
	)
	return []Item{
		drawn("1", "The environments, and the perturbations of the adaptation experiments",
			func(*Data) (figures.Grid, error) { return Environments() }),
		drawn("2", "Repertoires of all methods at the end of training", Repertoires, training),
		drawn("3", "QD score over the hyperparameters of MAP-Elites and DADS+REWARD", Sensitivity, sensitivity),
		drawn("4", "Few-shot adaptation: best fitness under changed gravity, a changed leg and moved "+
			"targets", Adaptation, adaptation),
		drawn("5", "Return of the meta-controller on hurdles", Hurdles, hurdles),
		drawn("6", "Metrics over time: medians and quartiles of seeds", CurvesOverTime, training),
		drawn("7", "Metrics over environment steps, quality-diversity methods", CurvesOverStepsQD, training),
		drawn("8", "Metrics over environment steps, reinforcement-learning methods", CurvesOverStepsRL, training),
		drawn("9", "Trajectories of the skills of DADS+REWARD on ant-omni",
			on(SkillTrajectories, "ant-omni", "dads-reward"), training),
		drawn("10", "Trajectories of the skills of DIAYN+REWARD and DADS+REWARD on ant-trap",
			on(SkillTrajectories, "ant-trap", "diayn-reward", "dads-reward"), training),
		drawn("11", "Repertoires of the first half of training on ant-trap",
			on(Intermediate, "ant-trap", "map-elites", "pga-map-elites", "dads-reward"), training),
		drawn("12a", "Repertoires of the first half of training on halfcheetah-uni",
			on(Intermediate, "halfcheetah-uni", "map-elites", "smerl-diayn"), training),
		drawn("12b", "Repertoires of the first half of training on ant-omni",
			on(Intermediate, "ant-omni", "pga-map-elites", "dads-reward"), training),
		drawn("13", "Fitness gain under changed gravity and a changed leg", AdaptationGain, adaptation),
		drawn("14", "QD score over the hyperparameters of MAP-Elites and DADS+REWARD, by setting",
			SensitivityInFull, sensitivity),
		drawn("15", "Coverage over time with and without prior", PriorCoverage, prior),
		drawn("16", "Few-shot adaptation with and without the task's reward", RewardAdaptation, reward),
		drawn("17", "Repertoires and skill trajectories with and without prior", Prior, prior),
		drawn("18", "Few-shot adaptation and hurdles, interquartile means", AdaptationIQM, adaptation, hurdles),
		listed(1, "Maximum fitness and QD score after training", Scores, training),
		listed(2, "Components shared by the methods", withoutRuns(Components)),
		listed(3, "Target positions of ant-maze in few-shot adaptation", withoutRuns(MazeTargets)),
		hyperparameters(4), hyperparameters(5), hyperparameters(6), hyperparameters(7),
		listed(8, "Environment steps of training", Steps, training),
		listed(9, "Maximum fitness and QD score with their spread over seeds", ScoresWithStd, training),
		listed(10, "Maximum fitness and QD score of skill discovery without the task's reward", Unsupervised, reward),
		listed(11, "Mean, median and interquartile mean of maximum fitness and QD score", Aggregates, training),
	}
}

func drawn(number, title string, figure func(*Data) (figures.Grid, error), experiments ...string) Item {
	return Item{ID: "figure-" + number, Title: title, Figure: figure, Experiments: experiments}
}

func listed(number int, title string, table func(*Data) (*tables.Table, error), experiments ...string) Item {
	return Item{ID: fmt.Sprintf("table-%d", number), Title: title, Table: table, Experiments: experiments}
}

// on adapts a figure of an environment and methods.
func on(figure func(*Data, string, ...string) (figures.Grid, error), env string,
	methods ...string) func(*Data) (figures.Grid, error) {
	return func(d *Data) (figures.Grid, error) { return figure(d, env, methods...) }
}

// withoutRuns adapts a table that needs no runs.
func withoutRuns(table func() *tables.Table) func(*Data) (*tables.Table, error) {
	return func(*Data) (*tables.Table, error) { return table(), nil }
}

// Find returns the item with an ID such as "figure-2". It also accepts "Figure 2" and "fig 2".
func Find(id string) (Item, error) {
	wanted := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(id)), " ", "-")
	if rest, ok := strings.CutPrefix(wanted, "fig-"); ok {
		wanted = "figure-" + rest
	}
	items := Items()
	ids := make([]string, len(items))
	for i, item := range items {
		if item.ID == wanted {
			return item, nil
		}
		ids[i] = item.ID
	}
	return Item{}, names.Wrongf("the paper has no figure or table %q; it has %s", id, strings.Join(ids, ", "))
}
