// Makes a selected system call on the device's files fail, for scripts/hardening; preloaded into a command.
//
//   FAULT_FOLDER   calls on files below this folder count, and no others
//   FAULT_CONTROL  a file of three 64-bit numbers, shared with the script: the number of calls,
//                  the one that fails (counted from 1; 0 if no call fails), and how it fails: 0 EIO, 1 ENOSPC, 2
//                  EMFILE, 3 short, which reads or writes half of the bytes
//   FAULT_NOSYNC   set: no data is ever synchronized to disk (the power cut's control)
//
// Only possible failures are counted: a call that reads cannot fail with a full disk.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum kind { IO, FULL, DESCRIPTORS, SHORT };
enum { READS = 1 << IO | 1 << SHORT, WRITES = 1 << IO | 1 << FULL | 1 << SHORT, CHANGES = 1 << IO | 1 << FULL,
    OPENS = 1 << IO | 1 << DESCRIPTORS };

static struct control {
    _Atomic int64_t calls, chosen, kind;
} none, *control = &none;
static int no_sync;
static char folder[4096];

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("FAULT_FOLDER"), *shared = getenv("FAULT_CONTROL");
    no_sync = getenv("FAULT_NOSYNC") != NULL;
    if (path) strncpy(folder, path, sizeof folder - 1);
    int descriptor = shared ? open(shared, O_RDWR | O_CLOEXEC) : -1;
    if (descriptor < 0) return;
    void *memory = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (memory != MAP_FAILED) control = memory;
    close(descriptor);
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

// Counts this call; returns its error, 0 for none, or -1 to transfer half of the bytes.
static int strike(int ours, int kinds) {
    if (!ours || !(kinds & 1 << control->kind) || ++control->calls != control->chosen) return 0;
    switch (control->kind) {
    case FULL: return ENOSPC;
    case DESCRIPTORS: return EMFILE;
    case SHORT: return -1;
    default: return EIO;
    }
}

#define REAL(name) \
    static __typeof__(&name) real; \
    if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

#define FAIL(ours, kinds) \
    int error = strike(ours, kinds); \
    if (error > 0) { \
        errno = error; \
        return -1; \
    }

#define MOVER(name, kinds, parameters, ...) \
    ssize_t name parameters { \
        REAL(name); \
        FAIL(is_our_descriptor(descriptor), kinds) \
        if (error < 0 && count > 1) count /= 2; \
        return real(__VA_ARGS__); \
    }

MOVER(read, READS, (int descriptor, void *bytes, size_t count), descriptor, bytes, count)
MOVER(pread, READS, (int descriptor, void *bytes, size_t count, off_t offset), descriptor, bytes, count, offset)
MOVER(pread64, READS, (int descriptor, void *bytes, size_t count, off64_t offset), descriptor, bytes, count, offset)
MOVER(write, WRITES, (int descriptor, const void *bytes, size_t count), descriptor, bytes, count)
MOVER(pwrite, WRITES, (int descriptor, const void *bytes, size_t count, off_t offset), descriptor, bytes, count, offset)
MOVER(pwrite64, WRITES, (int descriptor, const void *bytes, size_t count, off64_t offset), descriptor, bytes, count, offset)

#define PLAIN(name, parameters, is_sync, ...) \
    int name parameters { \
        REAL(name); \
        if (is_sync && no_sync && is_our_descriptor(descriptor)) return 0; \
        FAIL(is_our_descriptor(descriptor), CHANGES) \
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
        FAIL(is_ours(path), flags & O_CREAT ? OPENS | CHANGES : OPENS) \
        return real(path, flags, mode); \
    }

OPENER(open)
OPENER(open64)

int rename(const char *from, const char *to) {
    REAL(rename);
    FAIL(is_ours(from), CHANGES)
    return real(from, to);
}
