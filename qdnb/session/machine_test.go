package session

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
)

// Programs whose build records no commit, such as tests, cells and those of `go run`, name that of the
// checkout, and whether its Go files are modified.
func TestCommitOfACheckout(t *testing.T) {
	folder := t.TempDir()
	errtest.Equal(t, "without a repository it", checkedOut(folder), "unknown")
	git := func(args ...string) string {
		cmd := exec.Command("git", append([]string{"-C", folder, "-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
		return strings.TrimSpace(string(must.Get(cmd.Output())))
	}
	git("init", "-q")
	errtest.Equal(t, "without a commit it", checkedOut(folder), "unknown")
	must.Do(os.WriteFile(filepath.Join(folder, "a.go"), []byte("package a\n"), 0o666))
	git("add", ".")
	git("commit", "-q", "-m", "a")
	commit := git("rev-parse", "HEAD")
	must.Do(os.WriteFile(filepath.Join(folder, "notes.txt"), nil, 0o666))
	errtest.Equal(t, "checked out", checkedOut(folder), commit)
	for _, name := range []string{"a.go", "b.go"} {
		must.Do(os.WriteFile(filepath.Join(folder, name), []byte("package b\n"), 0o666))
		errtest.Equal(t, fmt.Sprintf("after a change of %s", name), checkedOut(folder), commit+", modified")
		git("checkout", "-q", "a.go")
	}
	errtest.Equal(t, "folder of a replaced module", sourceFolder(&debug.Module{Path: folder}), folder)
	must.Get(os.Stat(filepath.Join(sourceFolder(&debug.Module{Path: "example.com/qdnb"}), "go.mod")))
	if _, err := os.Stat(filepath.Join("..", "..", ".git")); err == nil {
		if _, commit := Build(); !regexp.MustCompile(`^[0-9a-f]{40}(, modified)?$`).MatchString(commit) {
			t.Errorf("this test is of commit %q", commit)
		}
	}
}

// The version of a module from a proxy or a repository tells its commit.
func TestCommitOfARelease(t *testing.T) {
	for version, want := range map[string]string{"v0.0.0-20261128001122-3250ca79abcd": "3250ca79abcd",
		"v1.2.4-0.20261128001122-3250ca79abcd": "3250ca79abcd", "v1.2.3": "tag v1.2.3", "v1.2.3-rc.1": "tag v1.2.3-rc.1"} {
		errtest.Equal(t, version, released(version), want)
	}
}

// A binary that is kept does not name a checkout that may have changed since it was built.
func TestKeptBinariesNameNoCheckout(t *testing.T) {
	t.Setenv("GONB_TMP_DIR", "/tmp/gonb_1")
	for path, want := range map[string]bool{"/tmp/go-build12/b001/exe/qdnb": true, "/tmp/go-build1/b1/session.test": true,
		"/home/a/.cache/go-build/0a/0a-d/qdnb": true, "/tmp/gonb_1/gonb_1": true, "/tmp/gonb_12/x": false,
		"/tmp/qdnb": false, "/usr/bin/qdnb": false, "": false} {
		errtest.Equal(t, path, temporary(path), want)
	}
}
