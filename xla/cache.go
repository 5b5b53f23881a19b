package xla

import (
	"bufio"
	"crypto/sha256"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gomlx/compute"
	"github.com/gomlx/go-xla/stablehlo"
)

// Compiled programs are shared in a process: two graphs with the same text (StableHLO, as the
// compiler gets it) on the same backend are compiled once, so runs that differ only in their inputs
// wait for the compiler once. The text is complete: it holds the name, operations, constants, reuse
// of inputs and number of devices. The pure Go backend has no text and compiles hardly anything, so
// its programs are not shared.

var compilations atomic.Int64

// Compilations returns the number of programs that this process has handed to a compiler. Programs
// found in this process's cache do not count.
func Compilations() int64 { return compilations.Load() }

// textKey identifies an executable.
type textKey struct {
	backend compute.Backend
	text    [sha256.Size]byte
}

// sharedCode is an executable that the first of its users compiles and the others wait for.
type sharedCode struct {
	key     textKey
	compile func() (compute.Executable, error)
}

// codeCache holds the executables that were used most recently, the newest last. The garbage
// collector frees others that have no users.
type codeCache struct {
	sync.Mutex
	held  []*sharedCode
	limit int
}

var executables = &codeCache{limit: 64}

// get returns the executable of a text, compiling it if it is not in the cache.
func (c *codeCache) get(key textKey, compile func() (compute.Executable, error)) (compute.Executable, error) {
	code := &sharedCode{key, sync.OnceValues(func() (executable compute.Executable, err error) {
		compilations.Add(1)
		if failure := catch(func() { executable, err = compile() }); failure != nil {
			return nil, failure
		}
		return executable, err
	})}
	c.Lock()
	if i := slices.IndexFunc(c.held, func(s *sharedCode) bool { return s.key == key }); i >= 0 {
		code = c.held[i]
		c.held = slices.Delete(c.held, i, i+1)
	} else if len(c.held) == c.limit {
		c.held = slices.Delete(c.held, 0, 1)
	}
	c.held = append(c.held, code)
	c.Unlock()
	executable, err := code.compile()
	if err != nil { // let the next caller retry: memory may have been short
		c.Lock()
		c.held = slices.DeleteFunc(c.held, func(s *sharedCode) bool { return s == code })
		c.Unlock()
		return nil, err
	}
	return shared{executable}, nil
}

// shared is a cached executable, which a user may not free.
type shared struct{ compute.Executable }

// Finalize implements [compute.Executable].
func (shared) Finalize() {}

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
	if text := private[*stablehlo.Builder](builder, "builder"); text != nil {
		return *text
	}
	return nil
}
