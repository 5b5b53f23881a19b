package verify_test

import (
	"fmt"

	"example.com/qdnb/envs/verify"
)

func ExampleReport_String() {
	fmt.Println(verify.Report{
		File: "golden/onestep_pointmaze.npz", Env: "pointmaze", Kind: "onestep",
		Arrays: []verify.Result{
			{Name: "obs", WorstAbs: 5.96e-8, WorstRel: 1.2e-7, Tolerance: 1e-6, Pass: true},
			{Name: "done", WorstAbs: 1, WorstRel: 1, Tolerance: 0, Pass: false},
		},
	})
	// Output:
	// golden/onestep_pointmaze.npz
	//   array  worst abs  worst rel  tolerance  result
	//   obs    6e-08      1.2e-07    1e-06      PASS
	//   done   1          1          0          FAIL
	// onestep of pointmaze: FAIL
}
