// Package diskcache keeps compiled XLA programs on disk. A process that builds a program compiled
// before loads it in tenths of a second.
//
// [Hook] puts the cache between go-xla and a PJRT plugin; [Store] is the folder. Cache failures are
// ignored: the program is then compiled.
package diskcache

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"example.com/qdnb/internal/npz/atomicfile"
)

// Key identifies a program: a hash of everything that its machine code depends on.
type Key [sha256.Size]byte

// header starts an entry; the SHA-256 of the rest of the file follows it. The digit is the format
// version.
const header = "qdnb compiled program 1\n"

// suffix is the ending of an entry's file name.
const suffix = ".xla"

// temporary is the pattern of names of entries that package atomicfile is writing.
const temporary = ".writing-*"

// Store is a folder of compiled programs. It holds native code, so only its owner may read and
// write it. Several processes may share a folder.
type Store struct {
	Dir   string
	Limit int64 // bytes; beyond it the least recently used entries are removed
}

// Open opens a store and creates its folder if needed. A folder that others can access is made
// private. One that belongs to another user is an error, because its entries would run as code, and
// so is one that users share, such as /tmp.
func Open(dir string, limit int64) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if ok && int(stat.Uid) != os.Getuid() || info.Mode()&os.ModeSticky != 0 {
		return nil, &os.PathError{Op: "open", Path: dir, Err: os.ErrPermission}
	}
	if info.Mode().Perm()&0o077 != 0 {
		if err := os.Chmod(dir, 0o700); err != nil {
			return nil, err
		}
	}
	return &Store{dir, limit}, nil
}

// glob returns the paths of the files whose names match a pattern.
func (s *Store) glob(pattern string) []string {
	names, _ := fs.Glob(os.DirFS(s.Dir), pattern) // the folder's own name may have brackets
	for i, name := range names {
		names[i] = filepath.Join(s.Dir, name)
	}
	return names
}

// path returns the path of an entry's file.
func (s *Store) path(key Key) string {
	return filepath.Join(s.Dir, hex.EncodeToString(key[:])+suffix)
}

// Get returns the program stored by [Store.Put], or nil. It removes damaged entries and entries
// whose loading ended a process, see [Store.Loading].
func (s *Store) Get(key Key) []byte {
	path := s.path(key)
	if s.killed(path) {
		s.Remove(key)
		return nil
	}
	file, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	program, ok := decode(file)
	if !ok {
		s.Remove(key)
		return nil
	}
	now := time.Now()
	_ = os.Chtimes(path, now, now) // the newest are removed last
	return program
}

// Put stores a program atomically and removes the oldest ones if the store exceeds its limit.
func (s *Store) Put(key Key, program []byte) {
	if atomicfile.WriteBytes(s.path(key), encode(program)) == nil {
		s.trim()
	}
}

// Remove removes a program.
func (s *Store) Remove(key Key) {
	path := s.path(key)
	_ = os.Remove(path)
	for _, marker := range s.glob(filepath.Base(path) + ".*") {
		_ = os.Remove(marker)
	}
}

// Loading marks an entry while it is being loaded; done removes the mark. If a process died and
// left a mark, the entry has probably killed it, and [Store.Get] no longer returns it.
func (s *Store) Loading(key Key) (done func()) {
	marker := s.path(key) + "." + strconv.Itoa(os.Getpid())
	if err := os.WriteFile(marker, nil, 0o600); err != nil {
		return func() {}
	}
	return func() { _ = os.Remove(marker) }
}

// started is when this process started, or shortly after.
var started = time.Now()

// killed reports whether a process ended while it loaded an entry. In containers processes often
// have the same number as the one before.
func (s *Store) killed(path string) bool {
	return slices.ContainsFunc(s.glob(filepath.Base(path)+".*"), func(marker string) bool {
		pid, err := strconv.Atoi(marker[strings.LastIndexByte(marker, '.')+1:])
		if err != nil || syscall.Kill(pid, 0) == syscall.ESRCH {
			return true
		}
		info, err := os.Stat(marker)
		return err == nil && pid == os.Getpid() && info.ModTime().Before(started)
	})
}

// Usage returns the number of programs in the store and their size in bytes.
func (s *Store) Usage() (programs int, bytes int64) {
	for _, entry := range s.entries() {
		programs, bytes = programs+1, bytes+entry.Size()
	}
	return programs, bytes
}

// Clear removes all programs, and the folder if it holds nothing else.
func (s *Store) Clear() error {
	var failed error
	for _, pattern := range []string{"*" + suffix, "*" + suffix + ".*", temporary} {
		for _, name := range s.glob(pattern) {
			if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				failed = errors.Join(failed, err)
			}
		}
	}
	_ = os.Remove(s.Dir)
	return failed
}

// entries lists the programs, least recently used first.
func (s *Store) entries() []os.FileInfo {
	var found []os.FileInfo
	for _, name := range s.glob("*" + suffix) {
		if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
			found = append(found, info)
		}
	}
	slices.SortFunc(found, func(a, b os.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	return found
}

// abandoned is the age at which the writer of a temporary file must be gone.
const abandoned = time.Hour

// trim removes the least recently used entries beyond the limit and the files of killed processes.
func (s *Store) trim() {
	_, total := s.Usage()
	for _, entry := range s.entries() {
		if total <= s.Limit {
			break
		}
		if os.Remove(filepath.Join(s.Dir, entry.Name())) == nil {
			total -= entry.Size()
		}
	}
	for _, name := range s.glob(temporary) {
		if info, err := os.Stat(name); err == nil && time.Since(info.ModTime()) > abandoned {
			_ = os.Remove(name)
		}
	}
}

// encode returns the contents of an entry's file for a program.
func encode(program []byte) []byte {
	var packed bytes.Buffer
	writer, _ := flate.NewWriter(&packed, flate.BestSpeed) // the level is valid
	_, _ = writer.Write(program)                           // a buffer takes everything
	_ = writer.Close()
	sum := sha256.Sum256(packed.Bytes())
	return slices.Concat([]byte(header), sum[:], packed.Bytes())
}

// decode returns the program in a file; ok is false if the file is damaged.
func decode(file []byte) (program []byte, ok bool) {
	rest, ok := bytes.CutPrefix(file, []byte(header))
	if !ok || len(rest) < sha256.Size {
		return nil, false
	}
	packed := rest[sha256.Size:]
	if sha256.Sum256(packed) != [sha256.Size]byte(rest) {
		return nil, false
	}
	program, err := io.ReadAll(flate.NewReader(bytes.NewReader(packed)))
	return program, err == nil && len(program) > 0
}
