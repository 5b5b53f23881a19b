package compiler

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"example.com/qdnb/envs/mujoco"
	"example.com/qdnb/internal/wheel"
)

//go:embed wheels.txt
var hashes string

// core is the Python package with MuJoCo's compiler. There is a wheel for each version of Python and
// each system: Linux on amd64 and arm64, macOS on arm64.
var core = wheel.Wheel{Title: "MuJoCo compiler", Package: "mujoco-core", Version: mujoco.Version,
	Hashes: strings.Fields(hashes), Bytes: 9600000}

// probe prints Python's version, its tag, whether it has NumPy, and the version of core it has.
const probe = `import sys, importlib.util
try:
    from importlib.metadata import version
    core = version("mujoco-core")
except Exception:
    core = "none"
print(sys.version_info[0] * 100 + sys.version_info[1], sys.implementation.cache_tag,
    importlib.util.find_spec("numpy") is not None, core)`

// python is a Python that can import MuJoCo.
type python struct {
	path     string
	packages string // folder with MuJoCo; "" if Python finds it itself
}

// findPython returns this machine's Python. It fetches MuJoCo if it is neither installed nor in the
// cache folder.
func findPython(ctx context.Context) (p python, err error) {
	const needs = "MuJoCo's compiler needs python3, version 3.11 or newer, with NumPy"
	if p.path, err = exec.LookPath("python3"); err != nil {
		return p, fmt.Errorf("%s: install it", needs)
	}
	out, err := exec.CommandContext(ctx, p.path, "-c", probe).Output()
	if ctx.Err() != nil {
		return p, ctx.Err()
	}
	var release int
	var tag, installed string
	var numpy bool
	if err == nil {
		_, err = fmt.Sscan(string(out), &release, &tag, &numpy, &installed)
	}
	install := fmt.Sprintf("`%s -m pip install mujoco-core==%s`", p.path, mujoco.Version)
	switch {
	case err != nil:
		return p, fmt.Errorf("%s, but %s does not work: %v", needs, p.path, err)
	case release < 311:
		return p, fmt.Errorf("%s, but %s is version %d.%d: put a newer one into the PATH", needs, p.path,
			release/100, release%100)
	case !numpy:
		return p, fmt.Errorf("%s: run `%s -m pip install numpy`", needs, p.path)
	case installed == mujoco.Version:
		return p, nil
	}
	dir, err := wheel.CacheDir()
	if err != nil {
		return p, err
	}
	p.packages = filepath.Join(dir, "plugins", strings.Join([]string{core.Package, core.Version, tag,
		runtime.GOOS, runtime.GOARCH}, "-"))
	target := filepath.Join(p.packages, "mujoco")
	if _, err := os.Stat(target); err == nil {
		return p, nil
	}
	if os.Getenv(wheel.NoDownloadEnv) != "" {
		return p, fmt.Errorf("MuJoCo's compiler is not on this machine and $%s forbids fetching it: run %s",
			wheel.NoDownloadEnv, install)
	}
	if err := core.Install(ctx, os.Stderr, "mujoco", target); err != nil {
		if ctx.Err() != nil {
			return p, ctx.Err()
		}
		return p, fmt.Errorf("MuJoCo's compiler cannot be fetched (%w): check the network or the proxy, or run %s",
			err, install)
	}
	return p, nil
}
