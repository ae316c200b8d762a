// Reports the acquisition and release of a contended `Mutex` to the thread sanitizer.
//
// The fast path of Synchronization.Mutex is compiled into its callers, including its atomics, so the sanitizer
// sees it. The slow path is in the standard library, which is not built with the sanitizer. There, the kernel
// transfers the lock (FUTEX_LOCK_PI), so the sanitizer would report every contended `withLock` as a race. The
// linker's --wrap redirects calls of the slow path to the functions below.
//
// Both functions are methods. `self`, the address of the lock's word, is in the register for Swift's context.

#include <stdint.h>

#define SELF __attribute__((swift_context)) void *
#define SWIFT __attribute__((swiftcall))

void __tsan_acquire(void *address);
void __tsan_release(void *address);

SWIFT void real_lock_slow(uint32_t thread, SELF self)
    __asm__("__real_$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF");
SWIFT void real_unlock_slow(SELF self)
    __asm__("__real_$s15Synchronization12_MutexHandleV11_unlockSlowyyF");

SWIFT void wrap_lock_slow(uint32_t thread, SELF self)
    __asm__("__wrap_$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF");
SWIFT void wrap_unlock_slow(SELF self)
    __asm__("__wrap_$s15Synchronization12_MutexHandleV11_unlockSlowyyF");

SWIFT void wrap_lock_slow(uint32_t thread, SELF self) {
    real_lock_slow(thread, self);
    __tsan_acquire(self);
}

SWIFT void wrap_unlock_slow(SELF self) {
    __tsan_release(self);
    real_unlock_slow(self);
}
