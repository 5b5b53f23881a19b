//go:build unix

package qdnb

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/janpfeifer/gonb/gonbui/protocol"

	"example.com/qdnb/internal/cell"
	"example.com/qdnb/internal/cell/celltest"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/runs"
)

// In a notebook a run draws itself: in one output, whose last state shows the end of the run. Neither the field Still nor
// a figure changes the run. The map that follows in the same cell takes the place of the one in the figure.
func TestTrainDrawsItself(t *testing.T) {
	picture := regexp.MustCompile(`alt="([^"]*)".*src="data:image/png;base64,([^"]*)"`)
	// drawn trains a run in a cell that then shows something, and returns the outputs with pictures, and the last picture.
	drawn := func(still bool, show func(*runs.Run) error) (run *runs.Run, ids map[string]bool, alt string, pixels int) {
		spec := small(t.TempDir(), 1)
		spec.Quiet, spec.Still, ids = false, still, map[string]bool{}
		for _, output := range celltest.Displayed(t, func() (err error) {
			if run, err = Train(background, spec); err == nil && show != nil {
				err = show(run)
			}
			return err
		}) {
			html, _ := output.Data[protocol.MIMETextHTML].(string)
			if match := picture.FindStringSubmatch(html); match != nil {
				data := must.Get(base64.StdEncoding.DecodeString(match[2]))
				ids[output.DisplayID], alt, pixels = true, match[1], must.Get(png.DecodeConfig(bytes.NewReader(data))).Width
			}
		}
		return run, ids, alt, pixels
	}
	still, outputs, _, _ := drawn(true, nil)
	errtest.Equal(t, "pictures of Still", len(outputs), 0)
	run, outputs, alt, pixels := drawn(false, nil)
	want := fmt.Sprintf("%s at generation %d", run.Name(), run.Status.Generation)
	if len(outputs) != 1 || alt != want || pixels < 600 {
		t.Errorf("%d outputs with pictures, the last %q with %d pixels, want %q", len(outputs), alt, pixels, want)
	}
	errtest.Equal(t, "fitnesses", must.Get(still.Repertoire()).Fitnesses, must.Get(run.Repertoire()).Fitnesses)
	_, _, _, alone := drawn(false, func(run *runs.Run) error { return must.Get(figures.Repertoire(run)).Show("a") })
	_, _, _, curves := drawn(false, func(run *runs.Run) error {
		return must.Get(figures.Metrics([]*runs.Run{run}, figures.EnvSteps)).Show("a")
	})
	if alone > curves*2/3 {
		t.Errorf("the figure is %d pixels wide after the map was drawn, and %d after curves", alone, curves)
	}

	// Of two runs in a cell the second one's figure remains, in an output of its own; both outputs tell what was trained.
	last, order, trained := map[string]string{}, []string{}, map[string]bool{}
	for _, output := range celltest.Displayed(t, func() error {
		for seed := range int64(2) {
			spec := small(t.TempDir(), 1)
			spec.Quiet, spec.Seed = false, seed
			if _, err := Train(background, spec); err != nil {
				return err
			}
			must.Get(run.Metrics()) // of another run
		}
		return nil
	}) {
		if output.Metadata[cell.TrainedKey] == nil {
			continue
		}
		if _, known := last[output.DisplayID]; !known {
			order = append(order, output.DisplayID)
		}
		last[output.DisplayID] = output.Data[protocol.MIMETextHTML].(string)
		shown, _ := output.Metadata[cell.RunsKey].(map[string]int)
		for dir := range shown {
			trained[output.DisplayID+dir] = true
		}
	}
	if len(order) != 2 || last[order[0]] != "" || !picture.MatchString(last[order[1]]) || len(trained) != 2 {
		t.Errorf("two runs leave %q, which show %v", last, trained)
	}
}

// Outputs of a notebook record the runs that they show. When the settings or the budget of the Spec change, the next
// cell says which outputs are outdated, once.
func TestOutputsKnowTheirRuns(t *testing.T) {
	celltest.Displayed(t, func() error { // what other tests have read
		return cell.Send(map[protocol.MIMEType]any{protocol.MIMETextPlain: "before"})
	})
	t.Setenv(protocol.GONB_TMP_DIR_ENV, t.TempDir())
	t.Chdir(t.TempDir())
	stderr := must.Get(os.Create(filepath.Join(t.TempDir(), "stderr")))
	defer func(old *os.File) { os.Stderr = old }(os.Stderr)
	os.Stderr = stderr
	in := func(spec Spec) (run *runs.Run, outputs []*protocol.DisplayData, said string) {
		before := len(must.Get(os.ReadFile(stderr.Name())))
		outputs = celltest.Displayed(t, func() (err error) {
			if run, err = Train(background, spec); err != nil {
				return err
			}
			return must.Get(figures.Repertoire(run)).Show("map")
		})
		return run, outputs, string(must.Get(os.ReadFile(stderr.Name()))[before:])
	}
	spec := small("runs", 1)
	run, outputs, said := in(spec)
	says := func(outputs []*protocol.DisplayData) string {
		return fmt.Sprint(outputs[0].Metadata[cell.TrainedKey], outputs[0].Metadata[cell.RunsKey])
	}
	errtest.Equal(t, "what a quiet training says", says(outputs), fmt.Sprint("true", map[string]int{run.Dir: 1}))
	_, again, _ := in(spec)
	errtest.Equal(t, "what loading it says", says(again), says(outputs))
	last := outputs[len(outputs)-1]
	got, _ := last.Metadata[cell.RunsKey].(map[string]int)
	errtest.Equal(t, "runs and caption of the output", fmt.Sprint(len(got), got[run.Dir], cell.Caption()),
		fmt.Sprint(1, 1, "run "+run.Config.Hash()))
	if strings.Contains(said, "outputs of this notebook") {
		t.Errorf("the first cell says %q", said)
	}
	longer := small("runs", 2)
	if _, _, said := in(longer); !strings.Contains(said, "show "+run.Name()+" at generation 1, from which it now trains on") {
		t.Errorf("a larger budget says %q", said)
	}
	other := small("runs", 1)
	other.Tune = more(other.Tune, "batch=8")
	_, _, said = in(other)
	errtest.Contains(t, said, "outputs of this notebook show "+run.Name(), ", not 8")
	if _, _, said = in(other); strings.Contains(said, "outputs of this notebook") {
		t.Errorf("the same cell again says %q", said)
	}
	t.Setenv(protocol.GONB_TMP_DIR_ENV, t.TempDir())
	written := len(must.Get(os.ReadFile(stderr.Name())))
	celltest.Displayed(t, func() error { // variants of one cell
		for _, spec := range []Spec{spec, other} {
			if err := must.Get(figures.Repertoire(must.Get(Train(background, spec)))).Show("map"); err != nil {
				return err
			}
		}
		return nil
	})
	errtest.Equal(t, "said of variants", string(must.Get(os.ReadFile(stderr.Name()))[written:]), "")
	both := []*runs.Run{run, must.Get(Load(other))}
	must.Get(both[1].Metrics()) // to choose a run
	outputs = celltest.Displayed(t, func() error { return must.Get(figures.Repertoire(run)).Show("map") })
	if got, _ := outputs[0].Metadata[cell.RunsKey].(map[string]int); len(got) != 1 {
		t.Errorf("the map of a run shows %v", got)
	}
	must.Get(both[1].Metrics())
	recording := must.Get(Play(background, run, PlaySpec{Backend: "go"}))
	errtest.Equal(t, "caption of a played skill", cell.Caption(), "run "+run.Config.Hash())
	celltest.Displayed(t, func() error { return must.Get(recording.Trajectories()).Show("trajectories") })
	outputs = celltest.Displayed(t, func() error { return must.Get(figures.Metrics(both, figures.EnvSteps)).Show("curves") })
	if got, _ := outputs[0].Metadata[cell.RunsKey].(map[string]int); len(got) != 2 {
		t.Errorf("curves of two runs show %v", got)
	}
}
