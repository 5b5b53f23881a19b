package verify

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// Report is what the comparison with a golden file found.
type Report struct {
	File   string // path of the golden file
	Env    string
	Kind   string // "traj", "onestep"
	Arrays []Result
	Pass   bool // all arrays
}

// Result is the comparison of one array.
type Result struct {
	Name      string
	WorstAbs  float64 // largest absolute difference; +Inf if this build computed NaN
	WorstRel  float64 // largest difference relative to the stored number; +Inf where that is 0
	Tolerance float64 // of WorstAbs
	Pass      bool
}

// String is a table of the arrays, in lines that end with PASS or FAIL; so does the last, which is about the file.
func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintln(&b, r.File)
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "  array\tworst abs\tworst rel\ttolerance\tresult")
	for _, a := range r.Arrays {
		fmt.Fprintf(table, "  %s\t%.2g\t%.2g\t%.2g\t%s\n", a.Name, a.WorstAbs, a.WorstRel, a.Tolerance, verdict(a.Pass))
	}
	_ = table.Flush() // a strings.Builder takes everything
	fmt.Fprintf(&b, "%s of %s: %s", r.Kind, r.Env, verdict(r.Pass))
	return b.String()
}

func verdict(pass bool) string {
	if pass {
		return "PASS"
	}
	return "FAIL"
}
