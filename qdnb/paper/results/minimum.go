package results

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"example.com/qdnb/qdnb/paper/protocol"
	"example.com/qdnb/qdnb/runs"
)

// Minimum requirements on a training run for a verdict on the paper's claims.
const (
	minCells     = 1024 // of the repertoire
	firstRetrain = 2    // loops after which AURORA retrains its auto-encoder
)

// shortcomings returns why a training run can neither support nor refute the paper's claims, as
// phrases such as "episodes of 50 steps, not 250"; nil if it can. Values that an imported run or a
// variant does not record are assumed sufficient.
func shortcomings(run *runs.Run) (short []string, err error) {
	var s struct {
		Length int64 `json:"episode_length"`
		Cells  int64 `json:"cells"`
		Loop   int64 `json:"loop"`
		Every  int64 `json:"evaluation_interval"`
	}
	if err := json.Unmarshal(run.Config.Hyperparameters, &s); err != nil {
		return nil, err
	}
	whole := int64(protocol.EpisodeLength(run.Config.Env))
	if s.Length > 0 && s.Length < whole {
		short = append(short, fmt.Sprintf("episodes of %d steps, not %d", s.Length, whole))
	}
	if s.Cells > 0 && s.Cells < minCells {
		short = append(short, fmt.Sprintf("%d cells, not %d", s.Cells, minCells))
	}
	if s.Loop > 0 && run.Status.Generation < firstRetrain*s.Loop {
		short = append(short, fmt.Sprintf("the auto-encoder was not retrained (generation %d of %d)",
			run.Status.Generation, firstRetrain*s.Loop))
	}
	if s.Every > 0 && run.Status.EnvSteps < s.Every {
		short = append(short, fmt.Sprintf("skills were not evaluated on schedule (%d of %d steps)",
			run.Status.EnvSteps, s.Every))
	}
	if strings.HasPrefix(run.Config.Algorithm, "smerl-") {
		rows, err := rowsOf(run, "accepted_share")
		opened := slices.ContainsFunc(rows, func(x []float64) bool { return x[0] > 0 }) // not for NaN
		if err == nil && len(rows) > 0 && !opened {
			short = append(short, "SMERL's gate never opened")
		}
	}
	return short, nil
}

// skillsShortcomings returns the shortcomings of the training run whose skills an adaptation or
// control run uses.
func skillsShortcomings(run *runs.Run) ([]string, error) {
	name := run.Config.SkillsRun()
	if name == "" {
		return nil, nil
	}
	trained, err := runs.Open(filepath.Join(filepath.Dir(run.Dir), name))
	if err != nil {
		return []string{"the training run of its skills is missing"}, nil
	}
	return shortcomings(trained)
}
