package paper

import (
	"fmt"
	"strings"

	"example.com/qdnb/qdnb/paper/claims"
	"example.com/qdnb/qdnb/plot/tables"
)

// Claims is a table of sentences of the paper and of what the runs say of them: the claims of
// package claims with the given IDs, or whose IDs begin with one and a hyphen ("sensitivity" stands
// for "sensitivity-median" and so on). Without IDs it has all claims.
func Claims(data *Data, ids ...string) (*tables.Table, error) {
	if data == nil || data.Tables == nil {
		return nil, errNoData
	}
	t := &tables.Table{Caption: "What the paper says, and what these runs say of it",
		Header: []string{"the paper", "here", "evidence", "seeds"}}
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
			return nil, fmt.Errorf("the paper has no claim %q: `qdnb claims` lists them by their IDs", id)
		}
	}
	return t, nil
}

// seedsOf is how many seeds a claim was checked with.
func seedsOf(r claims.Result) string {
	if r.MinSeeds == r.MaxSeeds {
		return fmt.Sprint(r.MaxSeeds)
	}
	return fmt.Sprintf("%d to %d", r.MinSeeds, r.MaxSeeds)
}
