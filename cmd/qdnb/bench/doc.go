// Package bench measures the stages of training for `qdnb bench`, which `make bench-peer` compares
// with the same work in JAX.
package bench
