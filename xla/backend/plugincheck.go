package backend

/*
#cgo linux LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

// The beginning of a PJRT_Api, which is the same in all versions.
typedef struct {
	size_t size;
	void *extension;
	struct { size_t size; void *extension; int major, minor; } version;
} pjrt_api;

// look opens a library and reads its PJRT interface version. It returns 0, or an error text that
// the caller frees. *opened reports whether the library could be opened.
static char *look(const char *path, int *opened, int *major, int *minor) {
	*opened = 0;
	void *library = dlopen(path, RTLD_LAZY);
	if (!library) {
		const char *reason = dlerror();
		return strdup(reason ? reason : "it cannot be opened");
	}
	*opened = 1;
	const pjrt_api *(*get)(void) = (const pjrt_api *(*)(void))dlsym(library, "GetPjrtApi");
	if (!get) return strdup("it lacks the symbol GetPjrtApi");
	const pjrt_api *api = get();
	if (!api) return strdup("its GetPjrtApi returns nothing");
	if (api->size < sizeof(pjrt_api)) return strdup("its PJRT_Api is truncated");
	*major = api->version.major;
	*minor = api->version.minor;
	return NULL;
}
*/
import "C"

import (
	"fmt"
	"unsafe"
)

// pjrtMajor is the major version of the PJRT interface that go-xla supports. Minor versions may
// differ: every structure states its size.
const pjrtMajor = 0

// checkPlugin returns an error if a library is not a usable PJRT plugin. Without this check go-xla
// calls functions that such a library lacks, which crashes the process.
func checkPlugin(kind Kind, path string) error {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	var opened, major, minor C.int
	if reason := C.look(name, &opened, &major, &minor); reason != nil {
		defer C.free(unsafe.Pointer(reason))
		if opened == 0 && (kind == CUDA || kind == TPU) { // go-xla knows where their dependencies are
			return nil
		}
		return fmt.Errorf("%s is not a PJRT plugin (%s): pass another one to --backend, or omit it", path, C.GoString(reason))
	}
	if major != pjrtMajor {
		return fmt.Errorf("plugin %s has version %d.%d of the PJRT interface, and this program "+
			"needs %d.x: install a plugin that fits, see `qdnb doctor`", path, major, minor, pjrtMajor)
	}
	return nil
}
