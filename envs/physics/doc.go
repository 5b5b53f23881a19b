// Package physics is a rigid-body physics engine that builds graphs. It steps a batch of B copies
// of a system at once. It reproduces both dynamics of Brax v0.0.12 (google/brax, brax/physics),
// including its quirks, to float32 rounding. It knows no tasks: rewards and observations are in
// package envs, robots in package envs/robots.
//
// A [Model] is data: bodies, joints, actuators, colliders, and the pairs of bodies that may touch.
// [NewSystem] checks it and lays it out. The methods of [System] build graphs:
//
//   - [System.Pose] makes a [State] from joint angles, [System.Import] from body coordinates;
//   - [System.Step] advances a state by one control step and returns its contact impulses, an
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
//	Step, StepUnder      step_graph.go            loop over the substeps of a control step, of springs or
//	                                              position based (smallestStep)
//	  springSubstep      spring_graph.go          springs: joints, actuators, gravity, then contacts
//	    resolveContacts  contact_solver_graph.go  velocity changes: solve, average
//	  positionIteration  pbd_graph.go             position based: two substeps, then contacts
//	    correctPositions, correctVelocities       contact_solver_graph.go: solve, average
//
//	solve                contact_solver_graph.go  the contacts of a group, all at once
//	  eachWall           walls_graph.go           or only near walls, one at a time
//	  findContacts       contacts_graph.go        points, normals and penetrations of capsules
//	    onPlane          planes_graph.go          or of their ends and planes
//	  collide            spring_graph.go          the law of springs, to be read first: Baumgarte
//	                                              stabilisation and Coulomb friction
//	  solveContactPosition, solveContactVelocity  pbd_contacts_graph.go: position based laws
//	average              contacts_graph.go        over the contacts of a body
//
// [NewSystem] lists the possible contacts (prepareContacts in contacts.go).
//
// In comments, "the source" is Brax, and file names in parentheses are Brax's.
package physics
