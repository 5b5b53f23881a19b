// Package verify compares environments with golden files: states and steps that the published code
// computed.
//
// A golden file is named <kind>_<environment>.npz. [File] recomputes its arrays with this build, on
// any backend, and reports the error of each array. The kinds are:
//
//	onestep   single steps from stored states, and the contact impulses in them
//	perturb   the same in a perturbed environment, perturb_<environment>_<what>_<value>.npz
//	traj      trajectories under stored actions: starts from joint angles, and steps
//	system    single steps of a robot that is read from a file in the same folder
//
// The report lists the compared arrays and their tolerances. The tolerance for steps of rigid
// bodies is ten times the rounding error of the published code in each sample, err64. If rounding
// decides about a contact, a sample may be outside of the tolerance, so a small fraction of samples
// may be outside. Trajectories run freely until rounding makes them diverge. Those of the
// halfcheetahs diverge at once, so each of their steps starts from the stored state before it. The
// arrays reward, done, desc, rot, vel and ang of rigid-body trajectories follow from the compared
// arrays and are only compared in single steps. The array wall_contact, whether contact_vel of the
// walls is 0, is not compared either.
//
// A reset puts the lowest foot exactly on the ground, so rounding decides whether the first
// observation has its contact. If a start that is a micrometre higher or lower has the stored
// contact, the start counts as equal, and the report says so.
package verify
