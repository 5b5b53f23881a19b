package session

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
)

// Build returns the program's version and commit: "(devel)" and "unknown" if neither the build records
// them nor a checkout tells. The commit of a modified checkout ends in ", modified". Of a released module
// the version tells the commit: it contains the first twelve digits, or it is a tag, as in "tag v1.2.3".
var Build = sync.OnceValues(func() (version, commit string) {
	version, commit = "(devel)", "unknown"
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return version, commit
	}
	module := &info.Main
	for _, dep := range info.Deps { // in a notebook cell, or a program of the user
		if dep.Path == modulePath {
			module = dep
		}
	}
	if module.Replace != nil {
		module = module.Replace
	}
	version = cmp.Or(module.Version, version)
	modified := ""
	for _, s := range info.Settings {
		switch {
		case info.Main.Path != modulePath: // these are facts about the user's own repository
		case s.Key == "vcs.revision":
			commit = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = ", modified"
		}
	}
	if path, _ := os.Executable(); commit == "unknown" && temporary(path) && (module.Version == "" || version == "(devel)") {
		commit = checkedOut(sourceFolder(module))
	}
	if commit == "unknown" && module.Sum != "" { // from a proxy or a repository
		commit = released(version)
	}
	return version, commit + modified
})

// untagged are the end of a version that the go command makes from a commit without a tag.
var untagged = regexp.MustCompile(`[-.]\d{14}-([0-9a-f]{12})$`)

// released returns the commit that the version of a module names.
func released(version string) string {
	if found := untagged.FindStringSubmatch(version); found != nil {
		return found[1]
	}
	return "tag " + version
}

// temporary reports whether a program was just built from the sources: by `go run`, `go test` or a cell.
// The checkout of one that is kept may have changed since.
func temporary(program string) bool {
	folders := strings.Split(filepath.ToSlash(filepath.Dir(program)), "/")
	return slices.ContainsFunc(folders, func(name string) bool { return strings.HasPrefix(name, "go-build") }) ||
		slices.ContainsFunc([]string{"GONB_TMP_DIR", "GOTMPDIR", "GOCACHE"}, func(name string) bool {
			folder := os.Getenv(name)
			return folder != "" && strings.HasPrefix(program, filepath.Clean(folder)+string(filepath.Separator))
		})
}

// modulePath is the path of this module.
var modulePath = path.Dir(path.Dir(reflect.TypeFor[Training]().PkgPath()))

// sourceFolder returns the folder from which a module was built, as the module or this file's path names
// it; "" if neither does.
func sourceFolder(module *debug.Module) string {
	if filepath.IsAbs(module.Path) {
		return module.Path
	}
	if _, file, _, ok := runtime.Caller(0); ok && filepath.IsAbs(file) { // not with -trimpath
		return filepath.Join(filepath.Dir(file), "..", "..")
	}
	return ""
}

// checkedOut returns the commit of a checkout: `go run`, cells and tests do not record it.
func checkedOut(folder string) string {
	if _, err := os.Stat(filepath.Join(folder, ".git")); folder == "" || err != nil {
		return "unknown"
	}
	git := func(args ...string) (string, error) {
		out, err := exec.Command("git", append([]string{"-C", folder}, args...)...).Output()
		return strings.TrimSpace(string(out)), err
	}
	commit, err := git("rev-parse", "HEAD")
	if err != nil {
		return "unknown"
	}
	if changes, err := git("status", "--porcelain", "--", "*.go", "go.mod", "go.sum"); err != nil || changes != "" {
		commit += ", modified"
	}
	return commit
}

// machineUse describes this machine and program for the generations after a given one.
func machineUse(platform *xla.Platform, after int64) runs.MachineUse {
	u := runs.MachineUse{Backend: platform.Name(), After: after}
	u.Version, u.Commit = Build()
	cores := "1 core"
	if n := runtime.NumCPU(); n > 1 {
		cores = fmt.Sprintf("%d cores", n)
	}
	processor, _ := backend.ThisProcessor() // an unknown one has no name
	u.Machine = fmt.Sprintf("%s, %s, %s/%s", cmp.Or(processor.Name, "unknown processor"), cores, runtime.GOOS, runtime.GOARCH)
	if platform.Kind.Accelerator() {
		u.Machine = platform.Backend.DeviceDescription(0) + "; " + u.Machine
	}
	return u
}
