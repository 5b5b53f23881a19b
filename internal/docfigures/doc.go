// Package docfigures draws the figures of the pages in docs that no notebook draws, from
// measurements, tables of the pages and short runs. `make docs-figures` writes them. Otherwise its
// test only checks that the tables can be drawn.
package docfigures
