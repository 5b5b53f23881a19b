package envtest_test

import (
	"fmt"
	"strings"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/envtest"
)

// crooked returns observations of another size than its Spec promises.
type crooked struct{ envs.Pointmaze }

func (c crooked) Spec() envs.Spec {
	spec := c.Pointmaze.Spec()
	spec.Name, spec.Observations = "crooked", 4
	return spec
}

func ExampleCheck() {
	fmt.Println(envtest.Check(envs.Pointmaze{}))
	err := envtest.Check(crooked{})
	fmt.Println(strings.ReplaceAll(err.Error(), ": ", ":\n"))
	// Output:
	// <nil>
	// crooked breaks a promise of environments:
	// envtest_test.crooked.Reset:
	// program "episode" cannot be compiled:
	// it returns Observation of shape (Float32)[5, 2], not (Float32)[5, 4] (5:
	// copies; 2:
	// numbers of an action or components of a descriptor; 4:
	// numbers of an observation)
}
