#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "hook.h"
#include "_cgo_export.h"

// The parts of PJRT's C interface that the hook uses (openxla/xla, xla/pjrt/c/pjrt_c_api.h, Apache
// License 2.0). Structures grow only at their end, so these prefixes hold for all versions 0.x.
typedef struct {
	size_t size;
	void *extension;
	struct { size_t size; void *extension; int major, minor; } version;
	void *calls[57]; // the first 57 calls, by the numbers below
} pjrt_api;

typedef struct {
	size_t size;
	void *extension;
	char *code;
	size_t code_size;
	const char *format;
	size_t format_size;
} pjrt_program;

typedef struct {
	size_t size;
	void *extension;
	void *client;
	const pjrt_program *program;
	const char *options;
	size_t options_size;
	void *executable; // out
} compile_args;

typedef struct {
	size_t size;
	void *extension;
	void *client;
	const char *serialized;
	size_t serialized_size;
	void *executable; // out
	const char *options;
	size_t options_size;
} load_args;

typedef struct {
	size_t size;
	void *extension;
	void *loaded;
	void *executable; // out
} get_executable_args;

typedef struct {
	size_t size;
	void *extension;
	const void *executable;
	const char *bytes; // out
	size_t bytes_size;  // out
	void *serialized;  // out
	void (*destroy)(void *serialized); // out
} serialize_args;

typedef struct {
	size_t size;
	void *extension;
	void *object;
} destroy_args;

// Indices in pjrt_api.calls.
enum {
	ERROR_DESTROY = 0,
	CLIENT_COMPILE = 20,
	EXECUTABLE_DESTROY = 40,
	EXECUTABLE_SERIALIZE = 49,
	GET_EXECUTABLE = 51,
	DESERIALIZE_AND_LOAD = 56,
};

typedef void *(*call)(void *args); // returns a PJRT_Error, or NULL on success

static const pjrt_api *plugin; // the plugin's own table

static void *do_call(int number, void *args) { return ((call)plugin->calls[number])(args); }

static void free_error(void *error) {
	destroy_args args = {sizeof args, NULL, error};
	do_call(ERROR_DESTROY, &args);
}

// load makes an executable from a cache entry. It returns 0 if the entry cannot be loaded.
static int load(compile_args *args, const char *bytes, size_t size) {
	load_args l = {sizeof l, NULL, args->client, bytes, size, NULL, NULL, 0};
	void *error = do_call(DESERIALIZE_AND_LOAD, &l);
	if (error) {
		free_error(error);
		return 0;
	}
	args->executable = l.executable;
	return 1;
}

// store hands a compiled program to the cache. Programs that cannot be serialized are not stored.
static void store(compile_args *args, unsigned char *key) {
	get_executable_args g = {sizeof g, NULL, args->executable, NULL};
	void *error = do_call(GET_EXECUTABLE, &g);
	if (error) {
		free_error(error);
		return;
	}
	serialize_args s = {sizeof s, NULL, g.executable, NULL, 0, NULL, NULL};
	error = do_call(EXECUTABLE_SERIALIZE, &s);
	if (error) {
		free_error(error);
	} else {
		diskcachePut(key, (void *)s.bytes, s.bytes_size);
		if (s.destroy) s.destroy(s.serialized);
	}
	destroy_args d = {sizeof d, NULL, g.executable};
	error = do_call(EXECUTABLE_DESTROY, &d);
	if (error) free_error(error);
}

// compile replaces PJRT_Client_Compile.
//
// All locals whose addresses are passed to Go are initialised: Go's write barrier reads the values
// that it overwrites.
static void *compile(compile_args *args) {
	unsigned char key[32] = {0};
	void *bytes = NULL, *options = NULL;
	size_t size = 0, options_size = 0;
	const pjrt_program *p = args->program;
	const char *given = args->options;
	size_t given_size = args->options_size;
	diskcacheOptions(p->code, p->code_size, (void *)given, given_size, &options, &options_size);
	args->options = options;
	args->options_size = options_size;
	int stores = diskcacheGet(p->code, p->code_size, options, options_size, key, &bytes, &size), loaded = 0;
	if (bytes) {
		loaded = load(args, bytes, size);
		free(bytes);
		diskcacheLoaded(key, loaded);
	}
	void *error = loaded ? NULL : do_call(CLIENT_COMPILE, args);
	if (stores && !loaded && !error) store(args, key);
	args->options = given;
	args->options_size = given_size;
	free(options);
	return error;
}

uintptr_t hook_plugin(const char *path) {
	static pjrt_api *hooked; // a process can hook one plugin
	if (hooked) return 0;
	void *library = dlopen(path, RTLD_LAZY);
	if (!library) return 0;
	const pjrt_api *(*get)(void) = (const pjrt_api *(*)(void))dlsym(library, "GetPjrtApi");
	if (!get) return 0;
	const pjrt_api *api = get();
	if (!api || api->version.major != 0 || api->size < sizeof(pjrt_api)) return 0;
	if (!(hooked = malloc(api->size))) return 0;
	memcpy(hooked, api, api->size);
	plugin = api;
	hooked->calls[CLIENT_COMPILE] = (void *)compile;
	return (uintptr_t)hooked;
}
