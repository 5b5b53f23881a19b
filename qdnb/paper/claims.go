package paper

import (
	"fmt"
	"strings"

	"example.com/qdnb/qdnb/paper/claims"
	"example.com/qdnb/qdnb/plot/tables"
)

// Claims returns a table of the paper's headline statements, the evidence of these runs and a verdict; a
// note says why some are open. It includes the claims
// of package claims with the given IDs, and those whose IDs start with a given ID and a hyphen
// ("adaptation" selects "adaptation-small" and so on). Without IDs it includes all claims.
func Claims(data *Data, ids ...string) (*tables.Table, error) {
	t := &tables.Table{Caption: "The paper's statements, and the evidence of these runs",
		Header: []string{"statement", "verdict", "evidence: medians (± standard deviation)", "compared",
			"seeds"}}
	used := map[string]bool{}
	var reasons []string
	open := map[string][]string{} // IDs by reason
	for _, r := range claims.Check(data.Tables) {
		wanted := len(ids) == 0
		for _, id := range ids {
			if r.ID == id || strings.HasPrefix(r.ID, id+"-") {
				wanted, used[id] = true, true
			}
		}
		if !wanted {
			continue
		}
		row := tables.Row(fmt.Sprintf("%s (%s)", r.Claim, r.Where), string(r.Verdict), r.Evidence, r.Scope,
			r.Seeds())
		if row[1].Bold = r.Verdict != claims.Undecided; !row[1].Bold {
			if open[r.Reason] == nil {
				reasons = append(reasons, r.Reason)
			}
			open[r.Reason] = append(open[r.Reason], r.ID)
		}
		t.Rows = append(t.Rows, row)
	}
	for _, id := range ids {
		if !used[id] {
			return nil, fmt.Errorf("unknown claim %q: `qdnb claims` lists the IDs", id)
		}
	}
	for i, reason := range reasons {
		reasons[i] = strings.Join(open[reason], ", ") + ": " + reason
	}
	if len(reasons) > 0 {
		t.Notes = []string{"Open: " + strings.Join(reasons, "; ") + "."}
	}
	return t, nil
}
