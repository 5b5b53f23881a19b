package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"example.com/qdnb/envs/verify"
	"example.com/qdnb/qdnb/plot/tables"
	"example.com/qdnb/xla"
)

type verifyCmd struct {
	Paths []string `arg:"" name:"path"`
	backendFlag
	Against string `placeholder:"BACKEND"`
	JSON    bool   `name:"json"`
}

// Run compares all files and fails if one differs or cannot be compared.
func (c *verifyCmd) Run(ctx context.Context) error {
	if c.JSON && c.Against == "" {
		return errors.New("--json requires --against")
	}
	files, err := goldenFiles(c.Paths)
	if err != nil {
		return err
	}
	platform, err := xla.Open(ctx, c.Backend)
	if err != nil {
		return err
	}
	if c.Against != "" {
		return c.against(ctx, platform, files)
	}
	fmt.Printf("on %s\n", platform)
	return verified(ctx, platform, files, func(path string) (bool, error) {
		report, err := verify.File(platform, path)
		if err != nil {
			fmt.Println(oneLine(err))
			return false, err
		}
		fmt.Println(report)
		return report.Pass, nil
	})
}

// verified compares all files until ctx is done and returns an error with the number that failed.
func verified(ctx context.Context, platform *xla.Platform, files []string,
	file func(path string) (pass bool, err error)) error {
	failed := 0
	for _, path := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if pass, err := file(path); err != nil || !pass {
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d files FAIL on %s", failed, len(files), platform.Name())
	}
	return nil
}

// against measures how far two backends differ.
func (c *verifyCmd) against(ctx context.Context, platform *xla.Platform, files []string) error {
	other, err := xla.Open(ctx, c.Against)
	if err != nil {
		return err
	}
	between := verify.NewBetween(platform, other)
	failure := verified(ctx, platform, files, func(path string) (bool, error) {
		report, err := between.File(path)
		switch {
		case err != nil:
			fmt.Fprintln(os.Stderr, oneLine(err))
		case !report.Pass:
			fmt.Fprintf(os.Stderr, "%s: FAIL; run without --against for details\n", path)
		}
		return report.Pass, err
	})
	names := [2]string{platform.Name(), other.Name()}
	if c.JSON {
		found := map[string]any{
			"backend": names[0], "against": names[1], "files": len(files), "pass": failure == nil,
			"steps": between.Steps(), "episodes": between.Drifts(),
		}
		if err := json.NewEncoder(os.Stdout).Encode(found); err != nil {
			return err
		}
		return failure
	}
	for _, table := range []*tables.Table{stepTable(names, between.Steps()),
		driftTable(names, between.Drifts())} {
		if len(table.Rows) > 0 {
			fmt.Println(table.Markdown())
		}
	}
	if failure == nil {
		fmt.Printf("%d files PASS on %s\n", len(files), names[0])
	}
	return failure
}

func stepTable(names [2]string, steps []verify.StepDistance) *tables.Table {
	t := &tables.Table{
		Caption: "One step from the same state: absolute differences, median / worst",
		Header: []string{"environment", "quantity", "numbers", names[0] + " from golden files",
			names[0] + " from " + names[1]},
		Grouped: true,
	}
	for _, s := range steps {
		t.Rows = append(t.Rows, tables.Row(s.Env, s.Quantity, strconv.Itoa(s.Numbers), spread(s.Golden),
			spread(s.Other)))
	}
	return t
}

func driftTable(names [2]string, drifts []verify.Drift) *tables.Table {
	t := &tables.Table{
		Caption: "Episodes of the same policies from the same states: differences in position after " +
			"the given number of steps, and in return, median / worst",
		Header:  []string{"environment", "comparison"},
		Grouped: true,
	}
	for _, d := range drifts {
		if len(t.Rows) == 0 {
			for _, step := range d.Steps {
				t.Header = append(t.Header, strconv.Itoa(step))
			}
			t.Header = append(t.Header, "return")
		}
		for i, positions := range [][]verify.Distance{d.Other, d.Nudged} {
			row := []string{d.Env, names[0] + " from " + names[1]}
			if i == 1 {
				row[1] = names[0] + " from itself, initial states 1e-6 apart"
			}
			for _, at := range positions {
				row = append(row, spread(at))
			}
			t.Rows = append(t.Rows, tables.Row(append(row,
				spread([]verify.Distance{d.ReturnOther, d.ReturnNudged}[i]))...))
		}
	}
	return t
}

// spread formats a distance with two significant digits. More digits would only describe this
// machine.
func spread(d verify.Distance) string {
	return tables.Short(d.Median, 2) + " / " + tables.Short(d.Worst, 2)
}

// goldenFiles replaces folders by the golden files in them, whose names start with a kind.
func goldenFiles(paths []string) ([]string, error) {
	var files []string
	for _, path := range paths {
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("golden file or folder %s does not exist", path)
		} else if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			files = append(files, path)
			continue
		}
		before := len(files)
		for _, kind := range verify.Kinds() {
			inside, err := filepath.Glob(filepath.Join(path, kind+"_*.npz"))
			if err != nil {
				return nil, err
			}
			files = append(files, inside...)
		}
		if len(files) == before {
			return nil, fmt.Errorf("no golden file in %s: their names start with %s", path,
				strings.Join(verify.Kinds(), "_, ")+"_")
		}
	}
	return files, nil
}
