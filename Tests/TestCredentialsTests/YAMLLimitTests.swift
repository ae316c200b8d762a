import Diagnostics
import Testing

@testable import TestCredentials

@Suite("Limits of YAML texts", .timeLimit(.minutes(10)))
struct YAMLLimitTests {
    private func isRead(_ text: String, most: Int) -> Bool {
        (try? YAMLNode(text: Array(text.utf8), of: "a list", most: most)) != nil
    }

    @Test("A text has at most the given number of values, each with at most 16 KiB")
    func values() {
        #expect(isRead("[a, b]", most: 3) && !isRead("[a, b]", most: 2))
        #expect(isRead("{a: b}", most: 3) && !isRead("{a: b}", most: 1))
        for (size, isValid) in [(TextBounds.largestText, true), (TextBounds.largestText + 1, false)] {
            #expect(isRead(String(repeating: "a", count: size), most: 1) == isValid)
        }
    }

    @Test("A text has at most two separators for each value, and 30 combining marks in a row")
    func characters() {
        #expect(isRead("a\n\n", most: 1) && !isRead("a\n\n\n", most: 1))
        for (count, isValid) in [(CombiningMarks.most, true), (CombiningMarks.most + 1, false)] {
            #expect(isRead("a" + String(repeating: "\u{301}", count: count), most: 1) == isValid)
            #expect(isRead("\"a" + String(repeating: "\\u0301", count: count) + "\"", most: 1) == isValid)
        }
    }
}
