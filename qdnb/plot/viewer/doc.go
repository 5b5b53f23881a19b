// Package viewer makes pages on which skills can be watched in three dimensions: one film, or a
// repertoire as an index of films.
//
//	cells, err := viewer.Cells(run)              // as many as a page has room for
//	films, err := qdnb.Film(run, 0, cells...)    // what the robot does
//	page, err := viewer.OfRun(run, cells, films) // a map; clicking a cell plays its skill
//	...
//	err = viewer.Show("repertoire", page)
//
// A page is one HTML file that holds all it needs, three.js included, and forbids itself any use of
// the network. It shows the same beside a notebook's cell, in an exported notebook and by itself.
//
// The page's program lies in src; tools/viewer bundles it with three.js into bundle.js.gz, which is
// what users need: no Node.js.
package viewer
