// Package physics is a rigid-body engine as a graph: it advances a batch of B copies of a system at once. It reproduces
// Brax v0.0.12 (google/brax, brax/physics), both of its dynamics, its quirks included, to the rounding of float32.
package physics
