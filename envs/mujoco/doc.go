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
//	Step                  step_graph.go         state by groups, loop over physics steps
//	  semiImplicit        step_graph.go         Euler and implicitfast; or rungeKutta
//	  accelerate          step_graph.go         the acceleration of a state
//	    kinematics        kinematics_graph.go   poses, axes of the dofs, inertias
//	    smooth            step_graph.go         without constraints
//	      inverseDynamics dynamics_graph.go     forces of velocities, gravity and the first guess
//	      passive         passive_graph.go      damping, springs, fluids
//	      actuation       actuation_graph.go
//	    begin             step_graph.go         what Newton's method starts from
//	      collisions      constraints_graph.go  distances, points and normals of contacts: a function
//	                                            for each pair of shapes, listed in colliders.go
//	      constrain       constraints_graph.go  stiffness and reference, by impedance in law_graph.go (solref,
//	                                            solimp): constrainJoints (friction losses and limits),
//	                                            constrainEqual, constrainContact; visits_graph.go: contacts
//	                                            between links, found in link_contacts_graph.go
//	    minimize          newton_graph.go       Newton's method; iterate is one iteration:
//	      linearize       newton_graph.go       forces of the constraints and their slopes: respond,
//	                                            push and springs in forces_graph.go; contacts only push
//	                                            (bounds in constraints.go)
//	      solveLinear     newton_graph.go       the step, by the articulated-body algorithm: factorize and
//	                                            solve in solve_graph.go; or solveCoupled in
//	                                            coupled_graph.go, if links touch each other or joints are
//	                                            held equal; or solveDense in dense_graph.go, if that is
//	                                            crowded
//	      advance         newton_graph.go       lineSearch in line_search_graph.go
//
// In short, a contact is a spring with a stiffness and a reference (constrainContact), whose force respond returns.
//
// [System.Agree] compiles the programs of large systems in parts, one for each of these stages (xla.Outline), because
// the time to compile a function grows with the square of its operations. Rollouts run for longer, so each is one
// function. In two parts, with one tensor as the state of the loops, Gymnasium's humanoid would compile in 17 s instead
// of 48, but 16 copies would take a fifth longer to step (two cores of an EPYC).
//
// A contact with what cannot move adds a spring to its link, as if to its inertia. So the Newton system has the pattern
// of the mass matrix, and its factor no other entries. Contacts between links and equalities are not in the factor;
// solveCoupled adds them as rank-one updates. Of the contacts between links, each copy keeps the deepest
// ([Options.LinkContacts]), and of many pairs of boxes and other convex shapes only the nearest are looked at, those of
// all copies in one queue (queue_graph.go). The solver visits one contact after the other, as many as touch in some
// copy. Hands and arms can have far more rows of such contacts than dofs, and links of many geoms many possible
// contacts with what cannot move (System.crowds): then all contacts are visited, of which each copy keeps the deepest,
// and the Newton system is a dense matrix.
//
// Capsules that are exactly parallel have one contact here, and up to two in MuJoCo. Convex shapes without a rule of
// their own (collide_convex_graph.go) have one. Where faces of boxes and meshes lie on each other, or an edge on a
// face, they have several (collide_faces_graph.go): 99.5 % of 8009 contacts of faces that were at most a few degrees
// from parallel agree. The ends of cylinders are such faces, and the sides of cylinders and capsules such edges. Of the
// corners of a round end within a face, rounding decides which four have the contacts, also in MuJoCo. MuJoCo's
// search for the contacts of convex shapes, also of capsules with cylinders, ends within a micrometre of the least
// depth, so the normals of round shapes differ by up to 1e-2. In 12 480 poses with depths of up to the smaller shape,
// 1.1 % were pushed out along another direction than the shortest, of two meshes 5 %. A free body alone that is damped
// or driven lacks the derivative of its gyroscopic forces under implicitfast, which a note says. For boxes that are
// aligned to within rounding of float32, and capsules that are parallel to an edge of a box, the number of contacts can
// differ from MuJoCo's, where rounding of float64 decides it.
package mujoco
