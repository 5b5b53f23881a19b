package session

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"

	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla"
)

// Build returns the program's version and commit as recorded by the build: "(devel)" and "unknown"
// if it records none. The commit of a modified checkout ends in ", modified".
func Build() (version, commit string) {
	version, commit = "(devel)", "unknown"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return version, commit
	}
	if info.Main.Version != "" {
		version = info.Main.Version
	}
	modified := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = ", modified"
		}
	}
	return version, commit + modified
}

// machineUse describes this machine and program for the generations after a given one.
func machineUse(platform *xla.Platform, after int64) runs.MachineUse {
	u := runs.MachineUse{After: after}
	u.Version, u.Commit = Build()
	cores := "1 core"
	if n := runtime.NumCPU(); n > 1 {
		cores = fmt.Sprintf("%d cores", n)
	}
	u.Machine = fmt.Sprintf("%s, %s, %s/%s", processor("/proc/cpuinfo"), cores, runtime.GOOS,
		runtime.GOARCH)
	if platform.Kind.Accelerator() {
		u.Machine = platform.Backend.DeviceDescription(0) + "; " + u.Machine
	}
	return u
}

// processor returns the processor's name in a file like Linux's /proc/cpuinfo.
func processor(path string) string {
	text, _ := os.ReadFile(path) // other systems do not have it
	for line := range strings.Lines(string(text)) {
		if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
			return strings.Join(strings.Fields(value), " ")
		}
	}
	return "unknown processor"
}
