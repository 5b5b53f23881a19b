package backend

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"example.com/qdnb/internal/protobuf"
	"example.com/qdnb/internal/wheel"
	"example.com/qdnb/xla/backend/diskcache"
)

// ProgramsEnv names the environment variable that turns the cache of compiled programs off ("off")
// or names its folder.
const ProgramsEnv = "QDNB_PROGRAMS"

// programsLimit is the size limit of the cache of compiled programs in bytes. A program takes 0.1
// to 1 MB.
const programsLimit = 512 << 20

// ProgramsDir returns the folder of compiled programs: programs in [wheel.CacheDir] unless $QDNB_PROGRAMS
// names another. It is empty if the cache is off.
func ProgramsDir() (string, error) {
	switch dir := os.Getenv(ProgramsEnv); {
	case dir == "off":
		return "", nil
	case filepath.IsAbs(dir):
		return dir, nil
	case dir != "":
		return "", fmt.Errorf("$%s is %q: use off or an absolute path", ProgramsEnv, dir)
	}
	dir, err := wheel.CacheDir()
	return filepath.Join(dir, "programs"), err
}

// Programs returns the cache of compiled programs, or nil if it is off or its folder is unusable.
func Programs() *diskcache.Store {
	dir, err := ProgramsDir()
	if err != nil || dir == "" {
		return nil
	}
	store, err := diskcache.Open(dir, programsLimit)
	if err != nil {
		return nil
	}
	return store
}

// hookCompiler attaches the cache of compiled programs to the XLA:CPU plugin, and [partedOptions]. A failure is
// only reported: without a cache programs take longer to compile.
func hookCompiler(path string) {
	store := Programs()
	var environment []byte
	var err error
	if store != nil {
		environment, err = codeEnvironment(path)
	}
	if err == nil {
		err = diskcache.Hook(path, store, environment, partedOptions(path))
	}
	if err != nil && store != nil {
		fmt.Fprintf(messages, "qdnb: compiled programs are not cached (%v), so each process compiles them again\n", oneLine(err))
	}
}

// Parted is the attribute that a program in parts has, see xla.Outline.
const Parted = "xla_cpu_small_call"

// partedOptions returns the compile options of XLA:CPU for programs in parts: it runs their many small kernels in the
// order that needs least memory. By default kernels may run side by side, and to hand them to other threads takes
// longer than most of these do: the physics of a gripper with searched contacts takes 1.4 times as long.
func partedOptions(plugin string) func(program []byte) []byte {
	const flag = "xla_cpu_enable_concurrency_optimized_scheduler"
	if !isPinned(plugin) && len(knownFlags(map[string]string{flag: "false"}, plugin)) == 0 {
		return func([]byte) []byte { return nil }
	}
	const overrides, key, value, boolean = 7, 1, 2, 2 // fields of CompileOptionsProto, its map and OptionOverrideProto
	options := protobuf.Message(nil).Bytes(overrides,
		protobuf.Message(nil).Text(key, flag).Bytes(value, protobuf.Message(nil).Int(boolean, 0)))
	return func(program []byte) []byte {
		if !bytes.Contains(program, []byte(Parted)) {
			return nil
		}
		return options
	}
}

// compilerVariables are prefixes of the environment variables that XLA, its plugins and go-xla
// read, such as PJRT_NPROC, the number of threads.
var compilerVariables = []string{"XLA_", "PJRT_", "GOPJRT_", "TF_"}

// codeEnvironment hashes what XLA:CPU's machine code depends on besides the program and its compile
// options: the plugin, its flags and variables, the processor, the cores usable by this process and
// the number of devices requested. XLA checks none of it when it loads a program.
func codeEnvironment(plugin string) ([]byte, error) {
	processor, err := ThisProcessor()
	if err != nil {
		return nil, err
	}
	identity, err := pluginIdentity(plugin)
	if err != nil {
		return nil, err
	}
	flags := strings.Fields(os.Getenv("XLA_FLAGS")) // in any order: setFlags ranges over a map
	slices.Sort(flags)
	hash := sha256.New()
	fmt.Fprintf(hash, "%q\n%q\n%q\n%q\n%d cores\n%v", runtime.GOARCH, processor.Features, identity, flags,
		runtime.NumCPU(), clientOptions(CPU))
	for _, variable := range slices.Sorted(slices.Values(os.Environ())) {
		name, _, _ := strings.Cut(variable, "=")
		if name != "XLA_FLAGS" && slices.ContainsFunc(compilerVariables,
			func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
			fmt.Fprintf(hash, "\n%q", variable)
		}
	}
	return hash.Sum(nil), nil
}

// pluginIdentity identifies a plugin: the pinned one by the hash in its path with its size and
// date, others by their SHA-256, which takes half a second.
func pluginIdentity(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if isPinned(path) {
		return fmt.Sprintf("%s %d %d", cpuWheel.Hashes[0], info.Size(), info.ModTime().UnixNano()), nil
	}
	return hashOf(path)
}
