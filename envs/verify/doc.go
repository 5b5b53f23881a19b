// Package verify compares environments with golden files: states and steps that the published code computed.
//
// A file's name says what it holds, <kind>_<environment>.npz. [File] computes the same with this build, on any backend, and
// reports how far each array is off:
//
//	traj      trajectories from stored states under stored actions, every step of them
//	onestep   single steps from stored states
//
// A kind is a function in a file of its own, see kinds; how an environment's states are written down is a form, see forms.
package verify
