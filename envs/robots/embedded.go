package robots

import (
	"bytes"
	_ "embed"

	"example.com/qdnb/envs/physics"
)

var (
	//go:embed hopper.txt
	hopper []byte
	//go:embed humanoid.txt
	humanoid []byte
)

// HopperFoot lists the body whose contact is the descriptor of hopper-uni (QDax,
// environments/locomotion_wrappers.py, FEET_NAMES), HumanoidFeet those of humanoid-uni.
var (
	HopperFoot   = []string{"foot"}
	HumanoidFeet = []string{"left_shin", "right_shin"}
)

// HopperLeg and HumanoidLeg list the joints of a leg.
var (
	HopperLeg   = []string{"thigh_joint", "leg_joint", "foot_joint"}
	HumanoidLeg = []string{"left_hip_x", "left_knee"}
)

// Hopper is a torso on a leg of three links, in the x-z plane (Brax, envs/hopper.py,
// _SYSTEM_CONFIG_SPRING).
func Hopper() physics.Model { return read(hopper) }

// Humanoid has eleven bodies (Brax, envs/humanoid.py, _SYSTEM_CONFIG_SPRING). Only its shins, which end
// in feet, touch the ground.
func Humanoid() physics.Model { return read(humanoid) }

func read(config []byte) physics.Model {
	model, _, err := ReadBrax(bytes.NewReader(config))
	if err != nil {
		panic(err) // of a file in this package
	}
	return model
}
