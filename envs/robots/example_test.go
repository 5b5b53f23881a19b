package robots_test

import (
	"fmt"
	"log"

	"example.com/qdnb/envs/physics"
	"example.com/qdnb/envs/robots"
)

// Models are data: an ant with half the actuator strength in one leg and twice the gravity.
func Example() {
	ant := robots.Ant(physics.Spring)
	ant.Gravity[2] *= 2
	for i, a := range ant.Actuators {
		if a.Joint == robots.AntLeg[0] || a.Joint == robots.AntLeg[1] {
			ant.Actuators[i].Strength *= 0.5
		}
	}
	if err := ant.Validate(); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d bodies, gravity %g m/s²\n", len(ant.Bodies), ant.Gravity[2])
	for _, a := range ant.Actuators {
		fmt.Printf("%-16s %g Nm\n", a.Joint, a.Strength)
	}
	// Output:
	// 10 bodies, gravity -19.6 m/s²
	// $ Torso_Aux 1    350 Nm
	// Aux 1_$ Body 4   350 Nm
	// $ Torso_Aux 2    350 Nm
	// Aux 2_$ Body 7   350 Nm
	// $ Torso_Aux 3    350 Nm
	// Aux 3_$ Body 10  350 Nm
	// $ Torso_Aux 4    175 Nm
	// Aux 4_$ Body 13  175 Nm
}
