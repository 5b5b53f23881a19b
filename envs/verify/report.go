package verify

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// Report is the result of a comparison with a golden file.
type Report struct {
	File   string // path of the golden file
	Env    string
	Kind   string // one of [Kinds]
	Arrays []Result
	Groups []Group
	Pass   bool // no group has more parts outside than allowed
}

// Result is the comparison of one array.
type Result struct {
	Name     string
	WorstAbs float64 // largest absolute difference; +Inf if this build computed NaN
	WorstRel float64 // largest difference relative to the stored number, where that is not 0
	// WorstShare is the largest difference as a fraction of its tolerance; above 1 it is outside.
	WorstShare float64
	Tolerance  string // as text
	Outside    int    // parts of the array with a difference outside of the tolerance
	Pass       bool   // Outside is no more than the array's group allows
}

// Group counts the parts of a file's arrays: samples, starts of trajectories, or their steps. A
// part is outside if any of its arrays is outside of its tolerance.
type Group struct {
	Parts   string // what the parts are
	Of      int    // how many were compared
	Outside int
	Allowed int // how many may be outside
	// Edges counts starts that differ from the file only by a marginal contact. They do not count as
	// outside.
	Edges int
}

// String formats the report as a table with one line per array and a last line for the file, which
// all end with PASS or FAIL. The line before the last counts marginal contacts, if any. The errors
// are the worst of each array, share is [Result.WorstShare], out counts the parts outside.
func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintln(&b, r.File)
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "  array\tabs err\trel err\ttolerance\tshare\tout\tresult")
	for _, a := range r.Arrays {
		fmt.Fprintf(table, "  %s\t%.2g\t%.2g\t%s\t%.2g\t%d\t%s\n",
			a.Name, a.WorstAbs, a.WorstRel, a.Tolerance, a.WorstShare, a.Outside, verdict(a.Pass))
	}
	_ = table.Flush() // a strings.Builder never fails
	counts := make([]string, len(r.Groups))
	for i, g := range r.Groups {
		counts[i] = fmt.Sprintf("%d/%d %s", g.Outside, g.Of, g.Parts)
		if g.Allowed > 0 {
			counts[i] += fmt.Sprintf(" (%d allowed)", g.Allowed)
		}
		if g.Edges > 0 {
			fmt.Fprintf(&b,
				"  %d/%d %s have a marginal contact (within %.0e m) that the file resolves differently: "+
					"not counted\n", g.Edges, g.Of, g.Parts, edge)
		}
	}
	fmt.Fprintf(&b, "%s of %s: %s outside: %s", r.Kind, r.Env, strings.Join(counts, ", "),
		verdict(r.Pass))
	return b.String()
}

func verdict(pass bool) string {
	if pass {
		return "PASS"
	}
	return "FAIL"
}
