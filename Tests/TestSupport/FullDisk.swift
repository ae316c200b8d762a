package import Glibc

/// A disk that takes no more, for tests in a process of their own.
package enum FullDisk {
    /// Runs `body` while no file grows past `limit` bytes: a limit on the size of files fails a write as a full
    /// disk does, part way through it.
    package static func whileFull(limit: rlim_t, _ body: () async throws -> Void) async rethrows {
        // By default the process would be killed.
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
