package results_test

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/paper/protocol"
	"example.com/qdnb/qdnb/paper/results"
)

// docs/experiments.md has the mean and the longest hours of a run of each family. Its row of MAP-Elites
// has the runs of other experiments, too.
func TestTwoCoreSecondsAreThoseOfThePage(t *testing.T) {
	page := must.Get(os.ReadFile("../../../docs/experiments.md"))
	for family, algorithm := range map[string]string{"AURORA": "aurora",
		"PGA-MAP-Elites": "pga-map-elites", "PGA-AURORA": "pga-aurora"} {
		sum, most, longest := 0.0, 0.0, ""
		for _, env := range protocol.Environments() {
			hours := results.TwoCoreSeconds(algorithm, env, results.PaperSteps(algorithm, env)) / 3600
			if sum += hours; hours > most {
				most, longest = hours, env
			}
		}
		mean := sum / float64(len(protocol.Environments()))
		row := ""
		for line := range strings.Lines(string(page)) {
			if strings.HasPrefix(line, "| "+family+" |") {
				row = line
			}
		}
		if want := fmt.Sprintf("| %.1f | %.1f (%s) |", mean, most, longest); !strings.Contains(row, want) {
			t.Errorf("%q lacks %q", row, want)
		}
	}
	for algorithm, want := range map[string]float64{"map-elites": 1.2, "dads-reward": 10.1, "smerl-diayn": 11.9} {
		steps := results.PaperSteps(algorithm, "ant-maze")
		if got := results.TwoCoreSeconds(algorithm, "ant-maze", steps) / 3600; math.Abs(got-want) > 0.06 {
			t.Errorf("%s: %.2f h, want %.1f", algorithm, got, want)
		}
	}
	for _, unknown := range [][2]string{{"mine", "ant-uni"}, {"map-elites", "mine"}} {
		if got := results.TwoCoreSeconds(unknown[0], unknown[1], 1); !math.IsNaN(got) {
			t.Errorf("%v: %g", unknown, got)
		}
	}
}
