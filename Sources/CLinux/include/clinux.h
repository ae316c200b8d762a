// System calls that Swift cannot make through its Glibc module, because they are variadic or need _GNU_SOURCE.
#ifndef KEYSHARING_CLINUX_H
#define KEYSHARING_CLINUX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Asks the kernel for the process at the other end of a connected Unix domain socket (SO_PEERCRED, unix(7)). Returns
/// 0 and sets the three values, or returns the errno.
int clinux_peer_credentials(int descriptor, uint32_t *uid, uint32_t *gid, int32_t *pid);

/// Accepts a pending connection of a listening socket, close-on-exec (SOCK_CLOEXEC) and non-blocking (SOCK_NONBLOCK,
/// accept4(2)). Returns the descriptor, which the caller closes, or the negative errno.
int clinux_accept(int listening);

/// Excludes this process from core dumps (RLIMIT_CORE, setrlimit(2)), and prevents other processes of the user from
/// tracing it (PR_SET_DUMPABLE, prctl(2)). A crash ends the process immediately, without Swift's backtrace. Returns 0,
/// or the errno.
int clinux_refuse_core_dumps(void);

/// Returns the number of terminal columns of a character (wcwidth(3), in the locale C.UTF-8): 0 for a combining
/// character, 2 for a wide one, 1 if unknown.
int clinux_column_count(uint32_t character);

/// Returns whether the bytes contain a pattern (memmem(3)), in a time proportional to their number.
bool clinux_contains(const void *bytes, size_t count, const void *pattern, size_t pattern_count);

/// Renames a file or folder to an unused name (RENAME_NOREPLACE, renameat2(2)). Returns 0, or the errno: EEXIST if the
/// name is in use, EINVAL or ENOSYS if the file system does not support it.
int clinux_rename_to_free(const char *source, const char *target);

/// Swaps the names of two files or folders (RENAME_EXCHANGE, renameat2(2)). Returns 0, or the errno: EINVAL or ENOSYS
/// if the file system does not support it.
int clinux_swap_names(const char *first, const char *second);

/// Asks the kernel which user owns the other end of a TCP connection within this machine (sock_diag(7)). A TCP socket has
/// no SO_PEERCRED. Returns 0 and sets the user, or returns the errno: ENOENT if the other end is closed or is on another
/// machine.
int clinux_tcp_peer_owner(int connection, uint32_t *uid);

/// Resource limits of a contained process; each is both the soft and the hard limit (setrlimit(2)).
struct clinux_limits {
    /// Private writable memory in bytes (RLIMIT_DATA). It counts committed memory, not reserved address space, because
    /// Java and Node reserve much.
    uint64_t data;
    /// The maximum size of a written file, in bytes (RLIMIT_FSIZE).
    uint64_t file_size;
    /// Processor time of one process, in seconds (RLIMIT_CPU).
    uint64_t processor_seconds;
};

/// An event that the keeper of a contained program reports.
struct clinux_contained_event {
    /// 0 if the program ended, and 1 if it could not be started.
    int32_t kind;
    /// The wait status of the program (wait(2)), or the errno.
    int32_t value;
};

/// Forks a keeper, a process that starts a program and adopts all processes that the program leaves running
/// (PR_SET_CHILD_SUBREAPER, prctl(2)). No descendant of the program can leave the tree below the keeper while the
/// keeper is alive. The keeper reaps its children, and ends when the last one has ended.
///
/// The program leads a process group of its own and runs with limits, without core dumps, and with the signals and the
/// mask that a shell gives a program. The kernel kills the keeper when the thread that called this ends
/// (PR_SET_PDEATHSIG, prctl(2)), and the program when the keeper ends. The caller therefore waits on this thread.
///
/// `arguments` and `environment` end in NULL. `input`, `output` and `errors` become the standard descriptors; every other
/// descriptor must be closed on exec. Returns 0 and sets `keeper`, a child of the caller, and `events`, a descriptor from
/// which the caller reads one `clinux_contained_event`; or returns the errno. The caller closes `events`.
int clinux_spawn_contained(
    const char *path, char *const arguments[], char *const environment[], const char *folder, int input, int output,
    int errors, const struct clinux_limits *limits, int32_t *keeper, int *events);

/// Asks the scheduler for short time slices of this length for the calling thread, so that it runs soon after it wakes
/// up; its total share stays the same (sched_setattr(2), since Linux 6.12; older kernels ignore the length). A
/// repeated call with the thread's current length costs nothing. Returns 0, or the errno.
int clinux_prefer_short_turns(uint64_t nanoseconds);

/// A non-blocking write to a socket.
struct clinux_write {
    /// The socket.
    int descriptor;
    /// The bytes, which the caller owns.
    const void *bytes;
    size_t count;
    /// Set by `clinux_write_all`: the number of bytes that the kernel accepted, or the negative errno.
    int64_t written;
};

/// Opens a kernel queue that submits up to `limit` writes with one call (io_setup(2)). Returns 0 and sets `queue`,
/// which `clinux_close_write_queue` closes, or returns the errno: ENOSYS or EPERM if the system permits no queue,
/// EAGAIN if it has too many.
int clinux_open_write_queue(uint32_t limit, uint64_t *queue);

/// Closes a queue; 0 means no queue.
void clinux_close_write_queue(uint64_t queue);

/// Performs all writes and sets the outcome of each. With a queue, one system call submits as many writes as the
/// queue's limit (io_submit(2)), so a process that waits for the bytes runs after all of them are written. With
/// `queue` 0, each write is a send(2). If a queue does not report an outcome, it is closed and set to 0; that write
/// gets the outcome -EIO and may have been performed. The signal SIGPIPE must be ignored.
void clinux_write_all(uint64_t *queue, struct clinux_write *writes, uint32_t count);

/// Makes this process the parent of orphaned descendants (PR_SET_CHILD_SUBREAPER, prctl(2)). Returns 0, or the errno.
int clinux_adopt_orphans(void);

/// Turns off the echo of a terminal and its characters for signals (ECHO and ISIG, termios(3)), and discards what was
/// typed before. If SIGHUP, SIGINT, SIGQUIT or SIGTERM ends the process, the terminal is restored first. Only one thread
/// may do this at a time. Returns 0, or the errno.
int clinux_begin_silent_input(int terminal);

/// Restores the terminal and the signal actions that `clinux_begin_silent_input` changed.
void clinux_end_silent_input(void);

/// Returns the value of an environment variable, which the environment owns. Returns NULL if it is not set, or if the
/// program has more privileges than its caller (secure_getenv(3)).
const char *clinux_secure_environment(const char *name);

#endif
