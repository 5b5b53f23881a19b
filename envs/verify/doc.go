// Package verify compares environments with golden files: states and steps that the published code
// computed.
//
// A file's name says what it holds, <kind>_<environment>.npz. [File] computes the same with this
// build, on any backend, and reports how far each array is off:
//
//	onestep   single steps from stored states; what contacts did in them
//	perturb   the same in a perturbed environment, perturb_<environment>_<what>_<value>.npz
//	substep   the stages of the least step that the dynamics of rigid bodies make
//	traj      trajectories under stored actions: their starts from the joints' angles, and their steps
//
// What is compared, and by which tolerance, is in the report. Steps of rigid bodies are compared
// with ten times the rounding error that the published code itself makes in each sample, err64;
// where that decides about a contact, a sample may be outside, so a small share of them is allowed.
// Trajectories run freely until rounding parts them; those of the halfcheetahs, which part at once,
// start every step from the stored state before it. The arrays reward, done, desc, rot, vel and ang
// of the trajectories of rigid bodies follow from what is compared, and are left to the single
// steps. So does wall_contact: it says whether contact_vel of the walls is 0.
//
// A reset puts the lowest foot exactly on the ground, so rounding decides whether the first
// observation has its contact. Where a start that is a micrometre higher or lower has the stored
// contact, it counts as the same, and the report says so.
//
// A kind is a function in a file of its own, see kinds; how an environment is written down is a
// form, see formOf.
package verify
