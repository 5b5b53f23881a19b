// Package docfigures draws the figures of the pages in docs, from measurements, tables of the
// pages, shipped runs and short runs. `make docs-figures` writes them. Otherwise its test only
// checks that those that need no runs of their own can be drawn.
package docfigures
