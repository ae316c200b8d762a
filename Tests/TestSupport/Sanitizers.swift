import Foundation

/// The sanitizer that the tests were built with, if any (scripts/sanitize).
package enum Sanitizers {
    /// Whether this is the thread sanitizer, whose runtime maps additional files when a command starts.
    package static let areThreads = ProcessInfo.processInfo.environment["TSAN_OPTIONS"] != nil
}
