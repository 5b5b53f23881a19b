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

// Compiled programs are shared in a process: two graphs of the same text (StableHLO, as the
// compiler gets it) on the same backend are compiled once, so that runs that differ in their inputs
// alone wait for the compiler once. The text says all there is to say: name, operations, constants,
// reuse of inputs and number of devices. Executables that nobody uses any more are kept for the
// next one who builds them, the idleExecutables used last. The pure Go backend has no text, and
// hardly anything to compile: there every program is its own.

// idleExecutables is how many executables without a user are kept.
const idleExecutables = 32

var compilations atomic.Int64

// Compilations is how many programs this process has handed to a compiler: those that were there
// already do not count.
func Compilations() int64 { return compilations.Load() }

// textKey names an executable.
type textKey struct {
	backend compute.Backend
	text    [sha256.Size]byte
}

// sharedCode is an executable and who uses it.
type sharedCode struct {
	ready      chan struct{} // closed when executable and err are there
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

// newCodeCache returns an empty cache that keeps so many idle executables.
func newCodeCache(limit int) *codeCache {
	return &codeCache{held: map[textKey]*sharedCode{}, limit: limit}
}

// get returns the executable of a text, compiled now unless it is there. Who asks for a text that
// another one is compiling waits.
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
			code.err = err // nobody may wait for ever
		}
		if code.err != nil { // the next one tries again: what was missing may have been memory
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

// release takes a user from an executable, and frees what has been idle longest if too many are.
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

// borrowed is an executable of the cache in the hands of one user, who gives it back by Finalize,
// or by forgetting it.
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

// Execute implements [compute.Executable].
func (b *borrowed) Execute(inputs []compute.Buffer, donate []bool,
	device compute.DeviceNum) ([]compute.Buffer, error) {
	defer runtime.KeepAlive(b)
	return b.Executable.Execute(inputs, donate, device)
}

// Finalize implements [compute.Executable]: it gives the executable back.
func (b *borrowed) Finalize() { b.giveBack() }

// Compile compiles the program, or finds it compiled, or only writes its text; see adapter.text.
func (b *nestingBuilder) Compile() (compute.Executable, error) {
	builder := stableHLO(b.Builder)
	if b.text != nil {
		return nil, builder.Write(b.text)
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

// stableHLO is what a builder of go-xla writes the text with: its private field builder. nil for
// other backends; TestProgramsOfOneTextAreCompiledOnce guards it against a change of go-xla.
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
