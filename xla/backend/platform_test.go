package backend

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/names"
	"example.com/qdnb/internal/wheel"
)

// collectMessages collects the messages to the user.
func collectMessages(t *testing.T) *bytes.Buffer {
	t.Helper()
	var printed bytes.Buffer
	before := messages
	messages = io.Writer(&printed)
	t.Cleanup(func() { messages = before })
	return &printed
}

func TestUnusableBackendsGiveOneLine(t *testing.T) {
	_, err := Open(t.Context(), "nonsense")
	errtest.Want(t, err, `unknown backend "nonsense": use cpu, cuda, tpu, go or the absolute path`)
	_, err = Open(t.Context(), "xla:nonsense")
	errtest.Want(t, err, "unknown backend")
	_, err = Open(t.Context(), "relative/plugin.so")
	errtest.Want(t, err, "unknown backend")
	missing := filepath.Join(t.TempDir(), "missing.so")
	_, err = Open(t.Context(), missing)
	if errtest.Want(t, err, "no PJRT plugin at "+missing); !errors.As(err, new(names.Wrong)) {
		t.Errorf("%v does not end a command as wrong usage", err)
	}

	t.Setenv("XLA_FLAGS", os.Getenv("XLA_FLAGS"))
	text := filepath.Join(t.TempDir(), "text.so")
	must.Do(os.WriteFile(text, []byte("this is no library\n"), 0o666))
	_, err = Open(t.Context(), text)
	errtest.Want(t, err, text+" is not a PJRT plugin")
	_, err = Open(t.Context(), "xla:"+text)
	errtest.Want(t, err, text+" is not a PJRT plugin")
	_, err = Open(t.Context(), t.TempDir())
	errtest.Want(t, err, "is not a PJRT plugin")
	for source, want := range map[string]string{
		"int nothing;": "it lacks the symbol GetPjrtApi",
		"const void *GetPjrtApi(void) { return 0; }": "its GetPjrtApi returns nothing",
		// struct_size, extension_start; version: struct_size, extension_start, major, minor; no function
		"static struct { long size; void *extension; struct { long size; void *extension; int major, minor; } version;" +
			"void *functions[200]; } api = {sizeof api, 0, {24, 0, 99, 7}};" +
			"const void *GetPjrtApi(void) { return &api; }": "has version 99.7 of the PJRT interface",
	} {
		library := filepath.Join(t.TempDir(), "library.so")
		cc := exec.Command("cc", "-shared", "-fPIC", "-o", library, "-x", "c", "-")
		cc.Stdin = strings.NewReader(source)
		must.Get(cc.Output())
		_, err = Open(t.Context(), library)
		errtest.Want(t, err, library, want)
	}
}

func TestBackendsHaveOneName(t *testing.T) {
	t.Setenv(BackendEnv, "")
	t.Setenv("GOMLX_BACKEND", "")
	for spec, want := range map[string]string{
		"": "", "auto": "", "gpu": "cuda", "xla:gpu": "cuda", "xla:cuda": "cuda", "xla": "cpu",
		"xla:cpu": "cpu", "tpu": "tpu", "go": "go", "/a.so": "/a.so",
		"xla:/a.so": "/a.so",
	} {
		errtest.Equal(t, spec, must.Get(Canonical(spec)), want)
	}
	_, err := Canonical("cudaa")
	errtest.Want(t, err, `unknown backend "cudaa"; did you mean "cuda"? use cpu`)
	t.Setenv(BackendEnv, "abacus")
	_, err = Canonical("")
	errtest.Want(t, err, `unknown backend "abacus" in $QDNB_BACKEND: use cpu`)
}

func TestOpenIsIdempotentAndReadsTheEnvironment(t *testing.T) {
	for _, c := range [][3]string{{"go", "", ""}, {"", "go", "nonsense"}, {"", "", "go"}} {
		t.Setenv(BackendEnv, c[1])
		t.Setenv("GOMLX_BACKEND", c[2])
		p := must.Get(Open(t.Context(), c[0]))
		again, err := Open(t.Context(), "go")
		if err != nil || p != again || p.Kind != Go || p.Workers != 1 || p.Name() != "go" || p.String() != "pure Go" {
			t.Errorf("%q: %v, %v", c, p, err)
		}
	}
}

// Open returns the same client for all specifications that mean the same plugin.
func TestOneClientOfEachPlugin(t *testing.T) {
	t.Setenv(BackendEnv, "")
	t.Setenv("GOMLX_BACKEND", "")
	first := must.Get(Open(t.Context(), ""))
	for _, spec := range []string{"auto", string(first.Kind), cmp.Or(first.Plugin, "go")} {
		errtest.Equal(t, spec+" opens the same client", must.Get(Open(t.Context(), spec)) == first, true)
	}
}

// The processors of x86 and ARM have a name, and the features on which the cache of programs depends.
func TestProcessor(t *testing.T) {
	for text, want := range map[string]Processor{
		"processor\t: 0\nvendor_id\t: Intel\ncpu family\t: 6\nmodel\t\t: 1\nmodel name\t: Xeon   of two\n" +
			"stepping\t: 2\ncpu MHz\t: 3.5\nflags\t\t: fpu avx\n\nprocessor\t: 1\n": {"Xeon of two", "Intel|6|1|Xeon of two|2|fpu avx"},
		"processor\t: 0\nBogoMIPS\t: 243.75\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\n" +
			"CPU architecture: 8\nCPU variant\t: 0x3\nCPU part\t: 0xd0c\nCPU revision\t: 1\n": {"ARM implementer 0x41 part 0xd0c", "fp asimd|0x41|8|0x3|0xd0c|1"},
		"processor : 0\nmodel name : made up\n": {"made up", ""},
	} {
		got, err := linuxProcessor(text)
		if got.Name != want.Name || (err == nil) != (want.Features != "") || err == nil && got != want {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
	if p, err := ThisProcessor(); err != nil || p.Name == "" || p.Features == "" {
		t.Errorf("%q, %v", p, err)
	}
}

func TestWorkersAreLimited(t *testing.T) {
	for value, want := range map[string]int{"": 8, "3": 3, "100": 8, "1": 1} {
		t.Setenv(WorkersEnv, value)
		errtest.Equal(t, fmt.Sprintf("workers with %s=%q", WorkersEnv, value), must.Get(limitWorkers(8)), want)
	}
	for _, value := range []string{"0", "-2", "many", "5000"} {
		t.Setenv(WorkersEnv, value)
		err := errtest.Of(limitWorkers(8))
		if errtest.Want(t, err, value); !errors.As(err, new(names.Wrong)) {
			t.Errorf("%v does not end a command as wrong usage", err)
		}
	}
}

func TestFlagsOfTheUserStand(t *testing.T) {
	const ours = "xla_cpu_small_while_loop_byte_threshold="
	for user, check := range map[string]func(flags string) bool{
		"": func(flags string) bool {
			return strings.Contains(flags, "--xla_backend_extra_options="+ours) && strings.Contains(flags,
				"--xla_cpu_prefer_vector_width=512")
		},
		"--xla_dump_to=/tmp/x": func(flags string) bool {
			return strings.HasPrefix(flags, "--xla_dump_to=/tmp/x ") && strings.Contains(flags, ours)
		},
		"--xla_backend_extra_options=a=b --xla_cpu_prefer_vector_width=256": func(flags string) bool {
			return strings.HasPrefix(flags, "--xla_backend_extra_options=a=b "+
				"--xla_cpu_prefer_vector_width=256 --") && !strings.Contains(flags, ours)
		},
	} {
		t.Setenv("XLA_FLAGS", user)
		pinned := must.Get(cachedPlugin())
		setFlags(CUDA, "")
		errtest.Equal(t, "flags for CUDA", os.Getenv("XLA_FLAGS"), user)
		setFlags(CPU, pinned)
		once := os.Getenv("XLA_FLAGS")
		setFlags(CPU, pinned)
		if !check(once) || os.Getenv("XLA_FLAGS") != once {
			t.Errorf("%q became %q, then %q", user, once, os.Getenv("XLA_FLAGS"))
		}
	}
}

// A machine without a plugin, Python or network still has a backend, and a message says so.
func TestWithoutXLAThereIsGo(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("PATH", t.TempDir())
	t.Setenv(wheel.NoDownloadEnv, "1")
	for _, kind := range []Kind{CUDA, TPU, CPU} {
		if path := FindPlugin(kind); path != "" {
			t.Skipf("SKIPPED: go-xla's own folders have a plugin, %s, which cannot be hidden", path)
		}
		_, err := Install(t.Context(), kind)
		errtest.Want(t, err, "$QDNB_NO_DOWNLOAD forbids")
		_, err = open(t.Context(), string(kind))
		errtest.Want(t, err, "$QDNB_NO_DOWNLOAD forbids")
	}
	printed := collectMessages(t)
	p, err := open(t.Context(), "")
	if err != nil || p.Kind != Go {
		t.Fatalf("%v, %v", p, err)
	}
	if text := printed.String(); !strings.HasPrefix(text, "qdnb: no XLA (") || !strings.Contains(text,
		"using the pure Go backend") || strings.Count(text, "\n") != 1 {
		t.Errorf("printed %q", text)
	}
}

func TestAvailableMemoryIsLimitedByTheContainer(t *testing.T) {
	const meminfo = "MemTotal:       24000000 kB\nMemAvailable:    2000000 kB\nBuffers: 1 kB\n"
	const machine = 2000000 << 10
	for _, c := range []struct {
		limit, used, stat string
		want              int64
	}{
		{"", "", "", machine}, {"max\n", "900000000\n", "", machine},
		{"8000000000\n", "10\n", "", machine}, {"1000000000\n", "", "", 1000000000},
		{"1000000000\n", "700000000\n", "", 300000000},
		{"1000000000\n", "700000000\n", "anon 3\ninactive_file 200000000\n", 500000000},
		{"1000000000\n", "1000000000\n", "inactive_anon 5\n", 1}, // full, not unknown
	} {
		root := fstest.MapFS{"proc/meminfo": {Data: []byte(meminfo)}}
		for name, text := range map[string]string{"max": c.limit, "current": c.used, "stat": c.stat} {
			if text != "" {
				root["sys/fs/cgroup/memory."+name] = &fstest.MapFile{Data: []byte(text)}
			}
		}
		errtest.Equal(t, fmt.Sprintf("%+v", c), availableMemory(root), c.want)
	}
	errtest.Equal(t, "without /proc, where it is not known", availableMemory(fstest.MapFS{}), 0)
}

// A process that may not take the address space that a backend needs gets one line, whatever the backend,
// and not a dump of a library or of Go's runtime.
func TestLimitedAddressSpace(t *testing.T) {
	const childEnv = "QDNB_TEST_OPEN"
	if spec, child := os.LookupEnv(childEnv); child {
		p, err := Open(t.Context(), spec)
		fmt.Printf("opened: %v, %v, %v\n", p != nil, errors.Is(err, errAddressSpace), err)
		return
	}
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip("SKIPPED: this system does not tell how much address space a process has")
	}
	for spec, limit := range map[string]string{"": "1950000", "cpu": "1950000", "go": "1450000"} {
		cmd := exec.Command("/bin/sh", "-c", "ulimit -v "+limit+"; exec \"$0\" -test.run='^TestLimitedAddressSpace$'", os.Args[0])
		cmd.Env = append(os.Environ(), childEnv+"="+spec, BackendEnv+"=", "GOMAXPROCS=2", "MALLOC_ARENA_MAX=1")
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "opened: false, true, this process may use") ||
			strings.Contains(string(out), "not a PJRT plugin") {
			t.Errorf("%q: %v\n%.1000s", spec, err, out)
		}
	}
	if err := checkAddressSpace(1 << 60); err != nil {
		t.Errorf("without a limit: %v", err)
	}
}

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
	errtest.Equal(t, "path", pythonPath(), []string{"/home/my user/lib", "/usr/lib/python3"})
	dir := filepath.Join(t.TempDir(), "site packages")
	plugin := filepath.Join(dir, cpuMember)
	must.Do(os.MkdirAll(filepath.Dir(plugin), 0o777))
	must.Do(os.WriteFile(plugin, nil, 0o666))
	fakePython(t, "echo '"+dir+"'")
	errtest.Equal(t, "plugin", FindPlugin(CPU), plugin)
	fakePython(t, "exit 1")
	errtest.Equal(t, "a path", pythonPath(), nil)
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
		errtest.Equal(t, fmt.Sprintf("%s with %s", c.kind, c.file), hasDevice(root, c.kind), c.want)
	}
}

// The name of a plugin's file tells which device it is for. One that tells none gets neither the flags of
// the CPU nor its cache, and the graphs of an accelerator.
func TestKindsOfPlugins(t *testing.T) {
	for name, want := range map[string]Kind{"xla_cuda_plugin.so": CUDA, "pjrt_c_api_nvidia.so": CUDA,
		"libtpu.so": TPU, "xla_cpu_pjrt.so": CPU, "pjrt_plugin_cpu_linux_amd64.so": CPU, "xla_rocm_plugin.so": Other,
		"pjrt_plugin_xla_oneapi.so": Other} {
		kind := kindOfPlugin("/cpu/" + name)
		errtest.Equal(t, name, fmt.Sprint(kind, kind.Accelerator()), fmt.Sprint(want, want != CPU))
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
		errtest.Equal(t, fmt.Sprintf("flags that were %q", c.before), os.Getenv("XLA_FLAGS"), c.after)
	}
}
