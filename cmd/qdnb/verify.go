package main

import (
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
	Paths []string `arg:"" name:"path" help:"Golden files, named KIND_ENV.npz or perturb_ENV_WHAT_VALUE.npz, or folders of them."`
	backendFlag
}

// Run compares all files, and fails if one differs or cannot be compared.
func (c *verifyCmd) Run() error {
	files, err := goldenFiles(c.Paths)
	if err != nil {
		return err
	}
	platform, err := xla.Open(c.Backend)
	if err != nil {
		return err
	}
	fmt.Printf("on %s\n", platform)
	failed := 0
	for _, file := range files {
		report, err := verify.File(platform, file)
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

// goldenFiles replaces folders by the golden files in them, whose names begin with a kind.
func goldenFiles(paths []string) ([]string, error) {
	var files []string
	for _, path := range paths {
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("there is no golden file or folder %s", path)
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
			return nil, fmt.Errorf("no golden file in %s: their names begin with %s", path, strings.Join(verify.Kinds(), "_, ")+"_")
		}
	}
	return files, nil
}
