#define _GNU_SOURCE
#include "clinux.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <locale.h>
#include <signal.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

int clinux_peer_credentials(int descriptor, uint32_t *uid, uint32_t *gid, int32_t *pid) {
    struct ucred credentials;
    socklen_t length = sizeof credentials;
    if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) {
        return errno;
    }
    *uid = credentials.uid;
    *gid = credentials.gid;
    *pid = credentials.pid;
    return 0;
}

int clinux_accept(int listening) {
    int descriptor = accept4(listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    return descriptor < 0 ? -errno : descriptor;
}

int clinux_refuse_core_dumps(void) {
    struct rlimit none = {0, 0};
    if (setrlimit(RLIMIT_CORE, &none) != 0) {
        return errno;
    }
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) {
        return errno;
    }
    // When a process crashes, Swift's runtime starts a program that reads its memory and prints a backtrace. That
    // program can no longer attach, and the crashed process would wait for it forever.
    const int crashes[] = {SIGQUIT, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP};
    for (unsigned i = 0; i < sizeof crashes / sizeof *crashes; i++) {
        if (signal(crashes[i], SIG_DFL) == SIG_ERR) {
            return errno;
        }
    }
    return 0;
}

int clinux_column_count(uint32_t character) {
    // wcwidth supports only the characters of the thread's locale, and a program starts in the locale "C".
    locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    if (utf8 == (locale_t)0) {
        return 1;
    }
    locale_t previous = uselocale(utf8);
    int count = wcwidth((wchar_t)character);
    uselocale(previous);
    freelocale(utf8);
    return count < 0 ? 1 : count;
}

bool clinux_contains(const void *bytes, size_t count, const void *pattern, size_t pattern_count) {
    return bytes != NULL && memmem(bytes, count, pattern, pattern_count) != NULL;
}

int clinux_rename_to_free(const char *source, const char *target) {
    return renameat2(AT_FDCWD, source, AT_FDCWD, target, RENAME_NOREPLACE) == 0 ? 0 : errno;
}

int clinux_swap_names(const char *first, const char *second) {
    return renameat2(AT_FDCWD, first, AT_FDCWD, second, RENAME_EXCHANGE) == 0 ? 0 : errno;
}

// Copies an address of IPv4 or IPv6 and its port into the fields of a request to sock_diag(7). Returns false for
// another family.
static bool copy_address(const struct sockaddr_storage *address, __be32 octets[4], __be16 *port) {
    if (address->ss_family == AF_INET) {
        const struct sockaddr_in *version4 = (const struct sockaddr_in *)address;
        memcpy(octets, &version4->sin_addr, sizeof version4->sin_addr);
        *port = version4->sin_port;
        return true;
    }
    if (address->ss_family == AF_INET6) {
        const struct sockaddr_in6 *version6 = (const struct sockaddr_in6 *)address;
        memcpy(octets, &version6->sin6_addr, sizeof version6->sin6_addr);
        *port = version6->sin6_port;
        return true;
    }
    return false;
}

int clinux_tcp_peer_owner(int connection, uint32_t *uid) {
    struct sockaddr_storage own, peer;
    socklen_t own_length = sizeof own, peer_length = sizeof peer;
    if (getsockname(connection, (struct sockaddr *)&own, &own_length) != 0 ||
        getpeername(connection, (struct sockaddr *)&peer, &peer_length) != 0) {
        return errno;
    }
    struct {
        struct nlmsghdr header;
        struct inet_diag_req_v2 request;
    } question;
    memset(&question, 0, sizeof question);
    question.header.nlmsg_len = sizeof question;
    question.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
    question.header.nlmsg_flags = NLM_F_REQUEST;
    question.request.sdiag_family = (uint8_t)peer.ss_family;
    question.request.sdiag_protocol = IPPROTO_TCP;
    question.request.idiag_states = ~0u;
    struct inet_diag_sockid *id = &question.request.id;
    // The peer's socket is the source of this connection.
    if (!copy_address(&peer, id->idiag_src, &id->idiag_sport) ||
        !copy_address(&own, id->idiag_dst, &id->idiag_dport)) {
        return EAFNOSUPPORT;
    }
    id->idiag_cookie[0] = INET_DIAG_NOCOOKIE;
    id->idiag_cookie[1] = INET_DIAG_NOCOOKIE;

    int netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (netlink < 0) {
        return errno;
    }
    union {
        struct nlmsghdr header;
        uint8_t bytes[4096];
    } answer;
    ssize_t count = send(netlink, &question, sizeof question, 0);
    if (count >= 0) {
        count = recv(netlink, &answer, sizeof answer, 0);
    }
    int reason = count < 0 ? errno : 0;
    close(netlink);
    if (reason != 0) {
        return reason;
    }
    if ((size_t)count < NLMSG_LENGTH(sizeof(struct inet_diag_msg)) || answer.header.nlmsg_type != SOCK_DIAG_BY_FAMILY) {
        return ENOENT;
    }
    struct inet_diag_msg message;
    memcpy(&message, NLMSG_DATA(&answer.header), sizeof message);
    // The kernel may return a listening socket of the port instead of the connected one.
    if (message.id.idiag_dport != id->idiag_dport) {
        return ENOENT;
    }
    // A socket that no process holds has no owner; the kernel names root for some of these.
    if (message.idiag_inode == 0) {
        return ENOENT;
    }
    *uid = message.idiag_uid;
    return 0;
}

// Runs between fork and execve, where only async-signal-safe calls are allowed (fork(2)).
static int prepare(
    const char *folder, int input, int output, int errors, const struct clinux_limits *limits, pid_t parent) {
    if (setpgid(0, 0) != 0 || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0) {
        return errno;
    }
    // The parent may have ended before prctl was called.
    if (getppid() != parent) {
        return ESRCH;
    }
    const struct { int resource; rlim_t value; } all[] = {
        {RLIMIT_DATA, limits->data}, {RLIMIT_FSIZE, limits->file_size}, {RLIMIT_CPU, limits->processor_seconds},
        {RLIMIT_CORE, 0}};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        struct rlimit limit = {all[i].value, all[i].value};
        if (setrlimit(all[i].resource, &limit) != 0) {
            return errno;
        }
    }
    if (dup2(input, 0) < 0 || dup2(output, 1) < 0 || dup2(errors, 2) < 0 || chdir(folder) != 0) {
        return errno;
    }
    for (int number = 1; number < NSIG; number++) {
        signal(number, SIG_DFL);
    }
    sigset_t none;
    sigemptyset(&none);
    return sigprocmask(SIG_SETMASK, &none, NULL) == 0 ? 0 : errno;
}

static void report(int events, int32_t kind, int32_t value) {
    struct clinux_contained_event event = {kind, value};
    ssize_t written;
    do {
        written = write(events, &event, sizeof event);
    } while (written < 0 && errno == EINTR);
}

// Closes every descriptor from 3 on but one. The keeper runs no other program, which would close them.
static void close_others(int kept) {
    int is_closed = (kept <= 3 || syscall(SYS_close_range, 3u, (unsigned)kept - 1, 0u) == 0)
        && syscall(SYS_close_range, (unsigned)kept + 1, ~0u, 0u) == 0;
    struct rlimit limit;
    if (is_closed || getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    for (rlim_t number = 3; number < limit.rlim_cur; number++) {
        if ((int)number != kept) close((int)number);
    }
}

int clinux_spawn_contained(
    const char *path, char *const arguments[], char *const environment[], const char *folder, int input, int output,
    int errors, const struct clinux_limits *limits, int32_t *keeper, int *events) {
    int pipe[2];
    if (pipe2(pipe, O_CLOEXEC) != 0) {
        return errno;
    }
    pid_t parent = getpid();
    // No handler of this process may run in the keeper, and no signal of the program ends the keeper.
    sigset_t every, before;
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &before);
    pid_t child = fork();
    int failure = child < 0 ? errno : 0;
    if (child != 0) {
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        close(pipe[1]);
        if (failure != 0) {
            close(pipe[0]);
            return failure;
        }
        *keeper = child;
        *events = pipe[0];
        return 0;
    }
    // Only async-signal-safe calls from here on (fork(2)). The keeper has a copy of this process's memory, which no other
    // process may read.
    int out = pipe[1];
    if (setpgid(0, 0) != 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0
        || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0) {
        report(out, 1, errno);
        _exit(1);
    }
    // The parent may have ended before the kernel was asked.
    if (getppid() != parent) _exit(1);
    pid_t self = getpid();
    pid_t leader = (pid_t)syscall(SYS_clone, (long)SIGCHLD, 0L, 0L, 0L, 0L);
    if (leader == 0) {
        failure = prepare(folder, input, output, errors, limits, self);
        if (failure == 0) {
            execve(path, arguments, environment);
            failure = errno;
        }
        report(out, 1, failure);
        _exit(127);
    }
    if (leader < 0) {
        report(out, 1, errno);
        _exit(1);
    }
    close_others(out);
    for (;;) {
        int status;
        pid_t ended = waitpid(-1, &status, 0);
        if (ended == leader) report(out, 0, status);
        if (ended < 0 && errno != EINTR) _exit(0);
    }
}

int clinux_adopt_orphans(void) {
    return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0 ? 0 : errno;
}

const char *clinux_secure_environment(const char *name) { return secure_getenv(name); }

int clinux_prefer_short_turns(uint64_t nanoseconds) {
    static _Thread_local uint64_t preferred;
    if (preferred == nanoseconds) return 0;
    // struct sched_attr of the first version of the call. Newer C libraries declare it, older ones do not.
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t runtime, deadline, period;
    } attributes = {.size = sizeof attributes};
    if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0)) return errno;
    attributes.runtime = nanoseconds;
    if (syscall(SYS_sched_setattr, 0, &attributes, 0)) return errno;
    preferred = nanoseconds;
    return 0;
}

int clinux_open_write_queue(uint32_t limit, uint64_t *queue) {
    aio_context_t context = 0;
    if (syscall(SYS_io_setup, limit, &context) != 0) return errno;
    *queue = context;
    return 0;
}

void clinux_close_write_queue(uint64_t queue) {
    if (queue != 0) syscall(SYS_io_destroy, (aio_context_t)queue);
}

enum { WRITES_AT_ONCE = 64 };

// Submits the first writes and returns how many of them the kernel accepted. Each of these has its outcome set.
static uint32_t submit(uint64_t *queue, struct clinux_write *writes, uint32_t count) {
    struct iocb blocks[WRITES_AT_ONCE], *pointers[WRITES_AT_ONCE];
    for (uint32_t i = 0; i < count; i++) {
        blocks[i] = (struct iocb){
            .aio_data = i,
            .aio_lio_opcode = IOCB_CMD_PWRITE,
            .aio_fildes = (uint32_t)writes[i].descriptor,
            .aio_buf = (uintptr_t)writes[i].bytes,
            .aio_nbytes = writes[i].count,
        };
        pointers[i] = &blocks[i];
        // The outcome is unknown: bytes may have been written, so the write must not be repeated.
        writes[i].written = -EIO;
    }
    long submitted = syscall(SYS_io_submit, (aio_context_t)*queue, (long)count, pointers);
    if (submitted < 0) return 0;
    for (long seen = 0; seen < submitted;) {
        // A write to a socket that does not block is complete when io_submit(2) returns, so this does not wait.
        struct io_event events[WRITES_AT_ONCE];
        long left = submitted - seen, more = syscall(SYS_io_getevents, (aio_context_t)*queue, left, left, events, NULL);
        if (more < 0 && errno == EINTR) continue;
        if (more <= 0) {
            // Outcomes that remain in the queue would be mistaken for those of later writes.
            clinux_close_write_queue(*queue);
            *queue = 0;
            break;
        }
        for (long i = 0; i < more; i++) writes[events[i].data].written = events[i].res;
        seen += more;
    }
    return (uint32_t)submitted;
}

void clinux_write_all(uint64_t *queue, struct clinux_write *writes, uint32_t count) {
    for (uint32_t made = 0; made < count;) {
        uint32_t left = count - made;
        if (*queue != 0 && left > 1) {
            uint32_t submitted = submit(queue, writes + made, left < WRITES_AT_ONCE ? left : WRITES_AT_ONCE);
            if (submitted > 0) {
                made += submitted;
                continue;
            }
        }
        // The queue rejected the first remaining write, for example because its descriptor is closed.
        struct clinux_write *next = writes + made++;
        ssize_t written = send(next->descriptor, next->bytes, next->count, MSG_DONTWAIT | MSG_NOSIGNAL);
        next->written = written < 0 ? -errno : written;
    }
}

// The terminal with silent input, its settings before, and the actions of the signals before. They are written while
// the handler is not installed, except by the handler itself.
static int silent_terminal;
static struct termios silent_settings;
static const int ending_signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
enum { ENDING_SIGNALS = sizeof ending_signals / sizeof *ending_signals };
static struct sigaction ending_actions[ENDING_SIGNALS];

// Calls only functions that a signal handler may call (signal-safety(7)).
static void end_silent_input_and_process(int number) {
    int error = errno;
    clinux_end_silent_input();
    // The signal is blocked until this handler returns. It then has the action that it had before the prompt.
    raise(number);
    errno = error;
}

int clinux_begin_silent_input(int terminal) {
    if (tcgetattr(terminal, &silent_settings) != 0) return errno;
    silent_terminal = terminal;
    struct sigaction action = {.sa_handler = end_silent_input_and_process};
    for (int i = 0; i < ENDING_SIGNALS; i++) sigaddset(&action.sa_mask, ending_signals[i]);
    for (int i = 0; i < ENDING_SIGNALS; i++) {
        sigaction(ending_signals[i], NULL, &ending_actions[i]);
        // nohup(1), for example, ignores SIGHUP.
        if (ending_actions[i].sa_handler != SIG_IGN) sigaction(ending_signals[i], &action, NULL);
    }
    struct termios silent = silent_settings;
    silent.c_lflag &= ~(tcflag_t)(ECHO | ISIG);
    if (tcsetattr(terminal, TCSAFLUSH, &silent) == 0) return 0;
    int error = errno;
    clinux_end_silent_input();
    return error;
}

void clinux_end_silent_input(void) {
    tcsetattr(silent_terminal, TCSAFLUSH, &silent_settings);
    for (int i = 0; i < ENDING_SIGNALS; i++) sigaction(ending_signals[i], &ending_actions[i], NULL);
}
