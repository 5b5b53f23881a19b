// Package physics is a rigid-body engine as a graph: it advances a batch of B copies of a system at
// once. It reproduces Brax v0.0.12 (google/brax, brax/physics), both of its dynamics, its quirks
// included, to the rounding of float32. It knows no task: rewards and observations are package
// envs', robots are data of package envs/robots.
//
// A [Model] is data: bodies, joints, actuators, colliders, and the pairs of bodies that may touch.
// [NewSystem] checks it and lays it out. The methods of the [System] build graphs:
//
//   - [System.Pose] makes a [State] of joint angles, [System.Import] one of the coordinates of bodies;
//   - [System.Step] advances it by a control step under actions, and tells what contacts did ([Contact]);
//   - [System.Frame], [System.JointAngles], [System.CenterOfMass] and [System.Export] read it.
//
// # How it computes
//
// A quantity of several bodies is a num, which is known when the graph is built or computed in it;
// what is known costs nothing (num_graph.go, sum_graph.go; of three components vector_graph.go).
// Bodies lie by limbs (system.go, hinges.go), so that what joints and contacts do is elementwise:
// joints_graph.go and contacts_graph.go have what both dynamics share. A substep of [Spring]
// dynamics is spring_graph.go, a pair of substeps of [PositionBased] ones pbd_graph.go.
// ARCHITECTURE.md says why it is so.
//
// In comments "the source" is Brax, and file names in parentheses are its.
package physics
