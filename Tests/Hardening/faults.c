// Makes a chosen system call on the device's files fail, for scripts/hardening; preloaded into a command.
//
//   FAULT_FOLDER  calls on files below this folder count, and no others
//   FAULT_CALL    the one that fails, counted from 1; 0 counts only
//   FAULT_KIND    EIO, ENOSPC, EMFILE, or short: half of the bytes are written
//   FAULT_NOSYNC  set: nothing is ever brought to disk (the power cut's control)
//   FAULT_COUNT   a file that gets the number of calls at the end
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_long calls;
static long chosen;
static int error_number, is_short, no_sync;
static char folder[4096];
static const char *count_path;

__attribute__((constructor)) static void begin(void) {
    const char *kind = getenv("FAULT_KIND"), *call = getenv("FAULT_CALL"), *path = getenv("FAULT_FOLDER");
    chosen = call ? atol(call) : 0;
    no_sync = getenv("FAULT_NOSYNC") != NULL;
    count_path = getenv("FAULT_COUNT");
    if (path) strncpy(folder, path, sizeof folder - 1);
    if (!kind) kind = "EIO";
    is_short = strcmp(kind, "short") == 0;
    error_number = !strcmp(kind, "ENOSPC") ? ENOSPC : !strcmp(kind, "EMFILE") ? EMFILE : EIO;
}

__attribute__((destructor)) static void end(void) {
    if (!count_path) return;
    FILE *file = fopen(count_path, "w");
    if (file) {
        fprintf(file, "%ld\n", (long)calls);
        fclose(file);
    }
}

static int is_ours(const char *path) {
    return folder[0] && strncmp(path, folder, strlen(folder)) == 0;
}

static int is_our_descriptor(int descriptor) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0) return 0;
    path[length] = 0;
    return is_ours(path);
}

// Whether this call is the one; counts it.
static int strikes(int ours) { return ours && ++calls == chosen; }

#define REAL(name) \
    static __typeof__(&name) real; \
    if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

#define WRITER(name, parameters, ...) \
    ssize_t name parameters { \
        REAL(name); \
        if (strikes(is_our_descriptor(descriptor))) { \
            if (!is_short) { \
                errno = error_number; \
                return -1; \
            } \
            if (count > 1) count /= 2; \
        } \
        return real(__VA_ARGS__); \
    }

WRITER(write, (int descriptor, const void *bytes, size_t count), descriptor, bytes, count)
WRITER(pwrite, (int descriptor, const void *bytes, size_t count, off_t offset), descriptor, bytes, count, offset)
WRITER(pwrite64, (int descriptor, const void *bytes, size_t count, off64_t offset), descriptor, bytes, count, offset)

#define PLAIN(name, parameters, is_sync, ...) \
    int name parameters { \
        REAL(name); \
        if (is_sync && no_sync && is_our_descriptor(descriptor)) return 0; \
        if (!is_short && strikes(is_our_descriptor(descriptor))) { \
            errno = error_number; \
            return -1; \
        } \
        return real(__VA_ARGS__); \
    }

PLAIN(fsync, (int descriptor), 1, descriptor)
PLAIN(fdatasync, (int descriptor), 1, descriptor)
PLAIN(ftruncate, (int descriptor, off_t length), 0, descriptor, length)
PLAIN(ftruncate64, (int descriptor, off64_t length), 0, descriptor, length)

#define OPENER(name) \
    int name(const char *path, int flags, ...) { \
        REAL(name); \
        va_list list; \
        va_start(list, flags); \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0; \
        va_end(list); \
        if (!is_short && strikes(is_ours(path))) { \
            errno = error_number; \
            return -1; \
        } \
        return real(path, flags, mode); \
    }

OPENER(open)
OPENER(open64)

int rename(const char *from, const char *to) {
    REAL(rename);
    if (!is_short && strikes(is_ours(from))) {
        errno = error_number;
        return -1;
    }
    return real(from, to);
}
