package watch

import (
	"fmt"
	"path/filepath"

	"example.com/qdnb/internal/lists"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/policies"
	"example.com/qdnb/qdnb/runs"
)

// Corrected compares a repertoire with repeated evaluations of its policies.
type Corrected struct {
	policies.Corrected
	run *runs.Run
}

// Corrected returns the corrected repertoire of a run. The recording must hold the episodes of all
// filled cells, as Play records them for PlaySpec.Cells = Repertoire.Filled().
func (r *Recording) Corrected(run *runs.Run, by runs.Average) (*Corrected, error) {
	archived, err := run.RepertoireMap()
	if err != nil {
		return nil, err
	}
	results := lists.Map(r.Results, func(result Result) policies.Evaluated { return result.Evaluated })
	corrected, err := policies.Reinsert(runs.Snapshot{Progress: run.Status.Progress, Repertoire: *archived,
		Correction: runs.Correction{Episodes: int64(r.Episodes), By: by}}, results)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", run.Name(), err)
	}
	return &Corrected{*corrected, run}, nil
}

// CanSave returns an error if [Corrected.Save] would refuse to write to a run's folder.
func CanSave(run *runs.Run) error {
	switch name, holder := run.Name(), runs.Holder(run.Dir); {
	case filepath.Base(run.Dir) != name:
		return fmt.Errorf("%s is not the folder %s, in which this run would be trained: rename it to "+
			"store its corrected repertoire", run.Dir, name)
	case holder != "":
		return runs.HeldError{Dir: run.Dir, Holder: holder}
	case !run.Status.Finished:
		return fmt.Errorf("%s is not finished: train it to the end first", run.Dir)
	}
	return nil
}

// Save stores the corrected repertoire in the run's folder, for [runs.Run.Corrected].
func (c *Corrected) Save() error {
	if err := CanSave(c.run); err != nil {
		return err
	}
	w, err := runs.Create(filepath.Dir(c.run.Dir), c.run.Config)
	if err != nil {
		return err
	}
	defer w.Close()
	return w.SaveSnapshot(c.Snapshot)
}

// Figure draws the archived and the corrected repertoire side by side.
func (c *Corrected) Figure() (figures.Grid, error) {
	var panels figures.Panels
	bar := new(figures.ColorBar)
	for _, r := range []*runs.Repertoire{c.Archived, &c.Repertoire} {
		panels.Add(figures.MapOf(c.run, r, func(cells *figures.Cells) { cells.Bar = bar }))
	}
	g, err := panels.InRows(2)
	g.Columns = []string{"As archived", "Corrected: " + c.Correction.String()}
	return g, err
}
