#include <stdint.h>

// hook_plugin opens the library of a plugin and returns a copy of its table of calls in which
// compiling asks the cache first, or 0.
uintptr_t hook_plugin(const char *path);
