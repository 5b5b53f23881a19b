package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"

	"example.com/qdnb/internal/names"
	"example.com/qdnb/qdnb/paper/claims"
)

type claimsCmd struct {
	inFlag
	JSON bool `name:"json"`
}

// checked is what `qdnb claims --json` prints.
type checked struct {
	In         string          `json:"in"` // the folder
	Lines      int             `json:"lines"`
	Complete   int             `json:"complete"`
	Incomplete int             `json:"incomplete"`
	Missing    int             `json:"missing"`
	Problems   []string        `json:"problems"`
	Claims     []claims.Result `json:"claims"`
}

func (c *claimsCmd) Run() error {
	data, err := c.open()
	if err != nil {
		return err
	}
	if c.JSON {
		out := checked{In: data.Dir, Lines: data.Tables.Lines, Complete: data.Complete,
			Incomplete: data.Incomplete, Missing: data.Missing, Problems: []string{},
			Claims: claims.Check(data.Tables)}
		for _, problem := range data.Problems {
			out.Problems = append(out.Problems, oneLine(problem))
		}
		return json.NewEncoder(stdout).Encode(out)
	}
	report(data.Problems)
	printClaims(claims.Check(data.Tables))
	return nil
}

// printClaims writes a block for each claim: verdict, ID, location in the paper, number of seeds and
// scope, then the statement and the evidence.
func printClaims(list []claims.Result) {
	width := 100
	if columns, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil {
		width = min(max(columns, 60), 100)
	}
	const indent = 15
	write := func(text string) {
		for _, line := range names.Wrap(text, width-indent) {
			fmt.Fprintf(stdout, "%*s%s\n", indent, "", line)
		}
	}
	var undecided []string
	for _, r := range list {
		heading := fmt.Sprintf("%-*s%s (%s)", indent, r.Verdict, r.ID, r.Where)
		if r.MaxSeeds > 0 {
			heading += ", seeds: " + r.Seeds()
		}
		fmt.Fprintln(stdout, heading)
		write(r.Claim)
		if r.Evidence != "" {
			write(strings.TrimSpace("-> " + r.Evidence + ". " + r.Scope))
		}
		if r.Verdict == claims.Undecided {
			undecided = append(undecided, r.ID+": "+r.Reason)
		}
	}
	if len(undecided) > 0 {
		fmt.Fprintln(stdout)
		for _, line := range names.Wrap("open: "+strings.Join(undecided, "; "), width) {
			fmt.Fprintln(stdout, line)
		}
	}
}
