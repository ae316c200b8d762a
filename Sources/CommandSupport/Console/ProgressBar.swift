internal import Foundation

/// The progress of a long operation: a bar on the terminal with numbers, rate and remaining time.
///
/// Does nothing if the console shows no progress. Call ``clear()`` at the end to remove the bar.
package struct ProgressBar {
    private let console: Console
    private let noun: String
    private let total: Int
    private let now: () -> ContinuousClock.Instant
    /// The first reported state and its time. Earlier work does not count towards the rate.
    private var start: (done: Int, time: ContinuousClock.Instant)?
    private var drawn: ContinuousClock.Instant?

    /// Creates a progress bar, which is not drawn yet.
    ///
    /// - Parameters:
    ///   - console: The console that the bar is drawn on.
    ///   - noun: The counted things, in the plural.
    ///   - total: The number at which the bar is full.
    ///   - now: The clock, which must be monotonic.
    package init(
        _ console: Console, _ noun: String, total: Int,
        now: @escaping () -> ContinuousClock.Instant = { ContinuousClock.now }
    ) {
        self.console = console
        self.noun = noun
        self.total = total
        self.now = now
    }

    /// Shows the number of completed steps, at most ten times a second.
    package mutating func show(_ done: Int) {
        guard console.hasProgress, let line = line(done) else { return }
        console.progress(line)
    }

    /// Removes the progress bar from the terminal.
    package func clear() {
        console.progress(nil)
    }

    /// Returns the line to draw; nil if the last update was too recent.
    mutating func line(_ done: Int) -> String? {
        let time = now()
        if let drawn, time - drawn < Self.interval { return nil }
        drawn = time
        let start = start ?? (done, time)
        self.start = start
        let elapsed = (time - start.time) / .seconds(1)
        let rate = elapsed > 0 ? Double(done - start.done) / elapsed : 0
        return Self.line(done, of: total, noun, rate: rate, columns: console.errorWidth ?? 80)
    }

    /// Returns a progress bar that fills the line, followed by its numbers.
    ///
    /// - Parameters:
    ///   - rate: Steps per second; zero if unknown.
    ///   - columns: The terminal's width.
    static func line(_ done: Int, of total: Int, _ noun: String, rate: Double, columns: Int) -> String {
        var text = "\(done.formatted(number)) of \(total.formatted(number)) \(noun)"
        if rate > 0 {
            let shown = rate < 10 ? String(format: "%.1f", rate) : Int(rate).formatted(number)
            text += ", \(shown)/s, \(duration(Double(max(total - done, 0)) / rate)) left"
        }
        // The last column stays free, because some terminals wrap after writing to it.
        let room = min(columns - 1 - text.count - 3, widest)
        guard room >= narrowest else { return String(text.prefix(max(columns - 1, 0))) }
        let filled = total > 0 ? min(max(done, 0), total) * room / total : room
        return "[" + String(repeating: "#", count: filled)
            + String(repeating: "-", count: room - filled) + "] " + text
    }

    /// Returns a duration in its two largest units: `12 s`, `3 min 5 s`, `2 h 10 min`.
    static func duration(_ seconds: Double) -> String {
        let seconds = Int(min(seconds, 1e9).rounded(.up))
        if seconds < 60 { return "\(seconds) s" }
        if seconds < 3600 { return "\(seconds / 60) min \(seconds % 60) s" }
        return "\(seconds / 3600) h \(seconds % 3600 / 60) min"
    }

    private static let interval = Duration.milliseconds(100)
    private static let widest = 40
    private static let narrowest = 10
    private static let number = IntegerFormatStyle<Int>(locale: Locale(identifier: "en_US"))
}
