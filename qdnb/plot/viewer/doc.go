// Package viewer makes pages that play skills in three dimensions: a single film, or a repertoire
// as an index of films.
//
//	cells, err := viewer.Cells(run) // as many as fit on a page
//	recording, err := qdnb.Play(ctx, run, qdnb.PlaySpec{Cells: cells})
//	films, err := recording.Films()
//	page, err := viewer.OfRun(run, cells, films) // a map; clicking a cell plays its film
//	...
//	err = page.Show("repertoire")
//
// A page is one self-contained HTML file that includes three.js and blocks all network access. It
// looks the same below a notebook cell, in an exported notebook and on its own.
//
// The JavaScript sources are in src. tools/viewer bundles them with three.js into bundle.js.gz, so
// that users do not need Node.js.
package viewer
