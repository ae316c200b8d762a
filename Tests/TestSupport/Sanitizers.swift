import Foundation

/// What tests must know of the sanitizer that everything is built under, if any (scripts/sanitize).
package enum Sanitizers {
    /// Whether it is the thread sanitizer, whose runtime maps files of its own when a command starts.
    package static let areThreads = ProcessInfo.processInfo.environment["TSAN_OPTIONS"] != nil
}
