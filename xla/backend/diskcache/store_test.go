package diskcache

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
)

// program returns n bytes of made-up program.
func program(n int, seed uint64) []byte {
	random, p := rand.New(rand.NewPCG(seed, 0)), make([]byte, n)
	for i := range p {
		p[i] = byte(random.IntN(16))
	}
	return p
}

func open(t *testing.T, limit int64) *Store {
	t.Helper()
	store := must.Get(Open(filepath.Join(t.TempDir(), "programs[1]"), limit)) // not a pattern
	return store
}

func TestPutGet(t *testing.T) {
	store, want := open(t, 1<<20), program(5000, 1)
	errtest.Equal(t, "an empty store", store.Get(Key{1}), nil)
	store.Put(Key{1}, want)
	errtest.Equal(t, "the program", store.Get(Key{1}), want)
	errtest.Equal(t, "the program of another key", store.Get(Key{2}), nil)
	if n, size := store.Usage(); n != 1 || size < 1000 || size > 5000 {
		t.Errorf("%d programs of %d bytes", n, size)
	}
	if err := store.Clear(); err != nil || store.Get(Key{1}) != nil {
		t.Errorf("after Clear: %v", err)
	}
	if _, err := os.Stat(store.Dir); !os.IsNotExist(err) {
		t.Errorf("Clear left an empty folder: %v", err)
	}
}

// TestClearKeepsOtherFiles: users name the folder.
func TestClearKeepsOtherFiles(t *testing.T) {
	store := open(t, 1<<20)
	store.Put(Key{1}, program(100, 1))
	defer store.Loading(Key{1})()
	thesis := filepath.Join(store.Dir, "thesis.tex")
	must.Do(os.WriteFile(thesis, []byte("text"), 0o600))
	must.Do(store.Clear())
	left, err := os.ReadDir(store.Dir)
	if err != nil || len(left) != 1 || left[0].Name() != "thesis.tex" {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestDamage flips every bit of an entry and truncates it at every length: XLA would crash at some.
func TestDamage(t *testing.T) {
	store := open(t, 1<<20)
	store.Put(Key{1}, program(40, 1))
	path := store.path(Key{1})
	whole := must.Get(os.ReadFile(path))
	try := func(what string, damaged []byte) {
		t.Helper()
		must.Do(os.WriteFile(path, damaged, 0o600))
		errtest.Equal(t, what, store.Get(Key{1}), nil)
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("%s: it was not removed", what)
		}
	}
	for bit := range 8 * len(whole) {
		damaged := slices.Clone(whole)
		damaged[bit/8] ^= 1 << (bit % 8)
		try(fmt.Sprintf("bit %d", bit), damaged)
	}
	for size := range whole {
		try(fmt.Sprintf("%d bytes", size), whole[:size])
	}
	try("another format", bytes.Replace(whole, []byte("program 1"), []byte("program 0"), 1))
}

func TestLimitRemovesTheOldest(t *testing.T) {
	store := open(t, 0)
	size := int64(len(encode(program(5000, 1))))
	store.Limit = 3*size + size/2
	for i := range 3 {
		store.Put(Key{byte(i)}, program(5000, 1))
		past := time.Now().Add(time.Duration(i-10) * time.Minute)
		must.Do(os.Chtimes(store.path(Key{byte(i)}), past, past))
	}
	store.Get(Key{0}) // used again: now 1 is the oldest
	store.Put(Key{3}, program(5000, 1))
	for i, want := range []bool{true, false, true, true} {
		errtest.Equal(t, fmt.Sprintf("entry %d is there", i), store.Get(Key{byte(i)}) != nil, want)
	}
}

// TestLoadingKilledTheProcess: an entry that killed a process is not loaded again.
func TestLoadingKilledTheProcess(t *testing.T) {
	store := open(t, 1<<20)
	store.Put(Key{1}, program(100, 1))
	done := store.Loading(Key{1})
	if store.Get(Key{1}) == nil {
		t.Error("while this process loads an entry, others cannot")
	}
	done()
	dead := exec.Command("true")
	must.Do(dead.Run())
	marker := store.path(Key{1}) + "." + strconv.Itoa(dead.Process.Pid)
	must.Do(os.WriteFile(marker, nil, 0o600))
	errtest.Equal(t, "the entry that killed a process when it was loaded", store.Get(Key{1}), nil)
	store.Put(Key{1}, program(100, 1))
	if store.Get(Key{1}) == nil {
		t.Error("the program cannot be stored again")
	}
	// A restarted container: this process has the number of the one that was killed.
	store.Loading(Key{1})
	past := started.Add(-time.Minute)
	marker = store.path(Key{1}) + "." + strconv.Itoa(os.Getpid())
	must.Do(os.Chtimes(marker, past, past))
	errtest.Equal(t, "the entry that killed a process with this one's number", store.Get(Key{1}), nil)
}

func TestFolderOfOthers(t *testing.T) {
	dir := t.TempDir()
	must.Do(os.Chmod(dir, 0o777))
	must.Get(Open(dir, 1))
	errtest.Equal(t, "permissions of the folder", must.Get(os.Stat(dir)).Mode().Perm(), 0o700)
	must.Do(os.Chmod(dir, 0o777|os.ModeSticky))
	errtest.Want(t, errtest.Of(Open(dir, 1)), "permission denied")
	must.Do(os.Chmod(dir, 0o700))
	if os.Getuid() == 0 {
		must.Do(os.Chown(dir, 65534, 65534))
		errtest.Want(t, errtest.Of(Open(dir, 1)), "permission denied")
	}
	file := filepath.Join(t.TempDir(), "file")
	must.Do(os.WriteFile(file, nil, 0o600))
	errtest.Want(t, errtest.Of(Open(filepath.Join(file, "programs"), 1)), "not a directory")
}

func TestConcurrentProcessesShareAFolder(t *testing.T) {
	store := open(t, 1<<20)
	var group sync.WaitGroup
	for worker := range 8 {
		other := &Store{store.Dir, store.Limit}
		group.Go(func() {
			for i := range 50 {
				key := Key{byte(i % 5)}
				want := program(3000, uint64(i%5))
				if got := other.Get(key); got != nil && !bytes.Equal(got, want) {
					t.Errorf("worker %d: entry %d is another program", worker, i%5)
				}
				other.Put(key, want)
			}
		})
	}
	group.Wait()
	if n, _ := store.Usage(); n != 5 {
		t.Errorf("%d entries, want 5", n)
	}
}

const writerEnv = "QDNB_TEST_WRITER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(writerEnv); dir != "" {
		store := &Store{dir, 1 << 30}
		for i := uint64(0); ; i++ {
			p := program(200_000, i%7)
			store.Put(Key(sha256.Sum256(p)), p)
		}
	}
	os.Exit(m.Run())
}

// TestKilledWhileWriting kills processes during writes: entries are complete or absent.
func TestKilledWhileWriting(t *testing.T) {
	store := open(t, 1<<30)
	for i := range 10 {
		writer := exec.Command(os.Args[0])
		writer.Env = append(os.Environ(), writerEnv+"="+store.Dir)
		must.Do(writer.Start())
		for n, _ := store.Usage(); n < min(7, i+1); n, _ = store.Usage() {
			time.Sleep(time.Millisecond)
		}
		must.Do(writer.Process.Kill())
		_ = writer.Wait() // killed
	}
	found := 0
	for seed := range uint64(7) {
		p := program(200_000, seed)
		key := Key(sha256.Sum256(p))
		if _, err := os.Stat(store.path(key)); err != nil {
			continue
		}
		found++
		errtest.Equal(t, fmt.Sprintf("program %d", seed), store.Get(key), p)
	}
	if found < 7 {
		t.Errorf("%d of 7 programs were stored", found)
	}

	// Files of killed processes are removed once their writer must be gone.
	leftover := filepath.Join(store.Dir, ".writing-1")
	must.Do(os.WriteFile(leftover, nil, 0o600))
	past := time.Now().Add(-2 * abandoned)
	must.Do(os.Chtimes(leftover, past, past))
	store.Put(Key{}, program(10, 0))
	if _, err := os.Stat(leftover); !os.IsNotExist(err) {
		t.Error("the file of a killed process stays for ever")
	}
}

func TestKeysDiffer(t *testing.T) {
	seen := map[Key]string{}
	for name, parts := range map[string][3]string{
		"all": {"environment", "program", "options"}, "environment": {"other", "program", "options"},
		"program": {"environment", "other", "options"}, "options": {"environment", "program", "other"},
		"border": {"environment", "programo", "ptions"}, "empty": {},
	} {
		key := keyOf([]byte(parts[0]), []byte(parts[1]), []byte(parts[2]))
		if other, ok := seen[key]; ok {
			t.Errorf("%s and %s have the same key", name, other)
		}
		seen[key] = name
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(encode([]byte("program")))
	f.Add([]byte(header))
	f.Fuzz(func(t *testing.T, file []byte) {
		p, ok := decode(file)
		if ok && len(p) == 0 {
			t.Error("an empty program")
		}
		if got, ok := decode(encode(append(p, 1))); !ok || !bytes.Equal(got, append(p, 1)) {
			t.Error("a program is not read as it was written")
		}
	})
}
