// Package figures draws the elements of the paper's figures: repertoire maps, curves, trajectories,
// box plots and pictures, alone or in grids. Package paper composes the paper's figures from them.
//
// [Map], [Trajectories], [Lines], [Boxes], [Intervals] and [Images] take plain numbers, so they can
// also draw the results of other programs. Each returns a [Panel], which is a gonum plot: add to it
// what you like. [Panel.Show] displays it in a notebook, [Panel.Save] writes it as PNG, SVG or PDF,
// and a [Grid] arranges several.
//
//	panel, err := figures.Map(figures.Cells{
//		Centroids: centroids, Fitness: fitness,
//		Lower: [2]float64{-1, -1}, Upper: [2]float64{1, 1},
//	})
//	...
//	panel.Label(0, 0.5, "here")
//	err = panel.Show("repertoire")
//
// Their data ([Cells], [Path], [Series], [Box], [Interval]) are marks that work in other gonum plots,
// too.
//
// Shortcuts return the panels of runs: [Repertoire], [Metrics], [Distribution], [Snapshots],
// [SkillTrajectories], [Adaptation] and [Columns].
//
// All figures share one style: text of 8 to 10 points at natural size, viridis for fitness, and a
// fixed colour and dash pattern for each method (see [MethodStyles]) that readers with a colour
// vision deficiency can tell apart. The font, Liberation Sans, has Latin, Greek and Cyrillic letters.
// Each other character, such as a Chinese one, is a box; an SVG leaves it to the viewer's fonts.
package figures
