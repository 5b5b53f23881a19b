// Package scoring evaluates genotypes. It rolls out a batch of policies in an environment, slice by
// slice on all workers, and returns their fitness, their descriptors and records of their episodes.
// QDax calls this the scoring function. Both families of algorithms use it.
package scoring
