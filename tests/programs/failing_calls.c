// For lab/break: an LD_PRELOAD library that makes the n-th call of a kind fail in the process started with it.
//   LD_PRELOAD=libfailing_calls.so FAILING_CALLS=write FAILING_FROM=3 FAILING_TO=3 FAILING_ERROR=28 attnprobe matrix …
// With FAILING_TO=0 every call from the n-th on fails, as on a full disk. FAILING_COUNT=FILE receives the
// number of calls at the end; with FAILING_FROM=0 none fails. Child processes are not affected, because the library
// removes itself from the environment. Calls inside the C library (the stack of a thread, fopen's open) are not seen,
// so threads and fopen are separate kinds.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static char failing_kind[16];
static char count_file[4096];
static long first_failing, last_failing;
static int error_number;
static int is_counted;
static atomic_long calls;

__attribute__((constructor)) static void read_environment(void) {
  const char* kind = getenv("FAILING_CALLS");
  const char* file = getenv("FAILING_COUNT");
  const char* from = getenv("FAILING_FROM");
  const char* to = getenv("FAILING_TO");
  const char* number = getenv("FAILING_ERROR");
  if (kind == NULL) return;
  snprintf(failing_kind, sizeof failing_kind, "%s", kind);
  if (file != NULL) snprintf(count_file, sizeof count_file, "%s", file);
  first_failing = from == NULL ? 0 : atol(from);
  last_failing = to == NULL ? first_failing : atol(to);
  error_number = number == NULL ? EIO : atoi(number);
  is_counted = 1;
  unsetenv("LD_PRELOAD");
  unsetenv("FAILING_CALLS");
  unsetenv("FAILING_COUNT");
}

// Made as a direct system call, so that this write is not counted.
__attribute__((destructor)) static void write_count(void) {
  if (!is_counted || count_file[0] == '\0') return;
  char text[32];
  const int size = snprintf(text, sizeof text, "%ld\n", atomic_load(&calls));
  const long file = syscall(SYS_openat, AT_FDCWD, count_file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (file < 0) return;
  syscall(SYS_write, file, text, size);
  syscall(SYS_close, file);
}

static int fails(const char* kind) {
  if (!is_counted || strcmp(kind, failing_kind) != 0) return 0;
  const long number = atomic_fetch_add(&calls, 1) + 1;
  if (first_failing == 0 || number < first_failing || (last_failing != 0 && number > last_failing)) return 0;
  errno = error_number;
  return 1;
}

// The wrapped function.
#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define STAND_BEFORE(kind, result, failure, name, parameters, arguments) \
  result name parameters {                                               \
    if (fails(kind)) return failure;                                     \
    return NEXT(name) arguments;                                         \
  }

// Standard error never fails, because it must show the message about a full disk.
ssize_t write(int file, const void* data, size_t size) {
  if (file != STDERR_FILENO && fails("write")) return -1;
  return NEXT(write)(file, data, size);
}
STAND_BEFORE("write", ssize_t, -1, writev, (int file, const struct iovec* parts, int count), (file, parts, count))
STAND_BEFORE("write", ssize_t, -1, pwrite, (int file, const void* data, size_t size, off_t at), (file, data, size, at))
STAND_BEFORE("write", ssize_t, -1, pwrite64, (int file, const void* data, size_t size, off64_t at),
             (file, data, size, at))
STAND_BEFORE("write", int, -1, ftruncate, (int file, off_t size), (file, size))
STAND_BEFORE("write", int, -1, ftruncate64, (int file, off64_t size), (file, size))
STAND_BEFORE("fsync", int, -1, fsync, (int file), (file))
STAND_BEFORE("fsync", int, -1, fdatasync, (int file), (file))
STAND_BEFORE("rename", int, -1, rename, (const char* from, const char* to), (from, to))
STAND_BEFORE("rename", int, -1, renameat, (int old, const char* from, int folder, const char* to),
             (old, from, folder, to))
STAND_BEFORE("process", pid_t, -1, fork, (void), ())
STAND_BEFORE("process", int, error_number, posix_spawn,
             (pid_t * child, const char* path, const posix_spawn_file_actions_t* actions,
              const posix_spawnattr_t* attributes, char* const words[], char* const variables[]),
             (child, path, actions, attributes, words, variables))
STAND_BEFORE("thread", int, error_number, pthread_create,
             (pthread_t * thread, const pthread_attr_t* attributes, void* (*start)(void*), void* argument),
             (thread, attributes, start, argument))
STAND_BEFORE("mmap", void*, MAP_FAILED, mmap,
             (void* at, size_t size, int protection, int flags, int file, off_t offset),
             (at, size, protection, flags, file, offset))
STAND_BEFORE("mmap", void*, MAP_FAILED, mmap64,
             (void* at, size_t size, int protection, int flags, int file, off64_t offset),
             (at, size, protection, flags, file, offset))
STAND_BEFORE("pipe", int, -1, pipe, (int ends[2]), (ends))
STAND_BEFORE("pipe", int, -1, pipe2, (int ends[2], int flags), (ends, flags))
STAND_BEFORE("pipe", int, -1, socketpair, (int family, int type, int protocol, int ends[2]),
             (family, type, protocol, ends))
STAND_BEFORE("pipe", int, -1, memfd_create, (const char* name, unsigned flags), (name, flags))
STAND_BEFORE("fopen", FILE*, NULL, fopen, (const char* path, const char* mode), (path, mode))
STAND_BEFORE("fopen", FILE*, NULL, fopen64, (const char* path, const char* mode), (path, mode))

// Only calls that create a file have a mode.
static mode_t mode_of(int flags, va_list rest) {
  return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(rest, mode_t) : 0;
}

#define STAND_BEFORE_OPEN(name, parameters, arguments) \
  int name parameters {                                \
    va_list rest;                                      \
    va_start(rest, flags);                             \
    const mode_t mode = mode_of(flags, rest);          \
    va_end(rest);                                      \
    if (fails("open")) return -1;                      \
    return NEXT(name) arguments;                       \
  }

STAND_BEFORE_OPEN(open, (const char* path, int flags, ...), (path, flags, mode))
STAND_BEFORE_OPEN(open64, (const char* path, int flags, ...), (path, flags, mode))
STAND_BEFORE_OPEN(openat, (int folder, const char* path, int flags, ...), (folder, path, flags, mode))
STAND_BEFORE_OPEN(openat64, (int folder, const char* path, int flags, ...), (folder, path, flags, mode))
