package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"example.com/qdnb/envs/verify"
	"example.com/qdnb/xla"
)

type verifyCmd struct {
	Paths []string `arg:"" name:"path"`
	backendFlag
}

// Run compares all files and fails if one differs or cannot be compared.
func (c *verifyCmd) Run(ctx context.Context) error {
	files, err := goldenFiles(c.Paths)
	if err != nil {
		return err
	}
	platform, err := xla.Open(ctx, c.Backend)
	if err != nil {
		return err
	}
	fmt.Printf("on %s\n", platform)
	failed := 0
	for _, path := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		report, err := verify.File(platform, path)
		if err != nil {
			fmt.Println(oneLine(err))
		} else {
			fmt.Println(report)
		}
		if err != nil || !report.Pass {
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d files FAIL on %s", failed, len(files), platform.Name())
	}
	return nil
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
		found := []string{path}
		if info.IsDir() {
			found = nil
			for _, kind := range verify.Kinds() {
				inside, _ := filepath.Glob(filepath.Join(path, kind+"_*.npz"))
				found = append(found, inside...)
			}
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("no golden file in %s: their names start with %s", path,
				strings.Join(verify.Kinds(), "_, ")+"_")
		}
		files = append(files, found...)
	}
	return files, nil
}
