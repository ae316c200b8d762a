// The system calls that Swift's Glibc overlay cannot express: variadic ones and those behind _GNU_SOURCE.
#ifndef KEYSHARING_CLINUX_H
#define KEYSHARING_CLINUX_H

#include <stdint.h>

/// The kernel's word for who is at the other end of a connected UNIX-domain socket (SO_PEERCRED).
/// Returns 0 and fills the three values, or the errno.
int clinux_peer_credentials(int descriptor, uint32_t *uid, uint32_t *gid, int32_t *pid);

/// Keeps this process out of core dumps and away from ptrace by its own uid
/// (PR_SET_DUMPABLE 0, RLIMIT_CORE 0); a crash ends it at once, without a backtrace of its memory.
/// Returns 0 or the errno.
int clinux_refuse_core_dumps(void);

#endif
