package verify

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/physics"
	"example.com/qdnb/envs/robots"
	"example.com/qdnb/xla"
)

// system is the kind of files with single steps of a system of rigid bodies, which is read from a file
// in the same folder.
const system = "system"

// robotFile opens the description of a system in the folder of its golden file.
func robotFile(dir, name string) (physics.Model, error) {
	for _, file := range []string{"config_" + name + ".txt", "mjcf_" + name + ".xml"} {
		m, _, err := robots.ReadFile(filepath.Join(dir, file))
		if !errors.Is(err, fs.ErrNotExist) {
			return m, err
		}
	}
	return physics.Model{}, fmt.Errorf("its folder has no config_%s.txt or mjcf_%s.xml", name, name)
}

// verifySystem compares single steps, and poses of joint angles if the file has some.
func verifySystem(p *xla.Platform, dir, name string, stored *arrays) ([]*group, error) {
	model, err := robotFile(dir, name)
	if err != nil {
		return nil, err
	}
	engine, err := physics.NewSystem(model)
	if err != nil {
		return nil, err
	}
	bodies := len(model.Bodies)
	speed := tolerance{base: 1e-4, err64: "err64_velang"}
	state := coordinates(bodies, tolerance{base: 1e-6, err64: "err64_posrot"}, speed)
	inputs, err := stored.all(append(at(state, "", "_before", samples),
		column{name: "action", axes: []axis{samples}, dims: []int{engine.Actions()}}))
	if err != nil {
		return nil, err
	}
	touch := speed
	touch.value = 1e-5 // an impulse is the sum of those of all substeps
	outputs := append(at(state, "", "_after", samples), at([]column{bodyArray("contact_vel", bodies, 3, touch),
		bodyArray("contact_ang", bodies, 3, touch)}, "", "", samples)...)
	if _, err := stored.all(outputs); err != nil {
		return nil, err
	}
	s := subject{platform: p}
	computed, err := s.run(inputs, func(in []*Node) []*Node {
		var action *Node
		if engine.Actions() > 0 {
			action = swap(in[4])
		}
		after, contact := engine.Step(engine.Import(in[0], in[1], in[2], in[3]), action)
		return append(export(engine, after), byBody(contact.Velocity), byBody(contact.AngularVelocity))
	})
	if err != nil {
		return nil, err
	}
	all := every(stored.sizes[samples])
	steps := newGroup("samples", all, 0)
	if err := steps.compare(stored, outputs, computed, all); err != nil {
		return nil, err
	}
	const starts axis = "starts"
	joints := []column{{name: "init_qpos", axes: []axis{starts}, dims: []int{engine.Angles()}},
		{name: "init_qvel", axes: []axis{starts}, dims: []int{engine.Angles()}}}
	inputs, err = stored.all(joints)
	if err != nil {
		return []*group{steps}, nil
	}
	posed := at(coordinates(bodies, tolerance{base: 1e-5}, tolerance{base: 1e-4}), "init_", "", starts)
	computed, err = s.run(inputs, func(in []*Node) []*Node {
		return export(engine, engine.Pose(swap(in[0]), swap(in[1])))
	})
	if err != nil {
		return nil, err
	}
	all = every(stored.sizes[starts])
	poses := newGroup("poses", all, 0)
	return []*group{steps, poses}, poses.compare(stored, posed, computed, all)
}
