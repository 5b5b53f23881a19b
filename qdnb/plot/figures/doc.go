// Package figures draws the elements of the paper's figures: repertoire maps, curves, trajectories,
// box plots and pictures, alone or in grids. Package paper composes the paper's figures from them.
//
// Its functions take plain numbers, so they can also draw the results of other programs. Each
// returns a [Figure], which [Figure.Show] displays in a notebook and [Figure.Save] writes as PNG,
// SVG or PDF:
//
//	fig, err := figures.RepertoireMap(figures.Cells{
//		Centroids: centroids, Fitness: fitness,
//		Lower: [2]float64{-1, -1}, Upper: [2]float64{1, 1},
//	})
//	...
//	err = fig.Show("repertoire")
//
// Shortcuts draw runs directly: [Repertoire], [Metrics], [Snapshots], [SkillTrajectories],
// [Adaptation] and [Columns].
//
// All figures share one style: text of 8 to 10 points at natural size, viridis for fitness, and a
// fixed colour and dash pattern for each method (see [MethodStyles]) that readers with a colour
// vision deficiency can tell apart. The font, Liberation Sans, has Latin, Greek and Cyrillic letters.
// Each other character, such as a Chinese one, is a box; an SVG leaves it to the viewer's fonts.
package figures
