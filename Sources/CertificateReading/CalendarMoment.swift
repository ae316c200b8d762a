package import Foundation

/// A moment in the form that users write: a date, or a time relative to another moment.
package enum CalendarMoment: Sendable, Hashable {
    /// An absolute date.
    case at(Date)
    /// A span after the other moment, at the same time of day.
    case after(CalendarSpan)

    /// The accepted forms, as a phrase for help and errors.
    package static let forms =
        "2026-03-01, 2026-03-01T12:00:00Z, tomorrow, \u{201C}in 2 months\u{201D} or \u{201C}3 years ago\u{201D}"

    /// The longest relative time, in days: a century.
    package static let longestDays = 100 * 366

    /// Parses an ISO 8601 date of the years 1900 to 2200, `now`, `today`, `yesterday`, `tomorrow`, or a relative time
    /// such as `3 years ago` or `in 2 months`. Returns nil for any other text.
    package init?(_ text: String) {
        if let date = CertificateDate.date(text) {
            guard CertificateDate.supported.contains(date) else { return nil }
            self = .at(Date(timeIntervalSince1970: date.timeIntervalSince1970.rounded(.down)))
            return
        }
        let text = text.lowercased()
        let span: CalendarSpan? =
            switch text {
            case "now", "today": CalendarSpan(0, .day)
            case "tomorrow": CalendarSpan(1, .day)
            case "yesterday": CalendarSpan(-1, .day)
            case _ where text.hasSuffix(" ago"):
                CalendarSpan(String(text.dropLast(4))).map { CalendarSpan(-$0.count, $0.unit) }
            case _ where text.hasPrefix("in "): CalendarSpan(String(text.dropFirst(3)))
            default: nil
            }
        guard let span, abs(span.longestDays) <= Self.longestDays else { return nil }
        self = .after(span)
    }

    /// The moment as a date, in whole seconds if it is relative.
    ///
    /// - Parameter now: The moment that relative times refer to.
    package func date(from now: Date) -> Date {
        switch self {
        case .at(let date): date
        case .after(let span):
            span.added(to: Date(timeIntervalSince1970: now.timeIntervalSince1970.rounded(.down)))
        }
    }
}
