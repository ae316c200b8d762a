package import Foundation

extension Date {
    /// The date in ISO 8601 in UTC to the second, as every output shows times.
    package var utcText: String {
        textOfWholeSecond ?? formatted(.iso8601)
    }

    /// The text of a whole second from March 1600 to the year 9999, as certificates have; nil for another date.
    ///
    /// Foundation would ask its calendar, which at the first date reads data of ICU and the zone of the machine. That
    /// takes longer than reading a keychain.
    var textOfWholeSecond: String? {
        let years = Int64(-11_676_096_000)..<Int64(253_402_300_800)
        guard let seconds = Int64(exactly: timeIntervalSince1970), years.contains(seconds) else { return nil }
        // The days since the first of March of 1600, from which leap days are the last days of their years: 400 years
        // have 146,097 days, 100 years 36,524 and 4 years 1,461, apart from a leap day at their end.
        let day = (seconds - years.lowerBound) / 86_400 - 60
        guard day >= 0 else { return nil }
        let century = min(day % 146_097 / 36_524, 3)
        let dayOfCentury = day % 146_097 - century * 36_524
        let fourYears = dayOfCentury / 1_461
        let yearOfFour = min(dayOfCentury % 1_461 / 365, 3)
        let dayOfYear = dayOfCentury % 1_461 - yearOfFour * 365
        // Months of 31 and 30 days alternate from March on, with two of 31 days at each fifth: 153 days in five months.
        let month = (5 * dayOfYear + 2) / 153
        let dayOfMonth = dayOfYear - (153 * month + 2) / 5 + 1
        let isNextYear = month >= 10
        let year =
            1600 + day / 146_097 * 400 + century * 100 + fourYears * 4 + yearOfFour + (isNextYear ? 1 : 0)
        let second = (seconds - years.lowerBound) % 86_400
        let parts = [
            isNextYear ? month - 9 : month + 3, dayOfMonth, second / 3_600, second / 60 % 60, second % 60,
        ]
        .map { $0 < 10 ? "0\($0)" : "\($0)" }
        return "\(year)-\(parts[0])-\(parts[1])T\(parts[2]):\(parts[3]):\(parts[4])Z"
    }

    /// The day in UTC, such as `2026-03-01`, for tables.
    package var dayText: String {
        String(utcText.prefix(10))
    }
}

extension String {
    /// The text with so many blanks behind it that it has `length` characters; a longer text as it is.
    package func padded(to length: Int) -> String {
        self + String(repeating: " ", count: max(length - count, 0))
    }
}
