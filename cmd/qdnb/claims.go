package main

import (
	"encoding/json"
	"fmt"
	"os"

	"golang.org/x/term"

	"example.com/qdnb/internal/names"
	"example.com/qdnb/qdnb/paper/claims"
	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/paper/sweep"
)

type claimsCmd struct {
	runsFlag
	Plan []string `placeholder:"FILE"`
	JSON bool     `name:"json"`
}

// checked is what `qdnb claims --json` prints.
type checked struct {
	Runs       string          `json:"runs"` // the folder
	Lines      int             `json:"lines"`
	Complete   int             `json:"complete"`
	Incomplete int             `json:"incomplete"`
	Missing    int             `json:"missing"`
	Problems   []string        `json:"problems"`
	Claims     []claims.Result `json:"claims"`
}

func (c *claimsCmd) Run() error {
	root := c.folder()
	lines, problems, err := c.lines(root)
	if err != nil {
		return err
	}
	tables, err := results.Collect(root, lines)
	if err != nil {
		for _, problem := range problems {
			fmt.Fprintln(os.Stderr, "qdnb:", oneLine(problem))
		}
		return err
	}
	out := checked{
		Runs: root, Lines: tables.Lines, Complete: tables.Complete, Incomplete: tables.Incomplete,
		Missing:  tables.Missing,
		Problems: []string{}, Claims: claims.Check(tables),
	}
	for _, problem := range append(problems, tables.Problems...) {
		out.Problems = append(out.Problems, oneLine(problem))
	}
	if c.JSON {
		return json.NewEncoder(os.Stdout).Encode(out)
	}
	for _, problem := range out.Problems {
		fmt.Fprintln(os.Stderr, "qdnb:", problem)
	}
	out.print()
	return nil
}

// lines returns the lines of the given plans or, without plans, those inferred from the folder.
func (c *claimsCmd) lines(root string) (lines []sweep.Line, problems []error, err error) {
	if len(c.Plan) == 0 {
		return results.Infer(root)
	}
	for _, path := range c.Plan {
		plan, err := sweep.ReadFile(path)
		if err != nil {
			return nil, nil, err
		}
		lines = append(lines, plan...)
	}
	return lines, nil, nil
}

// print writes a block for each claim: verdict, ID, location in the paper and number of seeds, then
// the sentence and the evidence.
func (c checked) print() {
	width := 100
	if columns, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil {
		width = min(max(columns, 60), 100)
	}
	const indent = 19
	count := map[claims.Verdict]int{}
	for _, r := range c.Claims {
		count[r.Verdict]++
		heading := fmt.Sprintf("%-*s%s (%s)", indent, r.Verdict, r.ID, r.Where)
		switch {
		case r.MaxSeeds == 1:
			heading += ", 1 seed"
		case r.MinSeeds == r.MaxSeeds && r.MaxSeeds > 0:
			heading += fmt.Sprintf(", %d seeds", r.MaxSeeds)
		case r.MaxSeeds > 0:
			heading += fmt.Sprintf(", %d to %d seeds", r.MinSeeds, r.MaxSeeds)
		}
		fmt.Println(heading)
		for _, text := range []string{r.Claim, "-> " + r.Evidence} {
			for _, line := range names.Wrap(text, width-indent) {
				fmt.Printf("%*s%s\n", indent, "", line)
			}
		}
	}
	fmt.Printf("\n%d hold, %d do not hold, %d have runs too small for a verdict, %d lack data.\n"+
		"Of %d runs, %d are complete, %d incomplete and %d not started.\n",
		count[claims.Holds], count[claims.HoldsNot], count[claims.TooSmall], count[claims.NotEnough],
		c.Lines, c.Complete, c.Incomplete, c.Missing)
}
