package backend

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/gomlx/go-xla/pjrt"
)

// loopBytes is the buffer size below which XLA:CPU compiles a loop into one function instead of a
// list of kernels that it dispatches one by one. One function is single-threaded and has simple
// matrix products: 3 to 10 times faster for the many small operations of a rollout, and ruinous for
// training, whose products are large. The rollout of a slice of a population (8 policies of 90 000
// parameters: 3 MB, physics included) lies below the limit. Loops that hold a repertoire lie above.
// Learners, whose sizes users choose, loop with ForUnfused.
const loopBytes = 30 << 20

// Flags returns the flags of XLA that qdnb sets for a kind of backend, by name.
//
// On CPUs, the physics loops of a slice have few iterations. LLVM would unroll them before
// vectorizing and then vectorize hardly anything. With at most three iterations to unroll, it does
// so only with what is left of them after vectorizing. SLP vectorization, metadata for parameters
// that do not alias, and scheduling of instructions once more before and after registers are
// allocated are off, which saves compile time.
// XNNPACK is off, because learners' products are faster with oneDNN.
//
// On GPUs, two runs of a program give the same bytes: XLA picks kernels without timing them,
// and uses none that sum in the order of their threads. Programs compiled for an H100 have the same
// number of kernels with and without the flag.
func Flags(kind Kind) map[string]string {
	switch kind {
	case CPU:
		return map[string]string{
			extraOptions: fmt.Sprintf("xla_cpu_small_while_loop_byte_threshold=%d,"+
				"xla_cpu_disable_slp_vectorizer,-unroll-full-max-count=3,-unroll-allow-partial=false,"+
				"-unroll-runtime=false,-unroll-allow-peeling=false,"+
				"-enable-noalias-to-md-conversion=false,-enable-misched=false,-post-RA-scheduler=false",
				loopBytes),
			"--xla_cpu_prefer_vector_width": "512", // ignored where there is no AVX-512
			"--xla_cpu_use_xnnpack":         "false",
		}
	case CUDA, Other:
		return map[string]string{"--xla_gpu_deterministic_ops": "true"}
	}
	return nil
}

// FlagText returns the flags of a kind of backend as in XLA_FLAGS, sorted by name.
func FlagText(kind Kind) string {
	var flags []string
	for name, value := range Flags(kind) {
		flags = append(flags, name+"="+value)
	}
	slices.Sort(flags)
	return strings.Join(flags, " ")
}

// setFlags adds qdnb's flags to XLA_FLAGS; flags set by the user take precedence. XLA exits at an
// unknown flag, so of a plugin that is not pinned only flags that it knows are set.
func setFlags(kind Kind, plugin string) {
	flags, own := os.Getenv("XLA_FLAGS"), Flags(kind)
	if !isPinned(plugin) {
		own = knownFlags(own, plugin)
	}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		if !strings.Contains(flags, name) {
			flags = strings.TrimSpace(flags + " " + name + "=" + own[name])
		}
	}
	if flags != "" {
		os.Setenv("XLA_FLAGS", flags)
	}
}

// extraOptions is the flag whose value is a list of options of XLA:CPU and of LLVM.
const extraOptions = "--xla_backend_extra_options"

// knownFlags returns the flags whose names a plugin's file contains, and of [extraOptions] those options.
// There are none if the file cannot be read.
func knownFlags(flags map[string]string, plugin string) map[string]string {
	known := map[string]string{}
	file, err := os.Open(plugin)
	if err != nil {
		return known
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || info.Size() == 0 {
		return known
	}
	data, err := syscall.Mmap(int(file.Fd()), 0, int(info.Size()), syscall.PROT_READ, syscall.MAP_PRIVATE)
	if err != nil {
		return known
	}
	defer func() { _ = syscall.Munmap(data) }()
	knows := func(option string) bool {
		name, _, _ := strings.Cut(strings.TrimLeft(option, "-"), "=")
		return bytes.Contains(data, []byte(name))
	}
	for name, value := range flags {
		if name == extraOptions {
			value = strings.Join(slices.DeleteFunc(strings.Split(value, ","),
				func(option string) bool { return !knows(option) }), ",")
		}
		if value != "" && knows(name) {
			known[name] = value
		}
	}
	return known
}

// maxWorkers is the largest value of [WorkersEnv]. XLA:CPU takes more devices for those of several
// processes, and rejects programs.
const maxWorkers = 1024

// clientOptions returns the options that a plugin is opened with: on CPUs a device per core, or as
// many as [WorkersEnv] says if those are more. XLA:CPU starts at least as many threads as devices.
// With four on two cores each product is split for threads that then wait for each other: updates
// of a learner take a sixth more processor time.
func clientOptions(kind Kind) pjrt.NamedValuesMap {
	if kind != CPU {
		return nil
	}
	asked, _ := strconv.Atoi(os.Getenv(WorkersEnv)) // a bad value is rejected elsewhere
	devices := max(min(asked, maxWorkers), runtime.NumCPU())
	return pjrt.NamedValuesMap{"cpu_device_count": int64(devices)}
}
