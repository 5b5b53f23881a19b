#include <stdint.h>

// hook_plugin opens a plugin's library and returns a copy of its table of calls in which the
// compile call looks in the cache first, or 0.
uintptr_t hook_plugin(const char *path);
