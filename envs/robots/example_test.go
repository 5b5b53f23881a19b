package robots_test

import (
	"fmt"
	"log"

	"example.com/qdnb/envs/physics"
	"example.com/qdnb/envs/robots"
)

// An ant with half the actuator strength in one leg and twice the gravity.
func Example() {
	ant, err := robots.WithGravity(robots.Ant(physics.Spring), 2)
	if err != nil {
		log.Fatal(err)
	}
	ant, err = robots.WithStrength(ant, 0.5, robots.AntLeg...)
	if err != nil {
		log.Fatal(err)
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
