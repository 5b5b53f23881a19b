// Package mujoco moves robots as MuJoCo does: in reduced coordinates, with MuJoCo's soft
// constraints, as graphs.
package mujoco
