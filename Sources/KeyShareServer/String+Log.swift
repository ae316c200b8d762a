internal import Diagnostics

extension String {
    /// The string prepared for a log line: at most 96 scalars, with terminal control characters spelled out.
    ///
    /// Clients choose the logged strings. No string may imitate another line of the log.
    var logSafe: String { String(String.UnicodeScalarView(unicodeScalars.prefix(96))).visible }
}
