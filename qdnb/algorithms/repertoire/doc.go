// Package repertoire implements repertoires, collections of solutions in cells of descriptor space:
// their archives, and the rules by which individuals enter.
//
// An [Archive] is a value that holds its settings and its state, a pytree. It decides on small tensors
// which of the evaluated individuals enter; the search moves the genotypes.
//
//   - [Grid] is the archive of MAP-Elites and of all passive repertoires. Its cells are those of a
//     [CVT] (Mouret and Clune 2015, "Illuminating search spaces by mapping elites"; Vassiliades,
//     Chatzilygeroudis and Mouret 2018, "Using centroidal Voronoi tessellations to scale up
//     MAP-Elites"). [Annealed] adds the thresholds of CMA-MAE, [Discounted] those of
//     Discount Model Search.
//   - [Aurora] learns its descriptors. Its individuals keep a distance from each other that adapts to
//     their number (Grillotti and Cully 2022, "Unsupervised behavior discovery with quality-diversity
//     optimization").
//   - [DominatedNovelty], [XCon] and [Fronts] are the archives of DNS, AURORA-XCon and MOME.
//
// Embed an archive to change a part of it, as in package algorithms.
// An archive without cells keeps [EmptySlots], in which [Truncate] lets the individuals with the
// greatest scores survive; an example of package qdnb is novelty search with local competition. A
// [SequenceRecorder] records steps of the episodes, a [Maintainer] changes between generations, and a
// [Measurer] sees several objectives.
//
// docs/algorithms lists the differences from the published code.
package repertoire
