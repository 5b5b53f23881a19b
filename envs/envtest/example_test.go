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
	// shapes:
	// Reset returns Observation of shape (Float32)[5, 2] for 5 copies; Spec says (Float32)[5, 4]
}
