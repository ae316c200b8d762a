// System calls that Swift cannot make through its Glibc module, because they are variadic or need _GNU_SOURCE.
#ifndef KEYSHARING_CLINUX_H
#define KEYSHARING_CLINUX_H

#include <stddef.h>
#include <stdint.h>

/// Asks the kernel which process is at the other end of a connected UNIX-domain socket (SO_PEERCRED, unix(7)).
/// Returns 0 and sets the three values, or returns the errno.
int clinux_peer_credentials(int descriptor, uint32_t *uid, uint32_t *gid, int32_t *pid);

/// Accepts a connection that waits at a listening socket, for this process alone (SOCK_CLOEXEC) and without blocking
/// calls (SOCK_NONBLOCK, accept4(2)). Returns the descriptor, which the caller closes, or the negative errno.
int clinux_accept(int listening);

/// Keeps secrets of this process out of core dumps (RLIMIT_CORE, setrlimit(2)), and keeps other processes of the user
/// from tracing it (PR_SET_DUMPABLE, prctl(2)). A crash ends the process at once, without Swift's backtrace.
/// Returns 0, or the errno.
int clinux_refuse_core_dumps(void);

/// Counts the columns of a terminal that a character takes (wcwidth(3), in the locale C.UTF-8): 0 for a combining
/// character, 2 for a wide one; 1 where that is not known.
int clinux_column_count(uint32_t character);

/// Gives a file or folder a name that nothing has (RENAME_NOREPLACE, renameat2(2)). Returns 0, or the errno: EEXIST where
/// the name is taken, EINVAL or ENOSYS where the file system cannot do it.
int clinux_rename_to_free(const char *source, const char *target);

/// Swaps the names of two files or folders (RENAME_EXCHANGE, renameat2(2)). Returns 0, or the errno: EINVAL or ENOSYS
/// where the file system cannot do it.
int clinux_swap_names(const char *first, const char *second);

/// Asks the kernel who owns a TCP socket of this machine (sock_diag(7)): the one at `source` that is connected to `target`.
/// An address is that of IPv4 in 4 bytes (family AF_INET) or of IPv6 in 16 (AF_INET6), a port in the machine's order.
/// Returns 0 and sets the user, or returns the errno: ENOENT where there is no such socket.
int clinux_tcp_owner(
    int family, const uint8_t *source, uint16_t source_port, const uint8_t *target, uint16_t target_port,
    uint32_t *uid);

/// What a contained process may use: each limit is the soft and the hard one (setrlimit(2)).
struct clinux_limits {
    /// Private memory that can be written, in bytes (RLIMIT_DATA), which counts what is committed and not what is only
    /// reserved, as Java and Node reserve much.
    uint64_t data;
    /// The size of a file that is written, in bytes (RLIMIT_FSIZE).
    uint64_t file_size;
    /// Processor time of one process, in seconds (RLIMIT_CPU).
    uint64_t processor_seconds;
};

/// Starts a program as the leader of a process group of its own, with limits, without core dumps, and with the signals
/// and the mask that a shell gives a program. The kernel kills it when the thread that called this ends
/// (PR_SET_PDEATHSIG, prctl(2)), so that the caller has to wait for it on this thread.
///
/// `arguments` and `environment` end in NULL. `input`, `output` and `errors` become the standard descriptors; every other
/// descriptor must be closed on exec. Returns 0 and sets `process`, or returns the errno, that of execve(2) included.
int clinux_spawn_contained(
    const char *path, char *const arguments[], char *const environment[], const char *folder, int input, int output,
    int errors, const struct clinux_limits *limits, int32_t *process);

/// A descriptor that can be read once the process has ended (pidfd_open(2)); negative where there is none.
int clinux_process_descriptor(int32_t process);

/// Asks the scheduler to let the calling thread run soon after it wakes up, by turns of so many nanoseconds: whoever wants
/// less at a time comes sooner, and gets no more in all (sched_setattr(2), since Linux 6.12; older ones ignore the
/// length). A call that asks a second time for the length that the thread has costs nothing. Returns 0, or the errno.
int clinux_prefer_short_turns(uint64_t nanoseconds);

/// A write to a socket that does not block.
struct clinux_write {
    /// The socket.
    int descriptor;
    /// The bytes, which the caller owns.
    const void *bytes;
    size_t count;
    /// Set by `clinux_write_all`: the number of bytes that the kernel took, or the negative errno.
    int64_t written;
};

/// Opens a queue of the kernel through which up to `limit` writes are made by one call (io_setup(2)). Returns 0 and sets
/// `queue`, which `clinux_close_write_queue` closes, or returns the errno: ENOSYS or EPERM where the system permits no
/// queue, EAGAIN where it has too many.
int clinux_open_write_queue(uint32_t limit, uint64_t *queue);

/// Closes a queue; 0 is none.
void clinux_close_write_queue(uint64_t queue);

/// Makes all writes, and sets what became of each. With a queue that is one system call for as many as the queue's limit
/// (io_submit(2)): whoever waits for the bytes runs once all of them are written, and not in between. Without one, with
/// `queue` 0, each is a send(2). A queue that does not tell what became of a write is closed and set to 0; such a write has
/// the outcome -EIO and may have been made. The signal SIGPIPE must be ignored.
void clinux_write_all(uint64_t *queue, struct clinux_write *writes, uint32_t count);

/// Makes this process the parent of what its descendants leave behind (PR_SET_CHILD_SUBREAPER, prctl(2)). Returns 0, or
/// the errno.
int clinux_adopt_orphans(void);

/// Returns the value of an environment variable, which the environment owns; a null pointer where it is not set, and in a
/// program that runs with more rights than its caller (secure_getenv(3)).
const char *clinux_secure_environment(const char *name);

#endif
