// Package robots defines the models of the rigid-body tasks: the robots of Brax v0.0.12, the
// obstacles of QDax and of the paper's benchmark, and the paper's perturbations. Package physics
// simulates them.
//
// Every function returns a new model. Functions that take a model do not modify it; the new model
// shares the unchanged parts. Lengths are in metres, masses in kilograms, angles in degrees.
// Numbers are the shortest decimals that round to the source's float32.
package robots
