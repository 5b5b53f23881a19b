// Package xla is the platform on which all numeric code of qdnb runs: GoMLX graphs compiled by XLA
// for the CPU, a CUDA GPU or a TPU, or run by GoMLX's pure Go backend on machines without XLA.
//
//   - [Open] chooses a backend and fetches the XLA:CPU plugin on first use, see package backend.
//   - [Compile] turns a function of states into a [Program]. [CompileParallel] compiles one that
//     every worker (a CPU core, a GPU) runs at once on its own part. A [State] is a pytree on the
//     devices; [Checkpoint] stores states by the names of their tensors.
//   - [For], [Repeat] and [Loop] are loops inside a program over pytrees. They nest. [ForUnfused]
//     is for bodies of large operations, such as network updates.
//   - [Materialize] keeps XLA:CPU from recomputing a value in each of its users. [Outline] compiles a part of a
//     large program on its own.
//   - A process compiles programs with the same text once.
//
// Functions of nodes panic with the cause, others return errors. Compile turns a panic into an error.
package xla
