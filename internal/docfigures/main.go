// Command docfigures draws the pictures of the pages in docs, from measurements, tables of the pages,
// shipped runs, and by the commands and programs on the pages (`make docs-figures`), or only those that
// its arguments name. It runs at the root of the checkout, where build/qdnb is.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"example.com/qdnb/qdnb/nb"
	"example.com/qdnb/qdnb/paper"
	"example.com/qdnb/qdnb/plot/figures"
)

// page is a figure by its file below docs. A function that trains uses the folder for its runs.
type page struct {
	file string
	draw func(ctx context.Context, folder string) (saver, error)
}

var pages = append(algorithmPages(), []page{
	{"performance.png", grid(performance)},
	{"adaptation.png", shipped(paper.Adaptation)},
	{"determinism.png", grid(determinism)},
	{"faults.png", grid(faults)},
	{"parity.png", grid(parity)},
	{"algorithms/ppo.png", shipped(paper.Hurdles)},
	{"environments.png", grid(environments)},
	{"own_robot.gif", ownRobot},
	{"repertoire.png", drawnBy("README.md", `"example.com/qdnb/qdnb"`,
		`"example.com/qdnb/qdnb/algorithms/evolution"`, `"example.com/qdnb/qdnb/nb"`,
		`"example.com/qdnb/qdnb/plot/figures"`, `"example.com/qdnb/xla/random"`)},
	{"guides/cart-pole.png", drawnBy("docs/guides/add-an-environment.md")},
	{"guides/variants.png", shownIn("notebooks/variants.ipynb", "With the same number of evaluations")},
	{"guides/tab.png", written("build/tab/qdnb.png", "make test-tab")},
	{"viewer.png", written("DIR/viewer.png", "build/qdnb show "+shippedWalker+" --html DIR/viewer.html",
		"python3 tools/screenshot.py --width 960 --height 600 DIR/viewer.html")},
	{"reference/corrected.png", written("DIR/corrected.png",
		"build/qdnb eval "+shippedWalker+" --corrected --episodes 64 --figure DIR/corrected.png")},
}...)

// shippedWalker names a run for `qdnb`.
const shippedWalker = "map-elites-walker-uni-0 --runs notebooks/results-skills/runs"

// saver is a figure or an animation.
type saver interface{ Save(path string) error }

func grid(draw func(context.Context, string) (figures.Grid, error)) func(context.Context, string) (saver, error) {
	return func(ctx context.Context, folder string) (saver, error) { return draw(ctx, folder) }
}

func main() {
	if err := drawPages(nb.Interruptible()); err != nil {
		fmt.Fprintln(os.Stderr, "docfigures:", err)
		os.Exit(1)
	}
}

func drawPages(ctx context.Context) error {
	folder, err := os.MkdirTemp("", "docfigures")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	for _, page := range pages {
		if len(os.Args) > 1 && !slices.Contains(os.Args[1:], page.file) {
			continue
		}
		figure, err := page.draw(ctx, folder)
		if err == nil {
			err = figure.Save(filepath.Join("docs", page.file))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", page.file, err)
		}
	}
	return nil
}
