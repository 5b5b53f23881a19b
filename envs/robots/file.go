package robots

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"example.com/qdnb/envs/mujoco"
	"example.com/qdnb/envs/mujoco/compiler"
	"example.com/qdnb/envs/physics"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/names"
)

// ReadMJCF has MuJoCo compile a robot's XML or URDF, with its includes and meshes, or reads a compiled
// model, whose name ends in .json: see [compiler.ReadFile]. Errors name the file.
func ReadMJCF(ctx context.Context, path string) (mujoco.Model, error) {
	model, err := compiler.ReadFile(ctx, path)
	return model, named(path, err)
}

// Name is what a robot in a file is called: the file's name without its end, or, as robots of MuJoCo Menagerie are all
// in a scene.xml, the folder's.
func Name(path string) string {
	name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	if whole, err := filepath.Abs(path); err == nil && name == "scene" {
		name = filepath.Base(filepath.Dir(whole))
	}
	return name
}

// ReadFile reads a robot from a file with a configuration of Brax v1: see [ReadBrax].
func ReadFile(path string) (physics.Model, []string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return physics.Model{}, nil, named(path, names.File(err, "give the path of a configuration of Brax v1"))
	}
	model, notes, err := ReadBrax(bytes.NewReader(text))
	return model, notes, named(path, err)
}

func named(path string, err error) error {
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return err
}

//go:embed go1.json
var go1 []byte

// Go1 is Unitree's quadruped as in MuJoCo Playground, with all of its contacts, compiled by MuJoCo. Its keyframe
// "home" stands.
func Go1() mujoco.Model { return must.Get(mujoco.ReadModel(bytes.NewReader(go1))) }

//go:embed a1.json
var a1 []byte

// A1 is Unitree's quadruped as in MuJoCo Menagerie, on a floor, compiled by MuJoCo without its meshes, which are only
// drawn. Its keyframe "home" stands.
func A1() mujoco.Model { return must.Get(mujoco.ReadModel(bytes.NewReader(a1))) }

//go:embed gymnasium/*.json
var gymnasium embed.FS

// Gymnasium returns a robot of Gymnasium's MuJoCo tasks, version 5, compiled by MuJoCo: "ant", "half_cheetah",
// "hopper", "humanoid", "swimmer" or "walker2d". It panics for another name.
func Gymnasium(name string) mujoco.Model {
	return must.Get(mujoco.ReadModel(bytes.NewReader(must.Get(gymnasium.ReadFile("gymnasium/" + name + ".json")))))
}
