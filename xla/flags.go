package xla

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/gomlx/go-xla/pjrt"
)

// loopBytes is the size of buffers below which XLA:CPU compiles a loop into one function instead of
// a list of kernels that it dispatches one by one. One function is single-threaded and has simple
// matrix products: 3 to 10 times faster for the many small operations of a rollout, and ruinous for
// training, whose products are large. The rule: the rollout of a slice of a population (8 policies
// of 90 000 parameters: 3 MB, physics included) lies below, loops that hold a repertoire lie above,
// and learners, whose sizes users choose, loop by ForUnfused.
const loopBytes = 30 << 20

// setFlags adds the flags that XLA should have to XLA_FLAGS; what the user set there stands.
//
// The loops of a slice's physics have few turns. LLVM would unroll them before it looks for
// vectors, and then finds hardly any: hence no unrolling. The search for vectors in straight code
// (SLP) is off, too, which saves compilation.
func setFlags(kind Kind) {
	if kind != CPU {
		return // another plugin may not know these flags, and XLA ends the process at an unknown one
	}
	flags := os.Getenv("XLA_FLAGS")
	for name, value := range map[string]string{
		"--xla_backend_extra_options": fmt.Sprintf("xla_cpu_small_while_loop_byte_threshold=%d,"+
			"xla_cpu_disable_loop_unrolling,xla_cpu_disable_slp_vectorizer", loopBytes),
		"--xla_cpu_prefer_vector_width": "512", // ignored where there is no AVX-512
	} {
		if !strings.Contains(flags, name) {
			flags = strings.TrimSpace(flags + " " + name + "=" + value)
		}
	}
	os.Setenv("XLA_FLAGS", flags)
}

// cpuDevices is the most devices that XLA:CPU is asked for, as many as the plugin has by itself.
const cpuDevices = 4

// clientOptions is what a plugin is told when it is opened. XLA:CPU has as many threads as devices,
// at least; with four on two cores each product is cut for threads that then wait for each other:
// updates of a learner take a sixth more of the processor's time.
func clientOptions(kind Kind) pjrt.NamedValuesMap {
	if kind != CPU {
		return nil
	}
	return pjrt.NamedValuesMap{"cpu_device_count": int64(min(cpuDevices, runtime.NumCPU()))}
}
