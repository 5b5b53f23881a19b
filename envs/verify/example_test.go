package verify_test

import (
	"fmt"

	"example.com/qdnb/envs/verify"
)

func ExampleReport_String() {
	fmt.Println(verify.Report{
		File: "golden/onestep_walker-uni.npz", Env: "walker-uni", Kind: "onestep",
		Arrays: []verify.Result{
			{Name: "obs", WorstAbs: 3.6e-5, WorstRel: 0.0064, WorstShare: 0.031,
				Tolerance: "1e-3 + 10 err64", Pass: true},
			{Name: "done", WorstAbs: 1, WorstRel: 1, WorstShare: 1e9, Tolerance: "equal", Outside: 3,
				Pass: false},
		},
		Groups: []verify.Group{{Parts: "samples", Of: 256, Outside: 3, Allowed: 2}},
	})
	// Output:
	// golden/onestep_walker-uni.npz
	//   array  abs err  rel err  tolerance        share  out  result
	//   obs    3.6e-05  0.0064   1e-3 + 10 err64  0.031  0    PASS
	//   done   1        1        equal            1e+09  3    FAIL
	// onestep of walker-uni: 3/256 samples (2 allowed) outside: FAIL
}
