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

extension String {
    /// The first sixteen characters of a label and an ellipsis, for tables; `show` finds an identity by as much.
    package var abbreviated: String {
        prefix(16) + "\u{2026}"
    }
}
