internal import Diagnostics

extension String {
    /// This text made fit for a log line: at most 96 scalars, with those that may steer a terminal spelled out.
    ///
    /// Peers choose the texts that are logged. Nothing in them may pass for another line of the log.
    var logSafe: String { String(String.UnicodeScalarView(unicodeScalars.prefix(96))).visible }
}
