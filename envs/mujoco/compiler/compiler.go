// Package compiler has MuJoCo compile robots' files. It runs a script with the Python package of
// MuJoCo, which it fetches once, and keeps the compiled models in the cache folder.
package compiler

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"example.com/qdnb/envs/mujoco"
	"example.com/qdnb/internal/names"
	"example.com/qdnb/internal/npz/atomicfile"
	"example.com/qdnb/internal/wheel"
)

// The scripts: model.py, continued by compile.py or reference.py.
var (
	//go:embed model.py
	modelScript string
	//go:embed compile.py
	compileScript string
)

// want is what helps if a robot's file is not there.
const want = "give the path of an XML, a URDF, or a compiled model (.json)"

// notXML matches MuJoCo's error for a text that is no XML: what it was reading, and the line where that begins.
var notXML = regexp.MustCompile(`^XML parse error.*Error=XML_ERROR_(\w+) .*Line number=(\d+)`)

// ReadFile reads a robot from a compiled model as JSON, whose name ends in .json, or has MuJoCo
// compile an XML or a URDF ([Compile]).
func ReadFile(ctx context.Context, path string) (mujoco.Model, error) {
	if !strings.EqualFold(filepath.Ext(path), ".json") {
		return Compile(ctx, path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return mujoco.Model{}, names.File(err, want)
	}
	return mujoco.ReadModel(bytes.NewReader(text))
}

// Compile has MuJoCo compile an XML or a URDF, with the files that it includes and its meshes. What
// is only drawn may lack its file: it is left out, and Notes of the model says so. An error is one
// line: MuJoCo's own, with the line of the XML, or what is missing on this machine and how to get it.
// Compile needs python3 and NumPy, unless the same files were compiled before. ctx ends the
// compilation and the download of MuJoCo.
func Compile(ctx context.Context, path string) (mujoco.Model, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return mujoco.Model{}, err
	}
	stored := ""
	if key, err := keyOf(path); err != nil {
		return mujoco.Model{}, err
	} else if dir, err := wheel.CacheDir(); err == nil {
		stored = filepath.Join(dir, "models", key+".json")
	}
	if file, err := os.Open(stored); err == nil {
		model, err := mujoco.ReadModel(file)
		if file.Close(); err == nil {
			return model, nil
		}
	}
	text, err := run(ctx, compileScript, path)
	if err != nil {
		return mujoco.Model{}, err
	}
	model, err := mujoco.ReadModel(bytes.NewReader(text))
	if err == nil && stored != "" && os.MkdirAll(filepath.Dir(stored), 0o755) == nil {
		_ = atomicfile.WriteBytes(stored, text) // failures of the cache are ignored
	}
	return model, err
}

// run runs a script with MuJoCo on a model, in another folder. It returns its answer, as JSON.
func run(ctx context.Context, script, path string, args ...string) ([]byte, error) {
	python, err := findPython(ctx)
	if err != nil {
		return nil, err
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, python.path, append([]string{"-", python.packages, path}, args...)...)
	cmd.Env = append(os.Environ(), "PYTHONSAFEPATH=1")               // modules in the current folder are not imported
	if cmd.Dir, err = os.MkdirTemp("", "qdnb-mujoco-"); err != nil { // where MuJoCo logs its warnings
		return nil, err
	}
	defer os.RemoveAll(cmd.Dir)
	cmd.Stdin = strings.NewReader(modelScript + "\n\n" + script)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
		return nil, fmt.Errorf("MuJoCo in %s failed: %s", python.path, cmp.Or(lines[len(lines)-1], err.Error()))
	}
	var answer struct {
		Value json.RawMessage
		Error string
	}
	if err := json.Unmarshal(stdout.Bytes(), &answer); err != nil {
		return nil, fmt.Errorf("the answer of MuJoCo in %s cannot be read: %w", python.path, err)
	}
	if broken := notXML.FindStringSubmatch(answer.Error); broken != nil {
		return nil, fmt.Errorf("not valid XML: the text that begins in line %s does not end, or is wrong (%s): correct it, or "+
			"restore the file if it was cut off", broken[2], broken[1])
	}
	if answer.Error != "" {
		return nil, errors.New(answer.Error)
	}
	return answer.Value, nil
}
