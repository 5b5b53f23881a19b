package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"

	"github.com/gomlx/compute"

	"example.com/qdnb/internal/wheel"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
)

type doctorCmd struct {
	backendFlag
	Install bool
	Forget  bool
	JSON    bool `name:"json"`
}

// diagnosis is the result of `qdnb doctor`.
type diagnosis struct {
	Go       string            `json:"go"`
	Platform string            `json:"platform"`
	Cores    int               `json:"cores"`
	Modules  map[string]string `json:"modules"`
	Plugins  map[string]string `json:"plugins"` // path by kind; empty if missing
	Cache    string            `json:"cache"`
	Programs programsFound     `json:"programs"`
	Backend  string            `json:"backend"`
	Plugin   string            `json:"plugin"`
	Devices  []string          `json:"devices"`
	Workers  int               `json:"workers"`
	Flags    string            `json:"xla_flags"`
	Check    string            `json:"check"`
	Advice   string            `json:"advice,omitempty"`
}

// programsFound describes the cache of compiled programs. All fields are zero if the cache is off.
type programsFound struct {
	Folder string `json:"folder"`
	Count  int    `json:"count"`
	Bytes  int64  `json:"bytes"`
	Limit  int64  `json:"limit"`
}

// findPrograms inspects the cache of compiled programs, after emptying it if forget is set.
func findPrograms(forget bool) (found programsFound, err error) {
	if _, err := backend.ProgramsDir(); err != nil {
		return found, err
	}
	store := backend.Programs()
	if store == nil {
		return found, nil
	}
	if forget {
		if err := store.Clear(); err != nil {
			return found, err
		}
	}
	found.Folder, found.Limit = store.Dir, store.Limit
	found.Count, found.Bytes = store.Usage()
	return found, nil
}

func (c *doctorCmd) Run(ctx context.Context) error {
	if c.Install && backend.FindPlugin(backend.CPU) == "" {
		if _, err := backend.Install(ctx, backend.CPU); err != nil {
			return err
		}
	}
	d := diagnosis{
		Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Cores: runtime.NumCPU(),
		Modules: modules(frameworkModules...), Plugins: map[string]string{},
	}
	for _, kind := range []backend.Kind{backend.CUDA, backend.TPU, backend.CPU} {
		d.Plugins[string(kind)] = backend.FindPlugin(kind)
	}
	d.Cache, _ = wheel.CacheDir()
	var err error
	if d.Programs, err = findPrograms(c.Forget); err != nil {
		return err
	}
	platform, err := xla.Open(ctx, c.Backend)
	if err != nil {
		if !c.JSON {
			d.printFound() // shows what is installed, to help find the cause
		}
		return err
	}
	d.Backend, d.Plugin, d.Workers, d.Flags = platform.Name(), platform.Plugin, platform.Workers,
		os.Getenv("XLA_FLAGS")
	for device := range platform.Backend.NumDevices() {
		d.Devices = append(d.Devices, platform.Backend.DeviceDescription(compute.DeviceNum(device)))
	}
	d.Check = "ran a program with nested loops, and one program on each worker"
	if err := xla.SelfTest(platform); err != nil {
		return err
	}
	if platform.Kind == backend.Go {
		d.Advice = "the pure Go backend is slow: `qdnb doctor --install` installs XLA for the CPU " +
			"(Linux, with python3 and pip, or macOS on arm64; needs a network connection)"
	}
	if c.JSON {
		return json.NewEncoder(stdout).Encode(d)
	}
	d.print()
	return nil
}

// printFound prints what is known before a backend is opened.
func (d diagnosis) printFound() {
	fmt.Fprintf(stdout, "go        %s on %s, %d cores\n", d.Go, d.Platform, d.Cores)
	for _, module := range frameworkModules {
		fmt.Fprintf(stdout, "module    %s %s\n", module, d.Modules[module])
	}
	for _, kind := range []string{"cuda", "tpu", "cpu"} {
		fmt.Fprintf(stdout, "plugin    %-5s %s\n", kind, cmp.Or(d.Plugins[kind], "none"))
	}
	fmt.Fprintf(stdout, "cache     %s\n", d.Cache)
	if p := d.Programs; p.Folder != "" {
		fmt.Fprintf(stdout, "programs  %d compiled programs, %.1f of %d MB, in %s\n", p.Count,
			float64(p.Bytes)/(1<<20), p.Limit>>20, p.Folder)
	} else {
		fmt.Fprintf(stdout, "programs  not cached: %s=off, or the folder is not usable\n", backend.ProgramsEnv)
	}
}

func (d diagnosis) print() {
	d.printFound()
	fmt.Fprintf(stdout, "backend   %s, %d workers %s\n", d.Backend, d.Workers, d.Plugin)
	for i, device := range d.Devices {
		fmt.Fprintf(stdout, "device    %d: %s\n", i, device)
	}
	if d.Flags != "" {
		fmt.Fprintf(stdout, "flags     %s\n", d.Flags)
	}
	fmt.Fprintf(stdout, "check     %s\n", d.Check)
	if d.Advice != "" {
		fmt.Fprintf(stdout, "advice    %s\n", d.Advice)
	}
}

func modules(paths ...string) map[string]string {
	versions := map[string]string{}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			if slices.Contains(paths, dep.Path) {
				versions[dep.Path] = dep.Version
			}
		}
	}
	return versions
}
