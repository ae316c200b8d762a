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
}
