package robots

import (
	"embed"
	"sync"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/types/dynamicpb"

	"example.com/qdnb/envs/physics"
	"example.com/qdnb/internal/must"
)

//go:embed *.txt
var configs embed.FS

// The feet are the bodies whose contacts are the descriptor of a task, in its order (QDax,
// environments/locomotion_wrappers.py, FEET_NAMES).
var (
	AntFeet         = []string{"$ Body 4", "$ Body 7", "$ Body 10", "$ Body 13"}
	HalfCheetahFeet = []string{"ffoot", "bfoot"}
	HopperFoot      = []string{"foot"}
	HumanoidFeet    = []string{"left_shin", "right_shin"}
	Walker2dFeet    = []string{"foot", "foot_left"}
)

// The legs are the joints whose actuators are perturbed: in the paper (qdbenchmark,
// adaptation/constants.py), or one leg of a hopper and of a humanoid.
var (
	AntLeg         = []string{"$ Torso_Aux 4", "Aux 4_$ Body 13"}
	HalfCheetahLeg = []string{"fthigh", "fshin", "ffoot"}
	HopperLeg      = []string{"thigh_joint", "leg_joint", "foot_joint"}
	HumanoidLeg    = []string{"left_hip_x", "left_knee"}
	Walker2dLeg    = []string{"thigh_left_joint", "leg_left_joint", "foot_left_joint"}
)

const (
	antFriction     = 1
	cheetahFriction = 0.7745967
)

// Bodies that collide with the ground and with obstacles.
var (
	antTouching     = append([]string{"$ Torso"}, AntFeet...)
	cheetahTouching = []string{"torso", "bfoot", "ffoot", "bthigh", "fthigh", "bshin", "fshin"}
)

// Ant is a torso on four legs of two links, with a hip and a knee each (Brax, envs/ant.py). With
// spring dynamics, used by ant-uni and ant-omni, it is _SYSTEM_CONFIG_SPRING. With position based
// dynamics, used by ant-trap and ant-maze, it is _SYSTEM_CONFIG.
func Ant(dynamics physics.Dynamics) physics.Model {
	m := ant()
	if dynamics == physics.PositionBased {
		m.Dynamics, m.Baumgarte = dynamics, 0
		for i := range m.Joints {
			m.Joints[i].Stiffness, m.Joints[i].SpringDamping = 0, 0
		}
	}
	return m
}

// HalfCheetah is a torso with a head, on a back and a front leg of three links, in the x-z plane
// (Brax, envs/halfcheetah.py, _SYSTEM_CONFIG_SPRING).
func HalfCheetah() physics.Model { return halfCheetah() }

// Walker2d is a torso on two legs of three links, in the x-z plane (Brax, envs/walker2d.py,
// _SYSTEM_CONFIG_SPRING). It stands upright, with straight legs.
func Walker2d() physics.Model { return walker2d() }

// Hopper is a torso on a leg of three links, in the x-z plane (Brax, envs/hopper.py,
// _SYSTEM_CONFIG_SPRING).
func Hopper() physics.Model { return hopper() }

// Humanoid has eleven bodies (Brax, envs/humanoid.py, _SYSTEM_CONFIG_SPRING). Only its shins, which end
// in feet, touch the ground.
func Humanoid() physics.Model { return humanoid() }

var ant, halfCheetah, hopper, humanoid, walker2d = configuration("ant"), configuration("halfcheetah"),
	configuration("hopper"), configuration("humanoid"), configuration("walker2d")

// configuration returns a function that makes the model of a configuration in this package, whose text is read once.
func configuration(name string) func() physics.Model {
	text := sync.OnceValue(func() message {
		config := dynamicpb.NewMessage(braxConfig())
		must.Do(prototext.Unmarshal(must.Get(configs.ReadFile(name+".txt")), config))
		return message{config}
	})
	return func() physics.Model {
		b := &brax{}
		must.Do(b.system(text()))
		return b.model
	}
}
