package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"example.com/qdnb/internal/npz/atomicfile"
)

// picture is the content of a file.
type picture []byte

// Save writes the file.
func (p picture) Save(path string) error { return atomicfile.WriteBytes(path, p) }

// start runs a command with additional variables of its environment.
func start(ctx context.Context, env []string, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stderr, cmd.Env = os.Stderr, append(os.Environ(), env...)
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return nil
}

// written runs commands and returns the file that they write. DIR stands for a folder.
func written(file string, commands ...string) func(context.Context, string) (saver, error) {
	return func(ctx context.Context, folder string) (saver, error) {
		for _, command := range commands {
			args := strings.Fields(command)
			for i := range args {
				args[i] = strings.ReplaceAll(args[i], "DIR", folder)
			}
			if err := start(ctx, nil, args[0], args[1:]...); err != nil {
				return nil, err
			}
		}
		data, err := os.ReadFile(strings.ReplaceAll(file, "DIR", folder))
		return picture(data), err
	}
}

// goBlocks are the blocks of Go code of a page.
var goBlocks = regexp.MustCompile("(?s)```go\n(.*?)```")

// drawnBy runs the first program, or cell, of a page that draws something, and returns its drawing. A cell of the page
// lacks these imports.
func drawnBy(page string, imports ...string) func(context.Context, string) (saver, error) {
	return func(ctx context.Context, folder string) (saver, error) {
		text, err := os.ReadFile(page)
		if err != nil {
			return nil, err
		}
		blocks := goBlocks.FindAllStringSubmatch(string(text), -1)
		i := slices.IndexFunc(blocks, func(block []string) bool { return strings.Contains(block[1], "nb.Draw(") })
		if i < 0 {
			return nil, fmt.Errorf("%s has no code that draws", page)
		}
		program := blocks[i][1]
		if declarations, body, cell := strings.Cut(program, "%%\n"); cell {
			program = fmt.Sprintf("package main\n\nimport (\n%s\n)\n\n%s\nfunc main() {\n%s}\n", strings.Join(imports, "\n"),
				declarations, body)
		}
		file := filepath.Join(folder, "main.go")
		if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
			return nil, err
		}
		drawings := filepath.Join(folder, "drawings")
		if err := os.RemoveAll(drawings); err != nil {
			return nil, err
		}
		env := []string{"QDNB_FIGURES=" + drawings, "QDNB_RUNS=" + filepath.Join(folder, "programs")}
		if err := start(ctx, env, "go", "run", file); err != nil {
			return nil, err
		}
		data, err := os.ReadFile(filepath.Join(drawings, "drawing-1.png"))
		return picture(data), err
	}
}

// shownIn returns the picture below the cell of a notebook that begins with a comment.
func shownIn(notebook, comment string) func(context.Context, string) (saver, error) {
	return func(context.Context, string) (saver, error) {
		text, err := os.ReadFile(notebook)
		if err != nil {
			return nil, err
		}
		var book struct {
			Cells []struct {
				Source  []string
				Outputs []struct {
					Data struct {
						PNG string `json:"image/png"`
					}
				}
			}
		}
		if err := json.Unmarshal(text, &book); err != nil {
			return nil, fmt.Errorf("%s: %w", notebook, err)
		}
		for _, cell := range book.Cells {
			if !strings.Contains(strings.Join(cell.Source, ""), "%%\n// "+comment) {
				continue
			}
			for _, output := range cell.Outputs {
				if output.Data.PNG != "" {
					data, err := base64.StdEncoding.DecodeString(strings.TrimSpace(output.Data.PNG))
					return picture(data), err
				}
			}
		}
		return nil, fmt.Errorf("%s has no picture below a cell %q", notebook, comment)
	}
}
