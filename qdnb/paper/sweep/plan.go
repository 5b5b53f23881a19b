package sweep

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// Read reads a plan. Errors give the plan's name and the line number, counted from 1. Empty lines
// are skipped. A line without a hash gets one.
func Read(r io.Reader, name string) ([]Line, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
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

// ReadFile reads a plan from a file.
func ReadFile(path string) ([]Line, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("plan %s does not exist: write one with `qdnb sweep plan "+
			"--experiment training > %s`", path, path)
	} else if err != nil {
		return nil, err
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
