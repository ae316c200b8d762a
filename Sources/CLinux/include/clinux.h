// System calls that Swift cannot make through its Glibc module, because they are variadic or need _GNU_SOURCE.
#ifndef KEYSHARING_CLINUX_H
#define KEYSHARING_CLINUX_H

#include <stdint.h>

/// Asks the kernel which process is at the other end of a connected UNIX-domain socket (SO_PEERCRED, unix(7)).
/// Returns 0 and sets the three values, or returns the errno.
int clinux_peer_credentials(int descriptor, uint32_t *uid, uint32_t *gid, int32_t *pid);

/// Keeps secrets of this process out of core dumps (RLIMIT_CORE, setrlimit(2)), and keeps other processes of the user
/// from tracing it (PR_SET_DUMPABLE, prctl(2)). A crash ends the process at once, without Swift's backtrace.
/// Returns 0, or the errno.
int clinux_refuse_core_dumps(void);

#endif
