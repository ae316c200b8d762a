import CertificateReading
import Foundation
import Testing

@Suite("Relative dates", .timeLimit(.minutes(10)))
struct CalendarMomentTests {
    @Test(
        "A span has from 1 to 100,000 units",
        arguments: [("0 days", false), ("1 day", true), ("100000 days", true), ("100001 days", false)])
    func counts(text: String, isSpan: Bool) {
        #expect((CalendarSpan(text) != nil) == isSpan)
    }

    @Test(
        "A relative time reaches at most a century in both directions",
        arguments: [
            ("in 100 years", true), ("100 years ago", true), ("in 36600 days", true),
            ("in 36601 days", false),
            ("36601 days ago", false), ("in 101 years", false), ("in 5229 weeks", false),
            ("in 1180 months", true), ("in 1181 months", false),
        ])
    func century(text: String, isMoment: Bool) {
        #expect((CalendarMoment(text) != nil) == isMoment)
    }

    @Test(
        "A date is in the years 1900 to 2200",
        arguments: [("1900-01-02", true), ("2199-12-30", true), ("1899-12-30", false), ("2201-01-02", false)])
    func years(text: String, isMoment: Bool) {
        #expect((CalendarMoment(text) != nil) == isMoment)
    }

    @Test(
        "A date that the calendar does not have, or with text after it, is rejected",
        arguments: [
            "2026-02-30", "2026-02-30T12:00:00Z", "2026-02-29", "2026-13-01", "2026-03-01x",
            "2026-03-01 noon",
            "2026-03-01T", "2026-03-0", "2026-3-1",
        ])
    func noDates(text: String) {
        #expect(CalendarMoment(text) == nil)
        #expect(CertificateDate.date(text) == nil)
    }

    @Test("Absolute and relative dates are whole seconds")
    func wholeSeconds() throws {
        let whole = try #require(CalendarMoment("2026-03-01T12:00:00Z"))
        #expect(CalendarMoment("2026-03-01T12:00:00.750Z") == whole)
        let now = Date(timeIntervalSince1970: 1_700_000_000.75)
        #expect(CalendarMoment("now")?.date(from: now) == Date(timeIntervalSince1970: 1_700_000_000))
        #expect(CalendarMoment("tomorrow")?.date(from: now) == Date(timeIntervalSince1970: 1_700_086_400))
    }

    @Test(
        "A relative time is added to the current time",
        arguments: [
            ("today", 0), ("tomorrow", 1), ("yesterday", -1), ("in 3 days", 3), ("2 weeks ago", -14),
            ("In 1 Month", 31), ("1 year ago", -366),
        ])
    func relative(text: String, days: Int) {
        // 2025-01-01, after a leap year.
        let now = Date(timeIntervalSince1970: 1_735_689_600)
        #expect(CalendarMoment(text)?.date(from: now) == now + Double(days) * 86_400)
    }

    @Test("A span is written as it is read", arguments: ["1 day", "2 days", "1 week", "3 months", "1 year"])
    func description(text: String) {
        #expect(CalendarSpan(text)?.description == text)
    }

    @Test("A span can be added several times")
    func multiples() {
        let start = Date(timeIntervalSince1970: 0)
        #expect(CalendarSpan(2, .day).added(to: start, times: 3) == start + 6 * 86_400)
        #expect(CalendarSpan(1, .month).added(to: start, times: 2) == start + 59 * 86_400)
    }
}
