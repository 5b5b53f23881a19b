package main

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/algorithms/records"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/stats"
)

// Each algorithm has a picture, and a page has the command of its run.
func TestPicturesOfAlgorithms(t *testing.T) {
	t.Chdir("../..")
	drawn := []string{"ppo"} // of the paper's figure
	for _, a := range algorithms {
		if _, err := commandOf(cmp.Or(a.like, a.name)); err != nil {
			t.Error(err)
		}
		drawn = append(drawn, a.name)
	}
	for _, name := range records.Names() {
		if !slices.Contains(drawn, name) {
			t.Errorf("algorithms has no entry for the picture of %s", name)
		}
	}
}

// Each picture in docs is drawn by a command, and what commands draw is there.
func TestPicturesHaveCommands(t *testing.T) {
	t.Chdir("../..")
	drawn := []string{"reproduction.png"} // by `make reproduction`
	for _, page := range pages {
		drawn = append(drawn, page.file)
	}
	var found []string
	for _, pattern := range []string{"docs/*.png", "docs/*.gif", "docs/*/*.png", "docs/*/*.gif"} {
		for _, file := range must.Get(filepath.Glob(pattern)) {
			found = append(found, filepath.ToSlash(must.Get(filepath.Rel("docs", file))))
		}
	}
	slices.Sort(drawn)
	slices.Sort(found)
	errtest.Equal(t, "pictures in docs, and those that commands draw", found, drawn)
}

// The table of the page is that of the measurements.
func TestParityTable(t *testing.T) {
	all, err := parityScores("../../docs/parity.csv")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/reliability.md")
	if err != nil {
		t.Fatal(err)
	}
	if table := parityTable(all); !strings.Contains(string(page), table) {
		t.Errorf("docs/reliability.md lacks the table of docs/parity.csv:\n%s", table)
	}
}

const (
	draws  = 9999 // random divisions of a permutation test
	splits = 200  // of the seeds here into two halves
)

// parityTable compares the scores of both sides: their means, the p-value of two one-sided tests with a margin of
// one pooled standard deviation, the p-value with which a permutation test tells each fault from the same seeds
// without it, and how often that test calls two halves of the seeds here different at 5 %.
func parityTable(all []scores) string {
	var b strings.Builder
	b.WriteString("| algorithm | steps | QD score here | published | difference, pooled deviations | p of TOST |" +
		" p of faults | halves told apart |\n|---|---|---|---|---|---|---|---|\n")
	for _, s := range all {
		random := stats.Source(0)
		here, published := s.of["qdnb"], s.of["published"]
		margin := pooledStd(here, published)
		var faults []string
		for _, side := range s.sides {
			if side != "qdnb" && side != "published" {
				faults = append(faults, fmt.Sprintf("%s: %.2g", labels[side], permutation(random, here, s.of[side], draws)))
			}
		}
		apart := 0
		for range splits {
			shuffled := slices.Clone(here)
			random.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
			half := len(shuffled) / 2
			if permutation(random, shuffled[:half], shuffled[half:], draws/10) <= 0.05 {
				apart++
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %.0f ± %.0f | %.0f ± %.0f | %s | %.2g | %s | %.1f %% |\n",
			figures.MethodName(s.algorithm), s.steps, stats.Mean(here), stats.Std(here), stats.Mean(published),
			stats.Std(published), hundredths((stats.Mean(here)-stats.Mean(published))/margin),
			equivalent(here, published, margin), strings.Join(faults, ", "), 100*float64(apart)/splits)
	}
	return b.String()
}

// hundredths formats a number without a negative zero.
func hundredths(x float64) string { return strconv.FormatFloat(math.Round(100*x)/100+0, 'f', 2, 64) }
