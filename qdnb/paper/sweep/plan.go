// Package sweep reads and writes plans: lists of independent runs, one JSON object per line, for a
// laptop to run in sequence or a cluster's job array to run in parallel.
//
// A plan's progress is stored only in the folders of its runs. So work needs no coordinator, a
// killed task can simply be restarted, and machines that share the runs folder can share a plan.
//
// The package reads plans and folders and does not import GoMLX. Package experiments runs the
// lines.
package sweep

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"example.com/qdnb/internal/names"
	"example.com/qdnb/qdnb/runs"
)

// Read reads a plan. Errors give the plan's name and the line number, counted from 1. Empty lines
// are skipped. A line without a hash gets one.
func Read(r io.Reader, name string) ([]Line, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, names.File(err, advice))
	}
	var lines []Line
	first := map[string]int{}
	number := 0
	for text := range bytes.Lines(data) {
		number++
		if text = bytes.TrimSpace(text); len(text) == 0 {
			continue
		}
		line, err := parse(text)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, number, err)
		}
		if before, twice := first[line.Hash]; twice {
			return nil, fmt.Errorf("%s:%d: duplicate of line %d; remove one of them", name, number, before)
		}
		first[line.Hash] = number
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		return nil, fmt.Errorf("%s is empty: `qdnb sweep plan` writes a plan", name)
	}
	return lines, nil
}

// advice is what helps if there is no plan.
const advice = "write one with `qdnb sweep plan --experiment training > plan.jsonl`"

// ReadFile reads a plan from a file.
func ReadFile(path string) ([]Line, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("plan %s: %w", path, names.File(err, advice))
	}
	defer file.Close()
	return Read(file, path)
}

// Write writes a plan with hashes.
func Write(w io.Writer, lines []Line) error {
	out := bufio.NewWriter(w)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for i, line := range lines {
		sealed, err := line.Sealed()
		if err != nil {
			return fmt.Errorf("line %d of the plan: %w", i+1, err)
		}
		if err := encoder.Encode(sealed); err != nil {
			return err
		}
	}
	return out.Flush()
}

// Name identifies a line in messages: its run, and its label unless that is just the algorithm.
func (l Line) Name() string {
	if l.Label == l.Run.Algorithm || strings.HasPrefix(l.Run.Name(), l.Label+"-") {
		return l.Run.Name()
	}
	return l.Run.Name() + " (" + l.Label + ")"
}

// Line is one run of a plan.
type Line struct {
	// Experiment is the experiment that the line is planned for, such as "adaptation". The training
	// runs that it needs name it too.
	Experiment string `json:"experiment"`
	// Label names the method in figures and tables, such as "dads-reward" or "dads-reward, no
	// prior". Lines of one label differ in seed, environment or, in the experiment "sensitivity",
	// hyperparameters.
	Label  string      `json:"label"`
	Run    runs.Config `json:"run"`
	Budget runs.Budget `json:"budget"` // empty for a run that ends by itself
	Needs  []Need      `json:"needs,omitempty"`
	// CPUSeconds is the estimated processor time of the line; 0 if unknown.
	CPUSeconds float64 `json:"cpu_seconds,omitempty"`
	// Hash covers all other fields, so that an accidentally edited plan is not run; see [Line.Sealed].
	Hash string `json:"hash"`
}

// Need is a run that must be complete before a line can start.
type Need struct {
	Run    runs.Config `json:"run"`
	Budget runs.Budget `json:"budget"`
}

// Sealed returns the line in canonical form with its hash: the first eight hexadecimal digits of
// the SHA-256 of its other fields.
func (l Line) Sealed() (Line, error) {
	if err := l.check(); err != nil {
		return l, err
	}
	var needs []Need
	for _, need := range l.Needs {
		need.Run, _ = need.Run.Canonical() // check did not fail
		needs = append(needs, need)
	}
	l.Run, _ = l.Run.Canonical()
	l.Needs, l.Hash = needs, ""
	data, err := json.Marshal(l)
	if err != nil {
		return l, err
	}
	sum := sha256.Sum256(data)
	l.Hash = hex.EncodeToString(sum[:4])
	return l, nil
}

func (l Line) check() error {
	if l.Experiment == "" || l.Label == "" {
		return errors.New(`it needs both "experiment" and "label"`)
	}
	if !(l.CPUSeconds >= 0 && l.CPUSeconds < 1e12) { // false for NaN
		return fmt.Errorf(`"cpu_seconds" must be a non-negative number, not %g`, l.CPUSeconds)
	}
	if err := cmp.Or(l.Run.Validate(), l.Budget.Validate()); err != nil {
		return fmt.Errorf("run: %w", err)
	}
	for i, need := range l.Needs {
		if err := cmp.Or(need.Run.Validate(), need.Budget.Validate()); err != nil {
			return fmt.Errorf("needs[%d]: %w", i, err)
		}
	}
	return nil
}

// parse reads one line. Unknown fields are errors at every depth. A hash, if present, must match.
func parse(data []byte) (Line, error) {
	var l Line
	if err := runs.Decode(data, &l); err != nil {
		return Line{}, err
	}
	hash := l.Hash
	l, err := l.Sealed()
	if err != nil {
		return Line{}, err
	}
	if hash != "" && hash != l.Hash {
		return Line{}, fmt.Errorf("its hash is %q, but its fields hash to %q: the line was edited; if "+
			"that was intended, empty the hash", hash, l.Hash)
	}
	return l, nil
}
