// Package figures draws what the figures of the paper are made of: maps of repertoires, curves,
// trajectories, boxes and pictures, alone or many on a page. Package paper makes the figures
// themselves of them.
//
// It takes plain numbers, so that it also draws what other programs have computed, and every
// function returns a [Figure], which is shown in a notebook by [Show] or saved as PNG, SVG or PDF
// by [Figure.Save]:
//
//	fig, err := figures.RepertoireMap(figures.Cells{
//		Centroids: centroids, Fitness: fitness,
//		Lower: [2]float64{-1, -1}, Upper: [2]float64{1, 1},
//	})
//	...
//	err = figures.Show("repertoire", fig)
//
// Of runs there are shorter ways: [Repertoire], [Metrics], [Snapshots], [SkillTrajectories],
// [Adaptation] and [Columns].
//
// Figures share one style: text of 8 to 10 points at their natural size, viridis for fitness, and
// for each method a fixed colour and dash pattern (see [MethodStyles]) that readers with a colour
// vision deficiency can tell apart.
package figures
