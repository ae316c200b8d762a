package import Foundation

/// A span of calendar time, such as three years. A negative span refers to the past.
package struct CalendarSpan: Sendable, Hashable {
    /// The unit of a span.
    package enum Unit: String, Sendable, CaseIterable {
        case day, week, month, year
    }

    /// The number of units in the span.
    package let count: Int
    /// The unit of the span.
    package let unit: Unit

    /// The default time between two generations of credentials.
    package static let generation = CalendarSpan(3, .year)

    /// Creates a span of `count` units.
    package init(_ count: Int, _ unit: Unit) {
        self.count = count
        self.unit = unit
    }

    /// Returns the moment that is `times` spans after `date`, in the UTC calendar.
    package func added(to date: Date, times: Int = 1) -> Date {
        let component: Calendar.Component =
            switch unit {
            case .day: .day
            case .week: .weekOfYear
            case .month: .month
            case .year: .year
            }
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        return calendar.date(byAdding: component, value: count * times, to: date) ?? date
    }

    /// The maximum number of days that the span can have.
    package var longestDays: Int {
        switch unit {
        case .day: count
        case .week: count * 7
        case .month: count * 31
        case .year: count * 366
        }
    }
}

extension CalendarSpan: CustomStringConvertible {
    /// The span in words, such as `3 years` or `1 day`.
    package var description: String { "\(count) \(unit.rawValue)\(count == 1 ? "" : "s")" }

    /// Parses the format of ``description``, for counts from 1 to 100,000. Returns nil for any other text.
    package init?(_ text: String) {
        let words = text.split(separator: " " as Character).map(String.init)
        guard words.count == 2, let count = Int(words[0]), (1...100_000).contains(count),
            let unit = Unit.allCases.first(where: { [$0.rawValue, $0.rawValue + "s"].contains(words[1]) })
        else { return nil }
        self.init(count, unit)
    }
}
