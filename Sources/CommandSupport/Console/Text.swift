package import Foundation

extension Date {
    /// The date in ISO 8601 in UTC to the second, as every output shows times.
    package var utcText: String {
        formatted(.iso8601)
    }

    /// The day in UTC, such as `2026-03-01`, for tables.
    package var dayText: String {
        String(utcText.prefix(10))
    }
}
