// Package repertoire implements repertoires, collections of solutions in cells of descriptor space:
// centroids by centroidal Voronoi tessellation, and rules of insertion.
//
// [CVT] computes the centroids. [Cells] is the grid of MAP-Elites and of all passive repertoires,
// with [Winners] as its insertion rule:
//
//	Mouret and Clune 2015, "Illuminating search spaces by mapping elites";
//	Vassiliades, Chatzilygeroudis and Mouret 2018, "Using centroidal Voronoi tessellations to scale
//		up MAP-Elites".
//
// [Unstructured] is AURORA's archive, which has no cells: its members keep a distance from each
// other, which a [Threshold] adapts. [Retrains] says when the descriptors change:
//
//	Grillotti and Cully 2022, "Unsupervised behavior discovery with quality-diversity optimization".
//
// [DominatedNovelty], [Fronts] and [Annealed] are the rules of DNS, MOME and CMA-MAE.
//
// These types do not move genotypes. They make decisions on small tensors, and the caller moves the
// large ones ([SetGenotypes]). docs/algorithms lists the differences from the published code.
package repertoire
