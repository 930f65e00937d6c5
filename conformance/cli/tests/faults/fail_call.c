/* Runs a program and makes one of its system calls fail.
 *
 *   fail_call read|write|rename NUMBER REPORT PROGRAM ARGUMENT...
 *
 * Calls of the class are counted from 1, in the program and in all processes that it starts, in each from where it handles SIGABRT on:
 * what comes before is the loader's and the runtime's. Call NUMBER is not made and returns EIO. REPORT gets a line: how many calls there
 * were, and which one failed. The exit code is the program's; 128 and the signal's number where one ended it.
 *
 * Linux on x86-64.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

/* A class of calls. `path`: where its first argument is a descriptor, or where a path stands. */
struct call {
	const char *class, *name;
	long number;
	int descriptor, path;
};

static const struct call CALLS[] = {
	{"read", "read", SYS_read, 0, -1},
	{"read", "pread64", SYS_pread64, 0, -1},
	{"read", "readv", SYS_readv, 0, -1},
	{"read", "openat", SYS_openat, -1, 1},
	{"read", "statx", SYS_statx, -1, 1},
	{"read", "newfstatat", SYS_newfstatat, -1, 1},
	{"read", "fstat", SYS_fstat, 0, -1},
	{"read", "lseek", SYS_lseek, 0, -1},
	{"read", "getdents64", SYS_getdents64, 0, -1},
	{"read", "mmap", SYS_mmap, 4, -1},
	{"write", "write", SYS_write, 0, -1},
	{"write", "writev", SYS_writev, 0, -1},
	{"write", "pwrite64", SYS_pwrite64, 0, -1},
	{"write", "ftruncate", SYS_ftruncate, 0, -1},
	{"write", "fsync", SYS_fsync, 0, -1},
	{"write", "fdatasync", SYS_fdatasync, 0, -1},
	{"rename", "rename", SYS_rename, -1, 1},
	{"rename", "renameat", SYS_renameat, -1, 3},
	{"rename", "renameat2", SYS_renameat2, -1, 3},
	{"rename", "linkat", SYS_linkat, -1, 3},
	{"rename", "mkdir", SYS_mkdir, -1, 0},
	{"rename", "fchmod", SYS_fchmod, 0, -1},
};

/* A thread of the program. */
struct thread {
	pid_t id;
	int counts, entered, fails;
};

enum { MOST = 4096 };
static struct thread threads[MOST];

static struct thread *find(pid_t id)
{
	struct thread *free = NULL;
	for (int i = 0; i < MOST; i++) {
		if (threads[i].id == id)
			return &threads[i];
		if (!free && !threads[i].id)
			free = &threads[i];
	}
	if (!free)
		exit(125);
	*free = (struct thread){.id = id};
	return free;
}

static unsigned long argument(const struct user_regs_struct *r, int at)
{
	const unsigned long all[] = {r->rdi, r->rsi, r->rdx, r->r10, r->r8, r->r9};
	return all[at];
}

/* What the call is about. */
static void describe(pid_t id, const struct call *call, const struct user_regs_struct *r, char *out, size_t size)
{
	if (call->descriptor >= 0) {
		char link[64];
		snprintf(link, sizeof link, "/proc/%d/fd/%d", id, (int)argument(r, call->descriptor));
		ssize_t n = readlink(link, out, size - 1);
		out[n > 0 ? n : 0] = 0;
		return;
	}
	size_t n = 0;
	unsigned long from = argument(r, call->path);
	while (n + sizeof(long) < size) {
		errno = 0;
		long word = ptrace(PTRACE_PEEKDATA, id, from + n, 0);
		if (errno)
			break;
		memcpy(out + n, &word, sizeof word);
		if (memchr(&word, 0, sizeof word))
			return;
		n += sizeof word;
	}
	out[n] = 0;
}

int main(int argc, char **argv)
{
	if (argc < 5)
		return 125;
	const char *class = argv[1];
	long wanted = atol(argv[2]), count = 0;
	char failed[PATH_MAX + 64] = "none";
	pid_t first = fork();
	if (first == 0) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		execvp(argv[4], argv + 4);
		_exit(127);
	}
	int status, code = 125;
	waitpid(first, &status, 0);
	ptrace(PTRACE_SETOPTIONS, first, 0,
	       PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |
		       PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC);
	find(first);
	ptrace(PTRACE_SYSCALL, first, 0, 0);
	pid_t id;
	while ((id = waitpid(-1, &status, __WALL)) > 0) {
		struct thread *t = find(id);
		if (WIFEXITED(status) || WIFSIGNALED(status)) {
			t->id = 0;
			if (id == first)
				code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
			continue;
		}
		int with = 0, stopped = WSTOPSIG(status), event = status >> 16;
		struct user_regs_struct r;
		if (event == PTRACE_EVENT_CLONE || event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK) {
			unsigned long new;
			ptrace(PTRACE_GETEVENTMSG, id, 0, &new);
			find((pid_t)new)->counts = t->counts;
		} else if (event == PTRACE_EVENT_EXEC) {
			t->counts = 0;
		} else if (stopped == (SIGTRAP | 0x80) && ptrace(PTRACE_GETREGS, id, 0, &r) == 0) {
			t->entered = !t->entered;
			long number = (long)r.orig_rax;
			if (!t->entered && t->fails) {
				t->fails = 0;
				r.rax = (unsigned long)-EIO;
				ptrace(PTRACE_SETREGS, id, 0, &r);
			} else if (t->entered && number == SYS_rt_sigaction && r.rdi == SIGABRT && r.rsi) {
				t->counts = 1;
			} else if (t->entered && t->counts) {
				for (size_t i = 0; i < sizeof CALLS / sizeof *CALLS; i++) {
					const struct call *call = &CALLS[i];
					if (call->number != number || strcmp(call->class, class))
						continue;
					/* Memory without a file is no read. */
					if (number == SYS_mmap && (int)r.r8 < 0)
						continue;
					if (++count == wanted) {
						char about[PATH_MAX];
						describe(id, call, &r, about, sizeof about);
						snprintf(failed, sizeof failed, "%s %s", call->name, about);
						t->fails = 1;
						r.orig_rax = (unsigned long)-1;
						ptrace(PTRACE_SETREGS, id, 0, &r);
					}
				}
			}
		} else if (stopped != SIGSTOP && stopped != SIGTRAP) {
			with = stopped;
		}
		ptrace(PTRACE_SYSCALL, id, 0, with);
	}
	FILE *report = fopen(argv[3], "w");
	if (!report)
		return 125;
	fprintf(report, "%ld %s\n", count, failed);
	fclose(report);
	return code;
}
