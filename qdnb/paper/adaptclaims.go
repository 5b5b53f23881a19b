package paper

import (
	"errors"
	"fmt"
	"slices"

	"example.com/qdnb/internal/names"
	"example.com/qdnb/qdnb/claims"
	"example.com/qdnb/qdnb/tables"
)

// Claims is a table of what the runs say of statements of the paper, by their IDs in [claims.All], in that order; without IDs of all of
// them. A claim is decided by medians, as in the paper: how much so few seeds can tell stands in the evidence.
func Claims(data *Data, ids ...string) (*tables.Table, error) {
	if data == nil || data.Tables == nil {
		return nil, errors.New("there are no runs: open an experiments folder with paper.Open")
	}
	all := claims.All()
	var known []string
	for _, c := range all {
		known = append(known, c.ID)
	}
	for _, id := range ids {
		if !slices.Contains(known, id) {
			return nil, names.Unknown("claim", id, known)
		}
	}
	table := &tables.Table{Caption: "What the paper says", Header: []string{"claim", "these runs", "seeds", "evidence"}}
	count := map[claims.Verdict]int{}
	for _, c := range all {
		if len(ids) > 0 && !slices.Contains(ids, c.ID) {
			continue
		}
		r := c.Check(data.Tables)
		count[r.Verdict]++
		seeds := fmt.Sprintf("%d–%d", r.MinSeeds, r.MaxSeeds)
		if r.MinSeeds == r.MaxSeeds {
			seeds = fmt.Sprint(r.MinSeeds)
		}
		table.Rows = append(table.Rows, []tables.Entry{
			{Text: r.Claim}, {Text: string(r.Verdict), Bold: r.Verdict == claims.Holds}, {Text: seeds}, {Text: r.Evidence},
		})
	}
	table.Notes = []string{fmt.Sprintf("Holds: %d of %d. Does not hold: %d. Not enough runs: %d.",
		count[claims.Holds], len(table.Rows), count[claims.HoldsNot], count[claims.NotEnough])}
	return table, nil
}
