package diskcache

/*
#cgo linux LDFLAGS: -ldl
#include <stdlib.h>
#include "hook.h"
*/
import "C"

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/gomlx/go-xla/pjrt"
)

// hooked is what [Hook] attached to the plugin.
var hooked struct {
	store       *Store
	environment []byte // hash of everything but program and options
	more        func(program []byte) []byte
	loading     sync.Map // Key to the func that removes the mark
	hits        atomic.Int64
}

// Hits returns the number of programs that this process loaded from disk.
func Hits() int64 { return hooked.hits.Load() }

// Hook opens the plugin at path and puts the store between go-xla and the plugin's compiler. go-xla
// then finds the plugin by this path. environment hashes everything that machine code depends on
// besides the program and its compile options: flags, plugin, processor, devices. If the store is nil, nothing
// is stored. What more returns for a program is appended to its compile options, a message of XLA's type
// CompileOptionsProto. A process can hook one plugin, before it is used.
func Hook(path string, store *Store, environment []byte, more func(program []byte) []byte) error {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	table := C.hook_plugin(name)
	if table == 0 {
		return fmt.Errorf("the calls of %s cannot be intercepted", path)
	}
	hooked.store, hooked.environment, hooked.more = store, environment, more
	return pjrt.RegisterPreloadedPlugin(path, uintptr(table))
}

// keyOf returns the key of a program in this process's environment.
func keyOf(environment, program, options []byte) Key {
	hash := sha256.New()
	for _, part := range [][]byte{environment, program, options} {
		var size [8]byte
		binary.LittleEndian.PutUint64(size[:], uint64(len(part)))
		hash.Write(size[:])
		hash.Write(part)
	}
	return Key(hash.Sum(nil))
}

// view returns C memory as a slice, valid during the call.
func view(data unsafe.Pointer, size C.size_t) []byte {
	return unsafe.Slice((*byte)(data), int(size))
}

//export diskcacheOptions
func diskcacheOptions(code *C.char, codeSize C.size_t, options unsafe.Pointer, optionsSize C.size_t,
	all *unsafe.Pointer, size *C.size_t) {
	joined := slices.Concat(view(options, optionsSize), hooked.more(view(unsafe.Pointer(code), codeSize)))
	*all, *size = C.CBytes(joined), C.size_t(len(joined))
}

//export diskcacheGet
func diskcacheGet(code *C.char, codeSize C.size_t, options unsafe.Pointer, optionsSize C.size_t,
	key *C.uchar, bytes *unsafe.Pointer, size *C.size_t) (stores C.int) {
	if hooked.store == nil {
		return 0
	}
	k := keyOf(hooked.environment, view(unsafe.Pointer(code), codeSize), view(options, optionsSize))
	copy(view(unsafe.Pointer(key), C.size_t(len(k))), k[:])
	if program := hooked.store.Get(k); program != nil {
		hooked.loading.Store(k, hooked.store.Loading(k))
		*bytes, *size = C.CBytes(program), C.size_t(len(program))
	}
	return 1
}

//export diskcacheLoaded
func diskcacheLoaded(key *C.uchar, loaded C.int) {
	k := Key(view(unsafe.Pointer(key), C.size_t(len(Key{}))))
	if done, ok := hooked.loading.LoadAndDelete(k); ok {
		done.(func())()
	}
	if loaded == 0 {
		hooked.store.Remove(k)
		return
	}
	hooked.hits.Add(1)
}

//export diskcachePut
func diskcachePut(key *C.uchar, bytes unsafe.Pointer, size C.size_t) {
	hooked.store.Put(Key(view(unsafe.Pointer(key), C.size_t(len(Key{})))), view(bytes, size))
}
