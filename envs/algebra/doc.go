// Package algebra is the vector algebra of the physics engines: numbers, vectors and rotations of several
// bodies in B copies of a system, of which what is known when the graph is built costs nothing at run
// time.
package algebra
