internal import Foundation

/// A span of calendar time, such as three years; a negative span leads into the past.
package struct CalendarSpan: Sendable, Hashable {
    /// The unit of a span.
    package enum Unit: String, Sendable, CaseIterable {
        case day, week, month, year
    }

    /// How many units the span has.
    package let count: Int
    /// The unit of the span.
    package let unit: Unit

    /// The usual time between two generations of credentials.
    package static let generation = CalendarSpan(3, .year)

    /// A span of `count` units.
    package init(_ count: Int, _ unit: Unit) {
        self.count = count
        self.unit = unit
    }

    /// The moment that is so many spans after `date`, by the calendar in UTC.
    func added(to date: Date, times: Int = 1) -> Date {
        let component: Calendar.Component =
            switch unit {
            case .day: .day
            case .week: .weekOfYear
            case .month: .month
            case .year: .year
            }
        return Calendar.utc.date(byAdding: component, value: count * times, to: date) ?? date
    }

    /// The greatest number of days that the span can have.
    var longestDays: Int {
        switch unit {
        case .day: count
        case .week: count * 7
        case .month: count * 31
        case .year: count * 366
        }
    }
}

extension CalendarSpan: CustomStringConvertible {
    /// `3 years`, `1 day`.
    package var description: String { "\(count) \(unit.rawValue)\(count == 1 ? "" : "s")" }

    /// Reads what ``description`` writes, for counts from 1 to 100,000; nil for anything else.
    package init?(_ text: String) {
        let words = text.split(separator: " " as Character).map(String.init)
        guard words.count == 2, let count = Int(words[0]), (1...100_000).contains(count),
            let unit = Unit.allCases.first(where: { [$0.rawValue, $0.rawValue + "s"].contains(words[1]) })
        else { return nil }
        self.init(count, unit)
    }
}
