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
	// largest difference as a share of what the tolerance allows there: beyond 1 it is outside
	WorstShare float64
	Tolerance  string // in words
	Outside    int    // parts of the array with a difference outside of the tolerance
	Pass       bool   // no more than the array's group allows
}

// Group counts the parts of a file's arrays: samples, starts of trajectories, steps of them. A part
// is outside if any of its arrays is outside of its tolerance there.
type Group struct {
	Parts   string // what they are
	Of      int    // how many were compared
	Outside int
	Allowed int // how many may be outside
	// starts with a contact at its edge that the file decides otherwise; they are not outside for
	// that
	Edges int
}

// String is a table of the arrays, in lines that end with PASS or FAIL; so does the last, which is
// about the file. The line before it counts the contacts at their edge, if there are any. The
// errors are the worst of each array, share is [Result.WorstShare], out counts the parts that are
// outside.
func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintln(&b, r.File)
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "  array\tabs err\trel err\ttolerance\tshare\tout\tresult")
	for _, a := range r.Arrays {
		fmt.Fprintf(table, "  %s\t%.2g\t%.2g\t%s\t%.2g\t%d\t%s\n",
			a.Name, a.WorstAbs, a.WorstRel, a.Tolerance, a.WorstShare, a.Outside, verdict(a.Pass))
	}
	_ = table.Flush() // a strings.Builder takes everything
	counts := make([]string, len(r.Groups))
	for i, g := range r.Groups {
		counts[i] = fmt.Sprintf("%d/%d %s", g.Outside, g.Of, g.Parts)
		if g.Allowed > 0 {
			counts[i] += fmt.Sprintf(" (%d allowed)", g.Allowed)
		}
		if g.Edges > 0 {
			fmt.Fprintf(&b,
				"  %d/%d %s have a contact at its edge (within %.0e m), which the file decides otherwise: "+
					"not counted\n",
				g.Edges, g.Of, g.Parts, edge)
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
