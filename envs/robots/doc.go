// Package robots writes down the systems of the rigid-body tasks: the robots of Brax v0.0.12 with
// the obstacles of QDax and of the paper's benchmark, and the paper's perturbations of them. It is
// data; package physics sets it in motion.
//
// Every function makes a new model. Those that take a model leave it as it is; the new one shares
// with it what they do not change. Lengths are in meters, masses in kilograms, angles in degrees.
// The source gives float32: a number here is the shortest one that rounds to it.
package robots
