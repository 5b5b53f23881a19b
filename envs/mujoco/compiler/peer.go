package compiler

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"example.com/qdnb/envs/mujoco"
)

//go:embed peer.py
var peerScript string

// offscreen has MuJoCo draw by EGL on a machine without a screen that has it.
const offscreen = `import ctypes.util, importlib.util, os
if not os.environ.get("DISPLAY") and importlib.util.find_spec("OpenGL") and ctypes.util.find_library("EGL"):
    os.environ.setdefault("MUJOCO_GL", "egl")
`

// Peer is MuJoCo, which moves copies of a robot by control steps, and solves constraints to convergence. Numbers of
// copies are in rows: of qpos those of all copies, then of the next one.
type Peer struct {
	model   mujoco.Model
	copies  int
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Scanner
	stderr  *bytes.Buffer
	folder  string
	context context.Context
}

// Start starts MuJoCo with copies of a robot, which a control step moves by so many physics steps. If pairs is not
// nil, only these geoms touch, as the engine has them; else all that the model says but meshes, of which a compiled model
// has only hulls that may meet a plane. Boxes replace the planes if there is a terrain. Errors are those of [Compile].
// [Peer.Close] ends it.
func Start(ctx context.Context, model mujoco.Model, copies, steps int, pairs []mujoco.Pair,
	terrain *mujoco.Terrain) (p *Peer, err error) {
	python, err := findPython(ctx)
	if err != nil {
		return nil, err
	}
	p = &Peer{model: model, copies: copies, stderr: &bytes.Buffer{}, context: ctx}
	if p.folder, err = os.MkdirTemp("", "qdnb-mujoco-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			p.Close()
		}
	}()
	content, err := json.Marshal(model)
	if err != nil {
		return nil, err
	}
	blocks := []byte("[]")
	if terrain != nil {
		if blocks, err = json.Marshal(terrain.Blocks()); err != nil {
			return nil, err
		}
	}
	allowed := []byte("null")
	if pairs != nil {
		if allowed, err = json.Marshal(geoms(pairs)); err != nil {
			return nil, err
		}
	}
	path := func(name string) string { return filepath.Join(p.folder, name) }
	script, file, ground := path("peer.py"), path("model.json"), path("terrain.json")
	if err := errors.Join(os.WriteFile(script, []byte(offscreen+modelScript+"\n\n"+peerScript), 0o600),
		os.WriteFile(file, content, 0o600), os.WriteFile(ground, blocks, 0o600)); err != nil {
		return nil, err
	}
	p.cmd = exec.CommandContext(ctx, python.path, script, python.packages, file, fmt.Sprint(copies), fmt.Sprint(steps),
		string(allowed), ground)
	p.cmd.Env = append(os.Environ(), "PYTHONSAFEPATH=1")
	p.cmd.Dir, p.cmd.Stderr = p.folder, p.stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewScanner(out)
	p.out.Buffer(nil, 1<<28)
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	_, err = p.answer()
	return p, err
}

// Close ends MuJoCo.
func (p *Peer) Close() {
	if p.in != nil {
		_ = p.in.Close()
		_ = p.cmd.Wait()
	}
	_ = os.RemoveAll(p.folder)
}

type peerAnswer struct {
	QPos, QVel, Frame, Error string
	Open                     bool
}

func (p *Peer) answer() (a peerAnswer, err error) {
	if !p.out.Scan() {
		_, _ = p.in.Close(), p.cmd.Wait() // after which all of its last words are there
		if p.context.Err() != nil {
			return a, p.context.Err()
		}
		lines := strings.Split(strings.TrimSpace(p.stderr.String()), "\n")
		return a, fmt.Errorf("MuJoCo failed: %s", cmp.Or(lines[len(lines)-1], "it ended"))
	}
	if err := json.Unmarshal(p.out.Bytes(), &a); err != nil {
		return a, fmt.Errorf("the answer of MuJoCo cannot be read: %w", err)
	}
	if a.Error != "" {
		return a, errors.New(a.Error)
	}
	return a, nil
}

func (p *Peer) ask(request map[string]any) (a peerAnswer, err error) {
	line, err := json.Marshal(request)
	if err == nil {
		_, err = p.in.Write(append(line, '\n'))
	}
	if err != nil && p.context.Err() != nil {
		return a, p.context.Err()
	}
	if err != nil {
		return a, err
	}
	return p.answer()
}

// Begin places all copies, qpos [nq * copies], qvel [nv * copies] and activations [na * copies].
func (p *Peer) Begin(qpos, qvel, act []float32) error {
	_, err := p.ask(map[string]any{"start": []string{encoded(qpos), encoded(qvel), encoded(act)}})
	return err
}

// Step advances all copies by a control step under controls [nu * copies].
func (p *Peer) Step(control []float32) (qpos, qvel []float32, err error) {
	a, err := p.ask(map[string]any{"control": encoded(control)})
	if err != nil {
		return nil, nil, err
	}
	return decoded(a.QPos), decoded(a.QVel), nil
}

// Show opens MuJoCo's viewer, which from now on shows the first copy in real time. It needs a screen.
func (p *Peer) Show() error {
	_, err := p.ask(map[string]any{"show": true})
	return err
}

// Frame returns a picture of the first copy, RGB bytes of height rows. It needs EGL or OSMesa.
func (p *Peer) Frame(width, height int) ([]byte, error) {
	a, err := p.ask(map[string]any{"render": []int{width, height}})
	if err != nil {
		return nil, err
	}
	return base64.StdEncoding.DecodeString(a.Frame)
}

func encoded(x []float32) string {
	bytes, _ := binary.Append(nil, binary.LittleEndian, x) // floats never fail
	return base64.StdEncoding.EncodeToString(bytes)
}

func decoded(text string) []float32 {
	bytes, _ := base64.StdEncoding.DecodeString(text) // of our own script
	x := make([]float32, len(bytes)/4)
	_, _ = binary.Decode(bytes, binary.LittleEndian, x)
	return x
}
