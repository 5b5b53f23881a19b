// Package repertoire holds collections of solutions in cells of descriptor space: centroids by a centroidal Voronoi
// tessellation, insertion, and what is measured of them.
package repertoire
