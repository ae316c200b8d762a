import Foundation

/// Information for tests about the sanitizer of the build, if any (scripts/sanitize).
package enum Sanitizers {
    /// Whether it is the thread sanitizer, whose runtime maps files of its own when a command starts.
    package static let areThreads = ProcessInfo.processInfo.environment["TSAN_OPTIONS"] != nil
}
