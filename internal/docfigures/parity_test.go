package main

import (
	"os"
	"strings"
	"testing"
)

// The table of the page is that of the measurements.
func TestParityTable(t *testing.T) {
	all, err := parityScores("../../docs/parity.csv")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/reliability.md")
	if err != nil {
		t.Fatal(err)
	}
	if table := parityTable(all); !strings.Contains(string(page), table) {
		t.Errorf("docs/reliability.md lacks the table of docs/parity.csv:\n%s", table)
	}
}
