package xla

import (
	"bufio"
	"crypto/sha256"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/gomlx/compute"
	"github.com/gomlx/go-xla/stablehlo"
)

// Compiled programs are shared in a process: two graphs with the same text (StableHLO, as the
// compiler gets it) on the same backend are compiled once, so runs that differ only in their inputs
// wait for the compiler once. The text is complete: it holds the name, operations, constants, reuse
// of inputs and number of devices. Executables without users are kept for the next program with
// their text, up to the idleExecutables used most recently. The pure Go backend has no text and
// compiles hardly anything, so its programs are not shared.

// idleExecutables is the number of executables without users that are kept.
const idleExecutables = 32

var compilations atomic.Int64

// Compilations returns the number of programs that this process has handed to a compiler. Programs
// found in this process's cache do not count.
func Compilations() int64 { return compilations.Load() }

// textKey identifies an executable.
type textKey struct {
	backend compute.Backend
	text    [sha256.Size]byte
}

// sharedCode is an executable and its users.
type sharedCode struct {
	ready      chan struct{} // closed when executable and err are set
	executable compute.Executable
	err        error
	users      int
	freed      int64 // when the last user left, see codeCache.clock
}

// codeCache holds executables by their text.
type codeCache struct {
	sync.Mutex
	held  map[textKey]*sharedCode
	limit int // idle ones
	clock int64
}

var executables = newCodeCache(idleExecutables)

// newCodeCache returns an empty cache that keeps at most limit idle executables.
func newCodeCache(limit int) *codeCache {
	return &codeCache{held: map[textKey]*sharedCode{}, limit: limit}
}

// get returns the executable of a text, compiling it if it is not in the cache. A caller whose text
// is being compiled waits.
func (c *codeCache) get(key textKey, compile func() (compute.Executable,
	error)) (compute.Executable, error) {
	c.Lock()
	code, found := c.held[key]
	if !found {
		code = &sharedCode{ready: make(chan struct{})}
		c.held[key] = code
	}
	code.users++
	c.Unlock()
	if !found {
		compilations.Add(1)
		err := catch(func() { code.executable, code.err = compile() })
		if code.err == nil {
			code.err = err // no caller may wait forever
		}
		if code.err != nil { // let the next caller retry: memory may have been short
			c.Lock()
			delete(c.held, key)
			c.Unlock()
		}
		close(code.ready)
	}
	<-code.ready
	if code.err != nil {
		return nil, code.err
	}
	return newBorrowed(c, code), nil
}

// release removes a user from an executable. If too many executables are idle, it frees the one
// that has been idle longest.
func (c *codeCache) release(code *sharedCode) {
	c.Lock()
	defer c.Unlock()
	c.clock++
	code.users, code.freed = code.users-1, c.clock
	for {
		var oldest textKey
		idle, least := 0, c.clock+1
		for key, other := range c.held {
			if other.users == 0 {
				idle++
				if other.freed < least {
					oldest, least = key, other.freed
				}
			}
		}
		if idle <= c.limit {
			return
		}
		c.held[oldest].executable.Finalize()
		delete(c.held, oldest)
	}
}

// borrowed is a cached executable held by one user, who returns it with Finalize or by dropping the
// reference.
type borrowed struct {
	compute.Executable
	giveBack func()
}

func newBorrowed(c *codeCache, code *sharedCode) *borrowed {
	once := sync.OnceFunc(func() { c.release(code) })
	b := &borrowed{code.executable, once}
	runtime.AddCleanup(b, func(giveBack func()) { giveBack() }, once)
	return b
}

func (b *borrowed) Execute(inputs []compute.Buffer, donate []bool,
	device compute.DeviceNum) ([]compute.Buffer, error) {
	defer runtime.KeepAlive(b)
	return b.Executable.Execute(inputs, donate, device)
}

// Finalize implements [compute.Executable]: it returns the executable to the cache.
func (b *borrowed) Finalize() { b.giveBack() }

// Compile compiles the program, takes it from the cache, or only writes its text; see [DryRun].
func (b *nestingBuilder) Compile() (compute.Executable, error) {
	builder := stableHLO(b.Builder)
	if dry, ok := b.backend.(*dryBackend); ok {
		return dry.compile(b, builder)
	}
	if builder == nil {
		compilations.Add(1)
		return b.Builder.Compile()
	}
	hash := sha256.New()
	text := bufio.NewWriterSize(hash, 1<<16)
	if err := builder.Write(text); err != nil {
		return nil, err
	}
	if err := text.Flush(); err != nil {
		return nil, err
	}
	return executables.get(textKey{b.backend, [sha256.Size]byte(hash.Sum(nil))}, b.Builder.Compile)
}

// stableHLO returns the private field builder of a go-xla builder, which writes the text, or nil
// for other backends. TestProgramsOfOneTextAreCompiledOnce fails if go-xla changes it.
func stableHLO(builder compute.Builder) *stablehlo.Builder {
	value := reflect.ValueOf(builder)
	if value.Kind() != reflect.Pointer || value.Elem().Kind() != reflect.Struct {
		return nil
	}
	field := value.Elem().FieldByName("builder")
	if !field.IsValid() || field.Type() != reflect.TypeFor[*stablehlo.Builder]() {
		return nil
	}
	return *(**stablehlo.Builder)(unsafe.Pointer(field.UnsafeAddr()))
}
