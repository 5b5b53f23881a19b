package xla

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/gomlx/go-xla/pjrt"
)

// loopBytes is the buffer size below which XLA:CPU compiles a loop into one function instead of a
// list of kernels that it dispatches one by one. One function is single-threaded and has simple
// matrix products: 3 to 10 times faster for the many small operations of a rollout, and ruinous for
// training, whose products are large. The rollout of a slice of a population (8 policies of 90 000
// parameters: 3 MB, physics included) lies below the limit. Loops that hold a repertoire lie above.
// Learners, whose sizes users choose, loop with ForUnfused.
const loopBytes = 30 << 20

// setFlags adds qdnb's flags to XLA_FLAGS; flags set by the user take precedence.
//
// The physics loops of a slice have few iterations. LLVM would unroll them before vectorizing and
// then vectorize hardly anything, so unrolling is off. SLP vectorization is off, too, which saves
// compile time.
func setFlags(kind Kind) {
	if kind != CPU {
		return // XLA exits at an unknown flag, and another plugin may not know these
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

// cpuDevices is the largest number of devices requested from XLA:CPU, which is the plugin's
// default.
const cpuDevices = 4

// clientOptions returns the options that a plugin is opened with. XLA:CPU starts at least as many
// threads as devices. With four on two cores each product is split for threads that then wait for
// each other: updates of a learner take a sixth more processor time.
func clientOptions(kind Kind) pjrt.NamedValuesMap {
	if kind != CPU {
		return nil
	}
	return pjrt.NamedValuesMap{"cpu_device_count": int64(min(cpuDevices, runtime.NumCPU()))}
}
