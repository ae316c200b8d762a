import Diagnostics
import Testing

@Suite("Consecutive combining marks", .timeLimit(.minutes(10)))
struct CombiningMarksTests {
    /// Marks of two classes, so that normalization has to sort them.
    private func marks(_ count: Int) -> String {
        String(repeating: "\u{301}\u{316}", count: count / 2) + (count.isMultiple(of: 2) ? "" : "\u{301}")
    }

    @Test("A text is stream-safe with 30 consecutive marks, and not with 31")
    func limit() {
        #expect("a\(marks(30))b\(marks(30))".isStreamSafe)
        #expect(!"a\(marks(31))b".isStreamSafe)
        // Tibetan vowel signs of class 0 that decompose into marks.
        #expect(!"a\(String(repeating: "\u{F73}", count: 31))".isStreamSafe)
        #expect("a\(String(repeating: "\u{34F}", count: 31))".isStreamSafe)
    }

    @Test("A stream-safe text does not change; another one gets a joiner after every 30 marks")
    func conversion() {
        let safe = "Mötley \(marks(30))"
        #expect(safe.streamSafe.unicodeScalars.elementsEqual(safe.unicodeScalars))
        let expected = "a\(marks(30))\u{34F}\(marks(30))\u{34F}\(marks(2))b"
        #expect("a\(marks(62))b".streamSafe.unicodeScalars.elementsEqual(expected.unicodeScalars))
        #expect("a\(marks(62))b".streamSafe.isStreamSafe)
    }

    @Test(
        "Marks in JSON text are also counted in escapes",
        arguments: [
            (#"{"a": "x"}"#, true), (#""\u0301""#, true), (#""\n\\\u0041""#, true), (#""\u"#, true),
            (#""\ud83d\ude00\ud83d""#, true),
        ])
    func escapes(text: String, isAccepted: Bool) {
        #expect(CombiningMarks.areFew(inJSON: Array(text.utf8)) == isAccepted)
        for mark in [#"\u0301"#, #"\uD834\uDD65"#, "\u{301}", #"\u0301\uD834\uDD65"#] {
            let count = mark.count > 12 ? 15 : 30
            let most = String(repeating: mark, count: count)
            #expect(CombiningMarks.areFew(inJSON: Array("[\(text), \"\(most)\"]".utf8)))
            #expect(!CombiningMarks.areFew(inJSON: Array("[\(text), \"\(most)\(mark)\"]".utf8)))
        }
    }

    @Test("JSON in UTF-16, which a decoder also reads, is not accepted")
    func otherEncodings() {
        #expect(!CombiningMarks.areFew(inJSON: "{}".utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }))
    }
}
