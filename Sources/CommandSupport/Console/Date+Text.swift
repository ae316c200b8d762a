package import Foundation
private import Glibc

extension Date {
    /// The date in ISO 8601 in UTC with a resolution of one second, as in all output.
    package var utcText: String {
        textOfWholeSecond ?? formatted(.iso8601)
    }

    /// The text of a date that is a whole second in the years 1600 to 9999, as in certificates; nil for any other date.
    ///
    /// This avoids Foundation's calendar, which reads ICU data and the machine's time zone at its first use. That takes
    /// longer than reading a keychain.
    var textOfWholeSecond: String? {
        let years = Int64(-11_676_096_000)..<Int64(253_402_300_800)
        guard let seconds = Int64(exactly: timeIntervalSince1970), years.contains(seconds) else { return nil }
        var (time, parts) = unsafe (time_t(seconds), tm())
        guard unsafe gmtime_r(&time, &parts) != nil else { return nil }
        func digits(_ number: CInt) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let (year, month, day) = unsafe (parts.tm_year + 1_900, parts.tm_mon + 1, parts.tm_mday)
        let (hour, minute, second) = unsafe (parts.tm_hour, parts.tm_min, parts.tm_sec)
        return "\(year)-\(digits(month))-\(digits(day))T\(digits(hour)):\(digits(minute)):\(digits(second))Z"
    }

    /// The day in UTC, such as `2026-03-01`, for tables.
    package var dayText: String {
        String(utcText.prefix(10))
    }
}

extension String {
    /// Returns the text padded with trailing spaces to `length` characters. A longer text is unchanged.
    package func padded(to length: Int) -> String {
        self + String(repeating: " ", count: max(length - count, 0))
    }
}
