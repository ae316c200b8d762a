package import Glibc

/// A simulation of a full disk, for tests that have their own process.
package enum FullDisk {
    /// Runs `body` while no file can grow beyond `limit` bytes. This limit makes a write fail part way through, like a
    /// full disk.
    package static func whileFull(limit: rlim_t, _ body: () async throws -> Void) async rethrows {
        // By default, the signal would kill the process.
        _ = signal(SIGXFSZ, SIG_IGN)
        var size = rlimit(rlim_cur: limit, rlim_max: .max)
        _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &size)
        defer {
            size.rlim_cur = .max
            _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &size)
        }
        try await body()
    }
}
