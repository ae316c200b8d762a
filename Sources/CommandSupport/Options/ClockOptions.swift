package import ArgumentParser
internal import CertificateReading
package import Foundation

/// The current time, for commands that check validity periods.
package struct ClockOptions: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "Use this date as the current time, such as 2026-03-01 or 2026-03-01T12:00:00Z (ISO 8601).",
            valueName: "date"),
        transform: ClockOptions.date)
    package var at: Date?

    package init() {}

    /// The date that the option specifies, or the system time without the option.
    package var now: Date { at ?? Date() }

    /// Parses an ISO 8601 date, with or without a time. A time without a zone is UTC.
    ///
    /// - Throws: `ValidationError` for anything else.
    package static func date(_ text: String) throws -> Date {
        guard let date = CertificateDate.date(text) else {
            throw ValidationError("\u{201C}\(text)\u{201D} is not an ISO 8601 date")
        }
        guard CertificateDate.supported.contains(date) else {
            throw ValidationError("\u{201C}\(text)\u{201D} is outside the years 1900 to 2200")
        }
        return date
    }
}
