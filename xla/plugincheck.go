package xla

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

// look opens a library and reads the version of its PJRT interface. It returns 0, or what is wrong,
// to be freed; *opened tells whether the library itself is one.
static char *look(const char *path, int *opened, int *major, int *minor) {
	*opened = 0;
	void *library = dlopen(path, RTLD_LAZY);
	if (!library) {
		const char *reason = dlerror();
		return strdup(reason ? reason : "it cannot be opened");
	}
	*opened = 1;
	const pjrt_api *(*get)(void) = (const pjrt_api *(*)(void))dlsym(library, "GetPjrtApi");
	if (!get) return strdup("it has no symbol GetPjrtApi");
	const pjrt_api *api = get();
	if (!api) return strdup("its GetPjrtApi returns nothing");
	if (api->size < sizeof(pjrt_api)) return strdup("its PJRT_Api is cut off");
	*major = api->version.major;
	*minor = api->version.minor;
	return NULL;
}
*/
import "C"

import (
	"unsafe"

	"github.com/pkg/errors"
)

// pjrtMajor is the version of the PJRT interface that go-xla is made for. Minor versions may
// differ: every structure says its size.
const pjrtMajor = 0

// checkPlugin tells why a library is no PJRT plugin that can be used. What go-xla does with a wrong
// one ends the process, for it calls functions that are not there.
func checkPlugin(kind Kind, path string) error {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	var opened, major, minor C.int
	if reason := C.look(name, &opened, &major, &minor); reason != nil {
		defer C.free(unsafe.Pointer(reason))
		if opened == 0 && kind != CPU { // go-xla knows where the libraries lie that others need
			return nil
		}
		return errors.Errorf("%s is no PJRT plugin (%s): give --backend another, or leave it out", path,
			C.GoString(reason))
	}
	if major != pjrtMajor {
		return errors.Errorf("plugin %s has version %d.%d of the PJRT interface, and this program "+
			"needs %d.x: install a plugin that fits, see `qdnb doctor`",
			path, major, minor, pjrtMajor)
	}
	return nil
}
