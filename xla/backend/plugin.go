package backend

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/gomlx/go-xla/installer"
	"github.com/gomlx/go-xla/pjrt"

	"example.com/qdnb/internal/wheel"
)

// cpuWheel is the XLA:CPU plugin for Linux, by the authors of OpenXLA. Its hashes are empty on other
// systems and processors, for which there is no wheel.
var cpuWheel = wheel.Wheel{Title: "XLA plugin", Package: "xla-cpu-pjrt", Version: "0.0.1", Bytes: 63461052,
	Hashes: cpuHashes[runtime.GOOS+"/"+runtime.GOARCH], Platform: cpuPlatforms[runtime.GOARCH]}

var (
	cpuHashes = map[string][]string{
		"linux/amd64": {"55837b6b7b47daa717f2d9a5a03563ea0ceaa338d06a81a1e2d3f060d960decc"},
		"linux/arm64": {"8f613be6e891858f40d64f9799319502fff42689661944fc18a6ffd8210b30c9"},
	}
	cpuPlatforms = map[string]string{"amd64": "manylinux_2_27_x86_64", "arm64": "manylinux_2_27_aarch64"}
)

const cpuMember = "xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so"

// FindPlugin looks for the PJRT plugin of a kind on this machine: among the plugins fetched by
// qdnb, installed Python packages and the folders of go-xla's installer. It returns "" if there is
// none.
func FindPlugin(kind Kind) string {
	if kind == CPU && fetchesWheel() {
		if path, err := cachedPlugin(); err == nil && isFile(path) {
			return path
		}
	}
	members := map[Kind][]string{
		CPU:  {cpuMember},
		CUDA: {"jax_plugins/xla_cuda*/xla_cuda_plugin.so"},
		TPU:  {"libtpu/libtpu.so"},
	}
	for _, dir := range pythonPath() {
		for _, member := range members[kind] {
			if found, _ := filepath.Glob(filepath.Join(dir, member)); len(found) > 0 {
				return found[len(found)-1]
			}
		}
	}
	for name, path := range pjrt.AvailablePlugins() {
		if kindOfPlugin(path) == kind && strings.HasPrefix(name, string(kind)) {
			return path
		}
	}
	return ""
}

// Install fetches the plugin of a kind and returns its path. It fetches the XLA:CPU plugin for
// Linux with pip, using pip's settings for index, proxy and certificates, and accepts only
// the pinned hash. It fetches the others with go-xla's installer: the XLA:CPU plugin for macOS is a
// release of gomlx/pjrt-cpu-binaries. ctx ends pip's download.
func Install(ctx context.Context, kind Kind) (string, error) {
	if os.Getenv(wheel.NoDownloadEnv) != "" {
		return "", fmt.Errorf("there is no plugin for %q and $%s forbids fetching one", kind, wheel.NoDownloadEnv)
	}
	if kind != CPU || !fetchesWheel() {
		return installGoXLA(kind)
	}
	path, err := installCPU(ctx)
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if errors.Is(err, wheel.ErrCache) {
		return "", err
	}
	if err != nil { // no fallback to go-xla's installer: it does not check a hash
		return "", fmt.Errorf("the XLA plugin cannot be fetched (%v): check the network or the "+
			"proxy, or copy the wheel of %s %s to this machine, "+
			"`pip install` it, and try again", err, cpuWheel.Package, cpuWheel.Version)
	}
	return path, nil
}

// fetchesWheel reports whether the XLA:CPU plugin is the one that [Install] fetches with pip.
// Machines of several architectures may share a cache folder.
func fetchesWheel() bool { return len(cpuWheel.Hashes) > 0 }

// isPinned reports whether a path is that of the plugin that [Install] fetches with pip.
func isPinned(path string) bool {
	if !fetchesWheel() {
		return false
	}
	pinned, err := cachedPlugin()
	return err == nil && path == pinned
}

// cachedPlugin returns where [Install] puts the plugin that it fetches with pip.
func cachedPlugin() (string, error) {
	dir, err := wheel.CacheDir()
	return filepath.Join(dir, "plugins", cpuWheel.Package+"-"+cpuWheel.Version+"-"+cpuWheel.Hashes[0][:8],
		filepath.Base(cpuMember)), err
}

func installCPU(ctx context.Context) (string, error) {
	target, err := cachedPlugin()
	if err != nil {
		return "", err
	}
	return target, cpuWheel.Install(ctx, messages, filepath.Dir(cpuMember), filepath.Dir(target))
}

func installGoXLA(kind Kind) (string, error) {
	home, err := installer.DefaultHomeLibPath()
	if err != nil {
		return "", fmt.Errorf("go-xla's installer: %v", oneLine(err))
	}
	if err := installer.AutoInstallPlugin(string(kind), home, true, installer.Quiet); err != nil {
		return "", fmt.Errorf("go-xla's installer: %v", oneLine(err))
	}
	if path := FindPlugin(kind); path != "" {
		return path, nil
	}
	return "", fmt.Errorf("no plugin for %q was found or could be installed: install JAX for "+
		"that device, or give the path of a PJRT plugin; without such a device omit the backend", kind)
}

// hashOf returns the SHA-256 of a file.
func hashOf(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	hash := sha256.New()
	_, err = io.Copy(hash, file)
	return hex.EncodeToString(hash.Sum(nil)), err
}

// pythonPath lists the folders where this machine's Python looks for packages.
func pythonPath() []string {
	python, err := exec.LookPath("python3")
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, python, "-c",
		"import site,sys; print('\\n'.join(sys.path + [site.getusersitepackages()]))").Output()
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(strings.Split(string(out), "\n"), func(dir string) bool { return dir == "" })
}

// deviceFiles are patterns of the files by which Linux offers devices. TPU VMs offer theirs as
// /dev/accel0 and so on, newer ones (v5e and later) as /dev/vfio/0 and so on.
var deviceFiles = map[Kind][]string{
	CUDA: {"dev/nvidia[0-9]*"},
	TPU:  {"dev/accel[0-9]*", "dev/vfio/[0-9]*"},
}

// hasDevice reports whether the machine has a device of the kind: a plugin without one takes
// seconds to fail. root is the root of the file system.
func hasDevice(root string, kind Kind) bool {
	for _, pattern := range deviceFiles[kind] {
		if found, _ := filepath.Glob(filepath.Join(root, pattern)); len(found) > 0 {
			return true
		}
	}
	return false
}

func kindOfPlugin(path string) Kind {
	name := strings.ToLower(filepath.Base(path))
	switch {
	case pjrt.IsCUDAName(name):
		return CUDA
	case strings.Contains(name, "tpu"):
		return TPU
	case strings.Contains(name, "cpu"):
		return CPU
	}
	return Other
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
