package import Foundation

/// Parses the dates in command options and in descriptions of test certificates.
package enum CertificateDate {
    /// The supported dates of certificates and archives: those of the years 1900 to 2200.
    package static let supported =
        Date(timeIntervalSince1970: -2_208_988_800)..<Date(timeIntervalSince1970: 7_289_654_400)

    /// Parses an ISO 8601 date, with or without a time. A time without a zone is UTC. Returns nil for any other text.
    package static func date(_ text: String) -> Date? {
        let dateOnly = Date.ISO8601FormatStyle(timeZone: .gmt).year().month().day()
        let fractional = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        let date =
            (try? Date(text, strategy: .iso8601)) ?? (try? Date(text, strategy: fractional))
            ?? (try? Date(text + "Z", strategy: .iso8601))
            ?? (text.utf8.count == 10 ? try? Date(text, strategy: dateOnly) : nil)
        // Foundation reads February 30 as a day in March, so the day is compared with the text. A time zone can shift
        // the day by at most one.
        guard let date, let day = try? Date(String(text.prefix(10)), strategy: dateOnly),
            day.formatted(dateOnly) == text.prefix(10)
        else { return nil }
        return date
    }
}
