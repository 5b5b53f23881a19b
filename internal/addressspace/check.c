#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

// The smallest limit in bytes with which all commands start on two cores: the program maps 0.9 GB, and
// its threads as much again.
static const rlim_t least = 2000000000;

__attribute__((constructor)) static void check(void) {
	struct rlimit limit;
	if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur < least) {
		dprintf(STDERR_FILENO,
			"qdnb: this process may use %.1f GB of address space, and needs %.1f GB, or 3.1 GB with XLA: raise the "
			"limit, as with ulimit -v unlimited\n",
			limit.rlim_cur / 1e9, least / 1e9);
		_exit(1);
	}
}
