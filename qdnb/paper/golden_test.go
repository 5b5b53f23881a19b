package paper

import (
	"testing"

	"example.com/qdnb/internal/imagetest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/paper/protocol"
	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/plot/figures"
)

// frozen returns a few of the shipped runs, with settings of the sensitivity grids, which are not
// shipped.
func frozen() *Data {
	d := must.Get(Open("testdata/frozen"))
	for i, env := range sensitivityEnvs {
		for k, grid := range protocol.Grids() {
			for setting := range 9 {
				d.Trained = append(d.Trained, results.Trained{Experiment: results.ExperimentSensitivity,
					Label: grid.Method, Algorithm: grid.Method, Env: env, Finished: true,
					QDScore: 100 - float64(30*k+(setting*(7+i)+k)%20),
					A:       results.Setting{Name: "a", Value: float64(setting / 3)},
					B:       results.Setting{Name: "b", Value: float64(setting % 3)}})
			}
		}
	}
	return d
}

// Every figure of the paper, and those beyond it, are as in testdata.
func TestFigures(t *testing.T) {
	data := frozen()
	draw := map[string]func(*Data) (figures.Grid, error){"beyond-curves": BeyondCurvesOverTime,
		"beyond-repertoires": BeyondRepertoires, "overall": Overall, "profiles": Profiles,
		"improvements": func(d *Data) (figures.Grid, error) { return Improvements(d) },
		"reproduction": func(d *Data) (figures.Grid, error) { return ReproductionFigure(d) }}
	for _, item := range Items() {
		if item.Figure != nil {
			draw[item.ID] = item.Figure
		}
	}
	for name, figure := range draw {
		t.Run(name, func(t *testing.T) {
			imagetest.Equal(t, name, must.Get(must.Get(must.Get(figure(data)).Figure()).Image(56)))
		})
	}
}
