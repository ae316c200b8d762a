internal import Foundation

extension Calendar {
    /// The Gregorian calendar in UTC, by which validity periods are counted.
    static var utc: Calendar {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        return calendar
    }

    /// The moment at the same day and time of another year; the last day of February where a leap day is missing.
    ///
    /// - Parameter years: how many years later; negative for earlier.
    func adding(years: Int, to date: Date) -> Date {
        self.date(byAdding: .year, value: years, to: date) ?? date
    }

    /// The first moment of the year of `date`.
    func startOfYear(_ date: Date) -> Date {
        self.date(from: dateComponents([.year], from: date)) ?? date
    }
}

extension Date {
    /// The moment without its fraction of a second, which certificates cannot hold.
    var wholeSeconds: Date { Date(timeIntervalSince1970: timeIntervalSince1970.rounded(.down)) }
}
