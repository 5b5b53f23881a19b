package results

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"example.com/qdnb/qdnb/runs"
)

// The least that a training run must have for a verdict on what the paper says of its method.
const (
	minCells     = 1024 // of the repertoire
	fullEpisode  = 250  // control steps
	mazeEpisode  = 500  // the same, of ant-maze
	firstRetrain = 2    // loops after which AURORA trains its auto-encoder again
)

// shortcomings are what keeps a training run from bearing out, or refuting, a statement of the
// paper: each a phrase such as "episodes of 50 steps, not 250"; nil if nothing does. What a run of
// another program or of a variant does not tell is taken for granted.
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
	whole := int64(fullEpisode)
	if run.Config.Env == "ant-maze" {
		whole = mazeEpisode
	}
	if s.Length > 0 && s.Length < whole {
		short = append(short, fmt.Sprintf("episodes of %d steps, not %d", s.Length, whole))
	}
	if s.Cells > 0 && s.Cells < minCells {
		short = append(short, fmt.Sprintf("%d cells, not %d", s.Cells, minCells))
	}
	if s.Loop > 0 && run.Status.Generation < firstRetrain*s.Loop {
		short = append(short, fmt.Sprintf("the auto-encoder was not trained again (generation %d of %d)",
			run.Status.Generation, firstRetrain*s.Loop))
	}
	if s.Every > 0 && run.Status.EnvSteps < s.Every {
		short = append(short, fmt.Sprintf("skills were not evaluated on schedule (%d of %d steps)",
			run.Status.EnvSteps, s.Every))
	}
	if strings.HasPrefix(run.Config.Algorithm, "smerl-") {
		if columns, n, err := columnsOf(run,
			"accepted_share"); err == nil && n > 0 && !anyAbove(columns[0], 0) {
			short = append(short, "SMERL's gate never opened")
		}
	}
	return short, nil
}

func anyAbove(x []float64, limit float64) bool {
	for _, v := range x {
		if v > limit { // not NaN
			return true
		}
	}
	return false
}

// skillsShortcomings are those of the training run whose skills a run of adaptation or control
// below root uses.
func skillsShortcomings(root string, c runs.Config) ([]string, error) {
	var s struct {
		Skills string `json:"skills"`
	}
	if err := json.Unmarshal(c.Hyperparameters, &s); err != nil || s.Skills == "" {
		return nil, err
	}
	trained, err := runs.Open(filepath.Join(root, s.Skills))
	if err != nil {
		return []string{"the training run of its skills is not there"}, nil
	}
	return shortcomings(trained)
}
