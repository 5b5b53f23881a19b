package compiler

import (
	"context"
	_ "embed"
	"encoding/json"
	"os"
	"path/filepath"

	"example.com/qdnb/envs/mujoco"
	"example.com/qdnb/internal/npz"
)

//go:embed reference.py
var referenceScript string

// Reference has MuJoCo compute what a model does if only the given pairs of geoms may touch: forces
// and accelerations in random states, and rollouts of one second. The arrays are named and shaped as
// in the golden files of package mujoco: free_* for at most 50 states without contacts, touch_* for
// at most 50 on the way of rollouts, traj0_* to traj9_* for the rollouts. Constraints are solved to
// convergence, and states are exact float32 numbers. The number speed is that of control steps per second of
// random gaits on all cores, of the file as it is; link_contacts are the numbers of contacts between links after each
// control step of the rollouts. It takes seconds. Errors are those of [Compile].
func Reference(ctx context.Context, path string, pairs []mujoco.Pair) (map[string]npz.Array, error) {
	dir, err := os.MkdirTemp("", "qdnb-mujoco-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	text, err := json.Marshal(geoms(pairs))
	if err != nil {
		return nil, err
	}
	allowed, out := filepath.Join(dir, "pairs.json"), filepath.Join(dir, "reference.npz")
	if err := os.WriteFile(allowed, text, 0o600); err != nil {
		return nil, err
	}
	if _, err := run(ctx, referenceScript, path, allowed, out); err != nil {
		return nil, err
	}
	return npz.Read(out)
}

// geoms lists the geoms of pairs, for a script.
func geoms(pairs []mujoco.Pair) [][2]int {
	list := make([][2]int, len(pairs))
	for i, p := range pairs {
		list[i] = [2]int{p.Geom1, p.Geom2}
	}
	return list
}
