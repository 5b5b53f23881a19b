// Package mujoco moves robots as MuJoCo 4.0.0 does: in reduced coordinates, with its soft constraints
// solved to convergence, as graphs that step B copies at once in float32.
//
// A [Model] is MuJoCo's compiled mjModel as data ([ReadModel]). [NewSystem] lays it out, [System.Step]
// builds the graph of one or more physics steps.
//
// # How it computes
//
// Bodies that are welded together are one link. Links of the same structure, such as the four shanks of a
// quadruped, form a group and are the rows of one algebra.Num. Recursions over the tree go from group to group;
// inertias, momenta and poses are computed for the links of all groups at once, in fewer operations. The chain of
// calls of a physics step is
//
//	Step            state by groups, loop over physics steps
//	  semiImplicit  Euler and implicitfast; or rungeKutta
//	  accelerate    the acceleration of a state
//	    kinematics        poses, axes of the dofs, inertias
//	    smooth            without constraints
//	      inverseDynamics   forces of velocities, gravity and the first guess
//	      passive, actuation
//	    collisions        distances, points and normals of contacts
//	    constrain         friction losses, limits, contacts: stiffness and reference
//	    minimize          Newton's method; iterate is one iteration:
//	      linearize         respond, push, springs: forces of the constraints and their slopes
//	      factorize
//	      solveLinear       the step, by the articulated-body algorithm: solve; or solveCoupled, if links touch
//	                        each other or joints are held equal
//	      advance           lineSearch
//
// [System.Agree] compiles the programs of large systems in parts, one for each of these stages (xla.Outline), because
// the time to compile a function grows with the square of its operations. Rollouts run for longer, so each is one
// function. In two parts, with one tensor as the state of the loops, Gymnasium's humanoid would compile in 17 s instead
// of 48, but 16 copies would take a fifth longer to step (two cores of an EPYC).
//
// A contact with what cannot move adds a spring to its link, as if to its inertia. So the Newton system has
// the pattern of the mass matrix, and its factor no other entries. Contacts between links and equalities
// are not in the factor; solveCoupled adds them as rank-one updates. Of the contacts between links, each
// copy keeps the deepest ([Options.LinkContacts]).
//
// Capsules that are exactly parallel have one contact here, and up to two in MuJoCo; so do capsules that lie on a
// cylinder's flat end to within five degrees. A free body alone under
// implicitfast lacks the derivative of its gyroscopic forces. For boxes that are aligned to within rounding of
// float32, and capsules that are parallel to an edge of a box, the number of contacts can differ from MuJoCo's,
// where rounding of float64 decides it.
package mujoco
