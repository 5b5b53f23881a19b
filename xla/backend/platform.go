// Package backend opens the backends of GoMLX: it finds or fetches the XLA plugin, sets XLA's flags,
// keeps compiled programs on disk, and knows the machine's memory. It builds no graphs.
package backend

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/gobackend"
	gomlxxla "github.com/gomlx/go-xla/compute/xla"

	"example.com/qdnb/internal/names"
)

// Kind is a kind of backend.
type Kind string

// The kinds, in the order of preference of [Open] with an empty specification, "go" last.
const (
	CUDA Kind = "cuda" // XLA on Nvidia GPUs
	TPU  Kind = "tpu"  // XLA on TPUs
	CPU  Kind = "cpu"  // XLA on the CPU's cores
	Go   Kind = "go"   // GoMLX's pure Go backend: always available, slow

	// Other is another device, such as an AMD GPU, whose plugin the user names.
	Other Kind = "other"
)

// Accelerator reports whether the kind is a GPU or a TPU, or may be one. There, the number of
// kernels and copies in a loop determines its speed, and a loop whose count only the device knows
// waits for the host in every iteration. See docs/reference/set-up.md.
func (k Kind) Accelerator() bool { return k == CUDA || k == TPU || k == Other }

// BackendEnv names the environment variable that chooses the backend when the program does not. It
// takes precedence over GOMLX_BACKEND.
const BackendEnv = "QDNB_BACKEND"

// WorkersEnv names the environment variable that limits the number of workers, by default one per
// core or GPU. Results do not depend on it. On CPUs it may exceed the number of cores, to measure
// what more workers need.
const WorkersEnv = "QDNB_WORKERS"

// messages receives warnings.
var messages io.Writer = os.Stderr

// Platform is an open backend.
type Platform struct {
	Backend compute.Backend
	Kind    Kind
	Plugin  string // path of the PJRT plugin; empty for Go
	Workers int    // devices that a parallel program uses: CPU cores or GPUs
}

var platforms struct {
	sync.Mutex
	open map[string]*Platform
}

// Open opens a backend, or returns it if it is already open:
//
//	""             $QDNB_BACKEND, else $GOMLX_BACKEND, else the first of cuda, tpu, cpu
//	               that works, else go with a warning
//	cuda|tpu|cpu   that backend or an error; "xla:cpu" is cpu, and "gpu" is cuda
//	go             the pure Go backend
//	/path/to.so    a PJRT plugin; "xla:/path/to.so" too. It is of the kind cuda, tpu or cpu if
//	               the file's name says so, else [Other]
//
// ctx ends the download of a missing plugin.
func Open(ctx context.Context, spec string) (*Platform, error) {
	platforms.Lock()
	defer platforms.Unlock()
	spec, err := Canonical(spec)
	if err != nil {
		return nil, err
	}
	if _, err := limitWorkers(1); err != nil { // a bad setting is no reason to try another backend
		return nil, err
	}
	if p, ok := platforms.open[spec]; ok {
		return p, nil
	}
	p, err := open(ctx, spec)
	if err != nil {
		return nil, err
	}
	if platforms.open == nil {
		platforms.open = map[string]*Platform{}
	}
	platforms.open[spec] = p
	return p, nil
}

// Canonical returns the canonical name of the backend that a specification of [Open] means: cuda,
// tpu, cpu, go, the absolute path of a plugin, or "" for the first that works. It opens nothing. It
// returns an error for a name that [Open] does not know.
func Canonical(spec string) (string, error) {
	from := ""
	for _, variable := range []string{BackendEnv, compute.ConfigEnvVar} {
		if spec == "" {
			if spec = os.Getenv(variable); spec != "" {
				from = " in $" + variable
			}
		}
	}
	name := strings.TrimPrefix(spec, "xla:")
	switch name {
	case "", string(CUDA), string(TPU), string(CPU), string(Go):
		return name, nil
	case "auto":
		return "", nil
	case "xla":
		return string(CPU), nil
	case "gpu":
		return string(CUDA), nil
	}
	if filepath.IsAbs(name) {
		return name, nil
	}
	meant := ":"
	known := []string{"auto", "gpu", string(CPU), string(CUDA), string(TPU), string(Go)}
	if len(names.Nearest(name, known)) > 0 {
		meant = names.Suggestion(name, known)
	}
	return "", fmt.Errorf("unknown backend %q%s%s use cpu, cuda, tpu, go or the absolute path of "+
		"a PJRT plugin", name, from, meant)
}

// open opens the backend of a canonical specification.
func open(ctx context.Context, spec string) (*Platform, error) {
	switch Kind(spec) {
	case "":
		return openFirst(ctx)
	case Go:
		return openGo()
	case CPU, CUDA, TPU:
		return openPlugin(ctx, Kind(spec))
	}
	return load(kindOfPlugin(spec), spec)
}

// openFirst tries the accelerators of the machine, then XLA:CPU, then Go.
func openFirst(ctx context.Context) (*Platform, error) {
	for _, kind := range []Kind{CUDA, TPU} {
		if !hasDevice("/", kind) {
			continue
		}
		if path := FindPlugin(kind); path != "" {
			p, err := load(kind, path)
			if err == nil {
				return p, nil
			}
			fmt.Fprintf(messages, "qdnb: %s does not work here (%v); trying the CPU\n", path, oneLine(err))
		}
	}
	p, err := openPlugin(ctx, CPU)
	if err == nil || ctx.Err() != nil || errors.Is(err, errAddressSpace) {
		return p, err
	}
	fmt.Fprintf(messages, "qdnb: no XLA (%v); using the pure Go backend, which is some fifty times slower; run "+
		"`qdnb doctor` for details\n", oneLine(err))
	return openGo()
}

func openPlugin(ctx context.Context, kind Kind) (*Platform, error) {
	path := FindPlugin(kind)
	if path == "" {
		var err error
		if path, err = Install(ctx, kind); err != nil {
			return nil, err
		}
	}
	return load(kind, path)
}

// opened returns the platform of a plugin that is already open, or nil: a process has one client of
// each.
func opened(kind Kind, path string) *Platform {
	for _, p := range platforms.open {
		if p.Kind == kind && p.Plugin == path {
			return p
		}
	}
	return nil
}

// load opens a plugin. XLA reads its flags only once, when the library is loaded.
func load(kind Kind, path string) (*Platform, error) {
	if p := opened(kind, path); p != nil {
		return p, nil
	}
	if _, err := os.Stat(path); err != nil {
		return nil, names.Wrongf("no PJRT plugin at %s", path)
	}
	if err := checkAddressSpace(spaceOfXLA); err != nil {
		return nil, err
	}
	setFlags(kind, path)
	if err := checkPlugin(kind, path); err != nil {
		return nil, err
	}
	if kind == CPU {
		hookCompiler(path)
	}
	var options string
	if kind == CUDA {
		options = ",tf32=false" // physics needs the full 24-bit mantissa of a float32 product
	}
	backend, err := gomlxxla.NewWithOptions(path+options, clientOptions(kind))
	if err != nil {
		return nil, fmt.Errorf("plugin %s cannot be loaded: %v", path, oneLine(err))
	}
	workers, err := limitWorkers(backend.NumDevices())
	if err != nil {
		return nil, err
	}
	return &Platform{Backend: backend, Kind: kind, Plugin: path, Workers: workers}, nil
}

// openGo opens the Go backend in sequential mode. By default it runs operations in parallel on a
// few workers, and loops that wait for each other's workers deadlock (compute v0.1.6).
func openGo() (*Platform, error) {
	if p := opened(Go, ""); p != nil {
		return p, nil
	}
	if err := checkAddressSpace(spaceOfGo); err != nil {
		return nil, err
	}
	backend, err := gobackend.New("ops_sequential")
	if err != nil {
		return nil, fmt.Errorf("the pure Go backend cannot be opened: %v", oneLine(err))
	}
	return &Platform{Backend: backend, Kind: Go, Workers: 1}, nil
}

// limitWorkers applies $QDNB_WORKERS.
func limitWorkers(workers int) (int, error) {
	value := os.Getenv(WorkersEnv)
	if value == "" {
		return workers, nil
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > maxWorkers {
		return 0, names.Wrongf("$%s is %q: use a whole number from 1 to %d", WorkersEnv, value, maxWorkers)
	}
	return min(n, workers), nil
}

// Name identifies the backend in run records: results are bit-identical only under the same name.
func (p *Platform) Name() string {
	if p.Kind == Go {
		return "go"
	}
	return "xla:" + string(p.Kind)
}

// String describes the backend in one line.
func (p *Platform) String() string {
	if p.Kind == Go {
		return "pure Go"
	}
	return fmt.Sprintf("XLA on %s with %d workers", strings.ToUpper(string(p.Kind)), p.Workers)
}

// oneLine returns the first line of an error's text: some errors carry a stack.
func oneLine(err error) string {
	line, _, _ := strings.Cut(strings.TrimSpace(err.Error()), "\n")
	return line
}
