package backend

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/wheel"
)

// fakePython replaces python3 with a shell script and removes everything else from the path.
func fakePython(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	must.Do(os.WriteFile(filepath.Join(dir, "python3"), []byte("#!/bin/sh\n"+script), 0o777))
	t.Setenv("PATH", dir)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
}

// leftovers lists the contents of the plugin folder.
func leftovers(t *testing.T) (names []string) {
	t.Helper()
	dir := must.Get(wheel.CacheDir())
	entries, _ := os.ReadDir(filepath.Join(dir, "plugins"))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestFailedDownloadsGiveOneLineAndLeaveNothing(t *testing.T) {
	collectMessages(t)
	t.Setenv("PATH", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	_, err := installCPU(t.Context())
	errtest.Want(t, err, "python3 is needed")

	for want, script := range map[string]string{
		"pip could not fetch xla-cpu-pjrt: no route to host": "echo WARNING: retrying >&2; echo " +
			"ERROR: no route to host >&2; echo ERROR: none >&2; exit 1",
		"pip could not fetch xla-cpu-pjrt: exit status 3": "exit 3",
		"xla-cpu-pjrt: python3: No module named pip":      "echo python3: No module named pip >&2; exit 1",
		"the XLA plugin cannot be put in place":           "exit 0",
	} {
		fakePython(t, script)
		_, err := installCPU(t.Context())
		errtest.Want(t, err, want)
		_, err = Install(t.Context(), CPU) // has no other source, of which nothing is known
		errtest.Want(t, err, want)
		if left := leftovers(t); len(left) > 0 {
			t.Errorf("%s: %v was left", want, left)
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	must.Do(os.WriteFile(file, nil, 0o666))
	fakePython(t, "echo 'ERROR: [Errno 28] No space left on device' >&2; exit 1")
	for _, cache := range []string{os.Getenv("XDG_CACHE_HOME"), file, "relative"} {
		t.Setenv("XDG_CACHE_HOME", cache)
		printed := collectMessages(t)
		_, err = Install(t.Context(), CPU)
		errtest.Want(t, err, "cannot be written: set XDG_CACHE_HOME")
		if strings.Contains(err.Error(), "network") {
			t.Error(err)
		}
		if FindPlugin(CPU) == "" {
			if _, err := openFirst(t.Context()); err != nil || !strings.Contains(printed.String(), "set XDG_CACHE_HOME") {
				t.Errorf("%v, printed %s", err, printed)
			}
		}
	}
}

// Without a C compiler the go command says that cgo is off, not what is undefined in go-xla.
func TestWithoutCgo(t *testing.T) {
	cmd := exec.Command("go", "build", "-o", os.DevNull, "../../cmd/qdnb")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if text := string(out); err == nil || !strings.Contains(text, "cgo_is_off_install_a_C_compiler") ||
		strings.Contains(text, "undefined") {
		t.Errorf("%v: %s", err, text)
	}
}

func TestPythonPathMayHaveSpaces(t *testing.T) {
	fakePython(t, "echo; echo '/home/my user/lib'; echo /usr/lib/python3")
	if got := pythonPath(); !slices.Equal(got, []string{"/home/my user/lib", "/usr/lib/python3"}) {
		t.Errorf("%q", got)
	}
	dir := filepath.Join(t.TempDir(), "site packages")
	plugin := filepath.Join(dir, cpuMember)
	must.Do(os.MkdirAll(filepath.Dir(plugin), 0o777))
	must.Do(os.WriteFile(plugin, nil, 0o666))
	fakePython(t, "echo '"+dir+"'")
	if got := FindPlugin(CPU); got != plugin {
		t.Errorf("found %q, want %q", got, plugin)
	}
	fakePython(t, "exit 1")
	if got := pythonPath(); got != nil {
		t.Errorf("%q", got)
	}
}

func TestDevicesAreFound(t *testing.T) {
	for _, c := range []struct {
		file string
		kind Kind
		want bool
	}{
		{"dev/nvidia0", CUDA, true}, {"dev/nvidiactl", CUDA, false}, {"dev/accel0", TPU, true},
		{"dev/vfio/0", TPU, true}, {"dev/vfio/vfio", TPU, false}, {"dev/vfio/0", CUDA, false},
	} {
		root := t.TempDir()
		path := filepath.Join(root, c.file)
		must.Do(os.MkdirAll(filepath.Dir(path), 0o777))
		must.Do(os.WriteFile(path, nil, 0o666))
		if got := hasDevice(root, c.kind); got != c.want {
			t.Errorf("with %s, a device of kind %s is found: %v", c.file, c.kind, got)
		}
	}
}

// The name of a plugin's file tells which device it is for. One that tells none gets neither the flags of
// the CPU nor its cache, and the graphs of an accelerator.
func TestKindsOfPlugins(t *testing.T) {
	for name, want := range map[string]Kind{"xla_cuda_plugin.so": CUDA, "pjrt_c_api_nvidia.so": CUDA,
		"libtpu.so": TPU, "xla_cpu_pjrt.so": CPU, "pjrt_plugin_cpu_linux_amd64.so": CPU, "xla_rocm_plugin.so": Other,
		"pjrt_plugin_xla_oneapi.so": Other} {
		kind := kindOfPlugin("/cpu/" + name)
		if kind != want || kind.Accelerator() != (want != CPU) {
			t.Errorf("%s is of kind %s, want %s", name, kind, want)
		}
		for flag := range Flags(kind) {
			if kind == Other && strings.Contains(flag, "cpu") {
				t.Errorf("%s gets %s", name, flag)
			}
		}
	}
}

// A plugin that is not pinned gets only the flags that it knows, and the user's take precedence.
func TestUnknownFlagsAreLeftOut(t *testing.T) {
	const flag, extra = "xla_gpu_deterministic_ops", "xla_backend_extra_options"
	plugin := filepath.Join(t.TempDir(), "plugin.so")
	write := func(text string) { must.Do(os.WriteFile(plugin, []byte(text), 0o666)) }
	for _, c := range []struct {
		kind                  Kind
		plugin, before, after string
	}{
		{CUDA, "another plugin", "", ""},
		{CUDA, strings.Repeat("x", 1<<20-10) + flag + "...", "", "--" + flag + "=true"},
		{CUDA, flag, "--" + flag + "=false", "--" + flag + "=false"},
		{CPU, "", "", ""},
		{CPU, extra, "", ""},
		{CPU, extra + " unroll-runtime xla_cpu_use_xnnpack enable-misched", "",
			"--" + extra + "=-unroll-runtime=false,-enable-misched=false --xla_cpu_use_xnnpack=false"},
	} {
		t.Setenv("XLA_FLAGS", c.before)
		write(c.plugin)
		setFlags(c.kind, plugin)
		if got := os.Getenv("XLA_FLAGS"); got != c.after {
			t.Errorf("flags %q become %q, not %q", c.before, got, c.after)
		}
	}
}
