// Package bench times the stages of training for `qdnb bench`. `make bench-peer` compares the times
// with those of the same work in JAX.
package bench
