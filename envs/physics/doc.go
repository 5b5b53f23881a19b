// Package physics is a rigid-body physics engine that builds graphs. It steps a batch of B copies
// of a system at once. It reproduces both dynamics of Brax v0.0.12 (google/brax, brax/physics),
// including its quirks, to float32 rounding. It knows no tasks: rewards and observations are in
// package envs, robots in package envs/robots.
//
// A [Model] is data: bodies, joints, actuators, colliders, and the pairs of bodies that may touch.
// [NewSystem] checks it and lays it out. The methods of [System] build graphs:
//
//   - [System.Pose] makes a [State] from joint angles, [System.Import] from body coordinates;
//   - [System.Step] advances a state by one control step and returns its contact impulses, a
//     [algebra.Contact];
//   - [System.Frame], [System.JointAngles], [System.CenterOfMass] and [System.Export] read a state.
//
// # How it computes
//
// A quantity of several bodies is an [algebra.Num]: either known when the graph is built, or computed in the
// graph. Known quantities cost nothing at run time. Bodies are laid out by limbs, so joints and contacts
// are elementwise operations. ARCHITECTURE.md explains the design.
//
// # The calls of a contact
//
//	Step                       loop over the substeps of a control step
//	  springSubstep              spring dynamics: joints, actuators, gravity, then contacts
//	    resolveContacts            solve, average
//	    applyImpulse               to the velocities
//	  positionIteration          position based dynamics
//	    correctPositions           solve, average
//	    correctVelocities          solve, average
//
//	solve                      all contacts of a group at once, or near walls one at a time
//	  findContacts               points, normals and penetrations: of capsules, or with planes
//	  contactLaw                 collide: Baumgarte stabilisation and Coulomb friction;
//	                             solveContactPosition, solveContactVelocity
//	average                    over the contacts of a body
//
// In comments, "the source" is Brax, and file names in parentheses are Brax's.
package physics
