/* A library that is preloaded and makes one allocation fail: number FAIL_ALLOC, counted from 1 in each process from where it handles
 * SIGABRT on. With FAIL_ALLOC_LEAST=N only allocations of N bytes and more count. The file FAIL_ALLOC_REPORT gets a line for each process
 * that counted: how many there were.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

static atomic_int counts;
static atomic_long count;
static long wanted;
static size_t least;

static int fails(size_t size)
{
	if (!atomic_load(&counts) || size < least)
		return 0;
	if (atomic_fetch_add(&count, 1) + 1 != wanted)
		return 0;
	errno = ENOMEM;
	return 1;
}

void *malloc(size_t size) { return fails(size) ? NULL : __libc_malloc(size); }
void *calloc(size_t n, size_t size) { return fails(n * size) ? NULL : __libc_calloc(n, size); }
void *realloc(void *old, size_t size) { return fails(size) ? NULL : __libc_realloc(old, size); }
void *memalign(size_t align, size_t size) { return fails(size) ? NULL : __libc_memalign(align, size); }
void *aligned_alloc(size_t align, size_t size) { return memalign(align, size); }

int posix_memalign(void **out, size_t align, size_t size)
{
	*out = memalign(align, size);
	return *out ? 0 : ENOMEM;
}

typedef void (*handler)(int);

handler signal(int number, handler to)
{
	handler (*real)(int, handler) = (handler(*)(int, handler))dlsym(RTLD_NEXT, "signal");
	handler before = real(number, to);
	if (number == SIGABRT && !atomic_load(&counts)) {
		const char *n = getenv("FAIL_ALLOC"), *from = getenv("FAIL_ALLOC_LEAST");
		wanted = n ? atol(n) : 0;
		least = from ? (size_t)atol(from) : 0;
		atomic_store(&counts, 1);
	}
	return before;
}

/* `_exit` and `exit` both end here. */
static void report(void)
{
	const char *path = getenv("FAIL_ALLOC_REPORT");
	if (!path || !atomic_exchange(&counts, 0))
		return;
	char line[32];
	int file = open(path, O_WRONLY | O_APPEND | O_CREAT, 0600);
	int length = snprintf(line, sizeof line, "%ld\n", atomic_load(&count));
	if (write(file, line, (size_t)length) < 0)
		abort();
	close(file);
}

void _exit(int code)
{
	report();
	void (*real)(int) = (void (*)(int))dlsym(RTLD_NEXT, "_exit");
	real(code);
	for (;;)
		;
}

__attribute__((destructor)) static void end(void) { report(); }
