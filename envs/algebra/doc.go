// Package algebra is the vector algebra of the physics engines: numbers, vectors and rotations of several
// bodies in B copies of a system. Values that are known when the graph is built cost nothing at run time.
package algebra
