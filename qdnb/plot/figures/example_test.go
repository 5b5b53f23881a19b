package figures_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/stats"
)

// A line and a label on a repertoire map, as on every gonum plot.
func ExampleMap() {
	panel, err := figures.Map(figures.Cells{
		Title: "pointmaze", XLabel: "final x", YLabel: "final y",
		Centroids: [][2]float64{{-0.5, -0.5}, {0.5, -0.5}, {-0.5, 0.5}, {0.5, 0.5}},
		Fitness:   []float64{-400, -350, -30, math.Inf(-1)},
		Lower:     [2]float64{-1, -1}, Upper: [2]float64{1, 1},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	line, err := plotter.NewLine(plotter.XYs{{X: -0.5, Y: -0.5}, {X: -0.5, Y: 0.5}})
	if err != nil {
		fmt.Println(err)
		return
	}
	panel.Add(line)
	panel.Label(-0.5, 0.6, "the best cell")
	panel.Legend = append(panel.Legend, figures.Entry{Text: "from start to goal", Mark: line})
	dir, err := os.MkdirTemp("", "figures")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	fmt.Println(panel.Save(filepath.Join(dir, "map.pdf")))
	// Output: <nil>
}

// The median and quartiles of five seeds as a curve with a band.
func ExampleQuartiles() {
	var seeds []figures.Series
	for _, final := range []float64{-28, -25, -31, -24, -26} {
		seeds = append(seeds, figures.Series{X: []float64{0, 1000}, Y: []float64{-400, final}})
	}
	curve, err := figures.Quartiles("map-elites", seeds, []float64{0, 1000}, stats.Median)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(curve.Low[1], curve.Y[1], curve.High[1])

	panel, err := figures.Lines(figures.Axes{Title: "Max fitness", XLabel: "Generation", YLabel: "Fitness"}, curve)
	if err != nil {
		fmt.Println(err)
		return
	}
	figure, err := panel.Figure()
	if err != nil {
		fmt.Println(err)
		return
	}
	png, err := figure.Size(3*vg.Inch, 0).PNG(figures.Resolution)
	fmt.Println(len(png) > 0, err)
	// Output:
	// -28 -26 -25
	// true <nil>
}

func ExampleMethodStyles() {
	styles := figures.MethodStyles("pga-map-elites", "map-elites")
	for _, id := range figures.SortMethods([]string{"pga-map-elites", "map-elites"}) {
		s := styles[id]
		fmt.Printf("%s #%02x%02x%02x\n", s.Name, s.Color.R, s.Color.G, s.Color.B)
	}
	// Output:
	// MAP-Elites #0072b2
	// PGA-MAP-Elites #d55e00
}

func ExampleVoronoi() {
	cells, err := figures.Voronoi([][2]float64{{1, 1}, {3, 1}}, [2]float64{0, 0}, [2]float64{4, 2})
	fmt.Println(cells, err)
	// Output: [[[0 0] [2 0] [2 2] [0 2]] [[2 0] [4 0] [4 2] [2 2]]] <nil>
}
