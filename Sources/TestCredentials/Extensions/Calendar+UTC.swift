package import Foundation

extension Calendar {
    /// The Gregorian calendar in UTC, which determines validity periods.
    package static var utc: Calendar {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        return calendar
    }

    /// Returns the date with the same month, day and time in another year. February 29 becomes February 28 if needed.
    ///
    /// - Parameter years: The number of years to add. Negative values subtract.
    package func adding(years: Int, to date: Date) -> Date {
        self.date(byAdding: .year, value: years, to: date) ?? date
    }

    /// The start of the year of `date`.
    func startOfYear(_ date: Date) -> Date {
        self.date(from: dateComponents([.year], from: date)) ?? date
    }
}

extension Date {
    /// The time without its fraction of a second, which certificates cannot represent.
    var wholeSeconds: Date { Date(timeIntervalSince1970: timeIntervalSince1970.rounded(.down)) }
}
