package import ArgumentParser
package import CertificateReading
package import Foundation

/// The current time, for commands that check validity periods.
package struct ClockOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "Use this date as the current time: \(CalendarMoment.forms).",
            valueName: "date"),
        transform: ClockOptions.date)
    package var at: Date?

    package init() {}

    /// The date that the option specifies, or the system time without the option.
    package var now: Date { at ?? Date() }

    /// Parses a date or a relative time. A time without a zone is UTC; relative times refer to the system time.
    ///
    /// - Throws: `ValidationError` for anything else.
    package static func date(_ text: String) throws -> Date { try moment(text).date(from: Date()) }

    /// Parses a date or a relative time, which can refer to another moment.
    ///
    /// - Throws: `ValidationError` for anything else.
    package static func moment(_ text: String) throws -> CalendarMoment {
        let text = text.trimmingCharacters(in: .whitespaces)
        if let moment = CalendarMoment(text) { return moment }
        guard CertificateDate.date(text) == nil else {
            throw ValidationError("\u{201C}\(text)\u{201D} is outside the years 1900 to 2200")
        }
        throw ValidationError("\u{201C}\(text)\u{201D} is not a date: write \(CalendarMoment.forms)")
    }
}
