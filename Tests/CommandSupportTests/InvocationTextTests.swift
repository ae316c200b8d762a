import Foundation
import TestSupport
import Testing
import TokenClient

@testable import CommandSupport

@Suite("Arguments and variables that are not UTF-8", .timeLimit(.minutes(10)))
struct InvocationTextTests {
    @Test(
        "Each byte that is not UTF-8 is shown as an escape, and other text is unchanged",
        arguments: [
            ([0x73, 0xFF, 0x2E, 0x65], #"s\xff.e"#),
            ([0x80], #"\x80"#),
            // A sequence that ends too early, before ASCII and at the end.
            ([0xC3, 0x61], #"\xc3a"#),
            ([0xE2, 0x82], #"\xe2\x82"#),
            // An overlong slash, a surrogate, and a number above U+10FFFF.
            ([0xC0, 0xAF], #"\xc0\xaf"#),
            ([0xED, 0xA0, 0x80], #"\xed\xa0\x80"#),
            ([0xF4, 0x90, 0x80, 0x80], #"\xf4\x90\x80\x80"#),
            (Array("\u{E9}\u{20AC}\u{1F511}".utf8) + [0xFE], "\u{E9}\u{20AC}\u{1F511}\\xfe"),
            (Array("e\u{301}\u{FFFD}".utf8) + [0xFE, 0x0A], "e\u{301}\u{FFFD}\\xfe\n"),
        ] as [([UInt8], String)])
    func escapes(bytes: [UInt8], text: String) {
        #expect(InvocationText.escaped(bytes) == text)
    }

    @Test(
        "Text that is UTF-8 is accepted, even if it contains U+FFFD or is not normalized",
        arguments: ["", "a/b.eml", "s\u{FFFD}.eml", "e\u{301}", "\u{E9}", "\u{10FFFF}", #"\xff"#, "a\nb"])
    func valid(text: String) {
        #expect(InvocationText.escaped(Array(text.utf8)) == nil)
    }

    @Test("The lists of checked variables contain exactly the variables that the sources read")
    func variables() throws {
        let sources = PackageFolder.path + "/Sources"
        let files = FileManager.default.enumerator(atPath: sources)?.compactMap { $0 as? String } ?? []
        var commands: Set<String> = []
        var module: Set<String> = []
        for file in files where file.hasSuffix(".swift") {
            let text = try String(contentsOfFile: "\(sources)/\(file)", encoding: .utf8)
            let names = text.matches(of: /(?:environment|getenv)[\(\[]"([A-Z0-9_]+)"/).map { String($0.1) }
            if ["PKCS11Module/", "TokenClient/"].contains(where: { file.hasPrefix($0) }) {
                module.formUnion(names)
            } else {
                commands.formUnion(names)
            }
        }
        #expect(commands == Set(InvocationText.variables))
        #expect(module == Set(ProviderPlace.variables))
    }
}
