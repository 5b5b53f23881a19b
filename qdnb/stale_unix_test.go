//go:build unix

package qdnb

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/janpfeifer/gonb/gonbui/protocol"

	"example.com/qdnb/internal/cell"
	"example.com/qdnb/internal/cell/celltest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/runs"
)

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
	last := outputs[len(outputs)-1]
	if got, _ := last.Metadata[cell.RunsKey].(map[string]int); len(got) != 1 || got[run.Dir] != 1 || cell.Caption() != "run "+run.Config.Hash() {
		t.Errorf("the output shows %v, which is %q; want generation 1 of %s", last.Metadata, cell.Caption(), run.Dir)
	}
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
	if !strings.Contains(said, "outputs of this notebook show "+run.Name()) || !strings.Contains(said, ", not 8") {
		t.Errorf("another batch says %q", said)
	}
	if _, _, said = in(other); strings.Contains(said, "outputs of this notebook") {
		t.Errorf("the same cell again says %q", said)
	}
	both := []*runs.Run{run, must.Get(Load(other))}
	must.Get(both[1].Metrics()) // to choose a run
	outputs = celltest.Displayed(t, func() error { return must.Get(figures.Repertoire(run)).Show("map") })
	if got, _ := outputs[0].Metadata[cell.RunsKey].(map[string]int); len(got) != 1 {
		t.Errorf("the map of a run shows %v", got)
	}
	outputs = celltest.Displayed(t, func() error { return must.Get(figures.Metrics(both, figures.EnvSteps)).Show("curves") })
	if got, _ := outputs[0].Metadata[cell.RunsKey].(map[string]int); len(got) != 2 {
		t.Errorf("curves of two runs show %v", got)
	}
}
