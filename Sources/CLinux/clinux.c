#define _GNU_SOURCE
#include "clinux.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

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

int clinux_refuse_core_dumps(void) {
    struct rlimit none = {0, 0};
    if (setrlimit(RLIMIT_CORE, &none) != 0) {
        return errno;
    }
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) {
        return errno;
    }
    // When a process crashes, Swift's runtime starts a program that reads its memory and prints a backtrace. That
    // program cannot attach any more, and the crashed process would wait for it for ever.
    const int crashes[] = {SIGQUIT, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP};
    for (unsigned i = 0; i < sizeof crashes / sizeof *crashes; i++) {
        if (signal(crashes[i], SIG_DFL) == SIG_ERR) {
            return errno;
        }
    }
    return 0;
}
