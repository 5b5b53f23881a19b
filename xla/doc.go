// Package xla is the platform that everything numeric of qdnb runs on: GoMLX graphs compiled by XLA
// for the CPU, a CUDA GPU or a TPU, or run by GoMLX's pure Go backend where there is no XLA.
//
//   - [Open] and [Default] choose a backend, and fetch the plugin of XLA:CPU on first use; [Platform] says what was found.
//   - [Platform.Compile] turns a graph function into a [Program]; [Platform.CompileParallel] into one that every worker
//     (a CPU core, a GPU) runs at once on its own part.
//   - [For], [Repeat] and [Loop] are loops inside a program over trees of tensors; they nest. [ForUnfused] is for bodies of large
//     operations, such as updates of networks.
//   - [Materialize] and [Barrier] keep XLA:CPU from computing the same again for everything that uses it.
//   - [Key] is a counter-based generator of random numbers, the same on every backend.
//   - [Parametric] parts of an algorithm have numbers that are inputs of a program: programs of the same text are compiled once in a
//     process.
//
// Graph functions live in files named *_graph.go and panic with the cause; everything else returns
// errors. Compile is where the two meet: it catches the panics of graph building and names the
// program.
package xla
