package paper

import (
	"fmt"
	"strings"

	"example.com/qdnb/qdnb/paper/claims"
	"example.com/qdnb/qdnb/plot/tables"
)

// Claims returns a table of the paper's claims and their verdicts on these runs. It includes the
// claims of package claims with the given IDs, and those whose IDs start with a given ID and a
// hyphen ("sensitivity" selects "sensitivity-median" and so on). Without IDs it includes all
// claims.
func Claims(data *Data, ids ...string) (*tables.Table, error) {
	if data == nil || data.Tables == nil {
		return nil, errNoData
	}
	t := &tables.Table{Caption: "The paper's claims, checked against these runs",
		Header: []string{"claim", "verdict", "evidence", "seeds"}}
	used := map[string]bool{}
	for _, claim := range claims.All() {
		wanted := len(ids) == 0
		for _, id := range ids {
			if claim.ID == id || strings.HasPrefix(claim.ID, id+"-") {
				wanted, used[id] = true, true
			}
		}
		if !wanted {
			continue
		}
		r := claim.Check(data.Tables)
		row := tables.Row(r.Claim, string(r.Verdict), r.Evidence, seedsOf(r))
		row[1].Bold = r.Verdict == claims.Holds || r.Verdict == claims.HoldsNot
		t.Rows = append(t.Rows, row)
	}
	for _, id := range ids {
		if !used[id] {
			return nil, fmt.Errorf("unknown claim %q: `qdnb claims` lists the IDs", id)
		}
	}
	return t, nil
}

// seedsOf formats the number of seeds a claim was checked with.
func seedsOf(r claims.Result) string {
	if r.MinSeeds == r.MaxSeeds {
		return fmt.Sprint(r.MaxSeeds)
	}
	return fmt.Sprintf("%d to %d", r.MinSeeds, r.MaxSeeds)
}
