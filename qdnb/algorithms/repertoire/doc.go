// Package repertoire holds collections of solutions in cells of descriptor space: centroids by a
// centroidal Voronoi tessellation, insertion, and what is measured of them.
//
// [CVT] makes the centroids, [Cells] are the grid of MAP-Elites and of all passive repertoires,
// with [Winners] as the rule of insertion:
//
//	Mouret and Clune 2015, "Illuminating search spaces by mapping elites";
//	Vassiliades, Chatzilygeroudis and Mouret 2018, "Using centroidal Voronoi tessellations to scale up MAP-Elites".
//
// [Unstructured] is AURORA's archive, which has no cells: members keep a distance, which a
// [Threshold] adapts, and [Retrains] says when descriptors change:
//
//	Grillotti and Cully 2022, "Unsupervised behavior discovery with quality-diversity optimization".
//
// None of them moves genotypes: they decide, in small tensors, and the caller moves what is large
// ([SetGenotypes]). Package evolution says where this differs from the published code.
package repertoire
