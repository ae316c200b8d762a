import Diagnostics
@testable import TestCredentials
import Foundation
import KeySharing
@testable import Scenarios
import Testing

import KeyShareProvider

@Suite("Invalid scenarios", .timeLimit(.minutes(10)))
struct ScenarioErrorTests {
    struct Case: CustomTestStringConvertible, Sendable {
        let yaml: String
        /// The line and column of the error.
        let place: String
        let reason: String
        /// The beginning of the suggested name.
        var nearest: String?

        var testDescription: String { "\(place) \(reason)" }

        /// Uses `line` in place of a person's credentials.
        static func credential(_ line: String, _ column: Int, _ reason: String, _ nearest: String? = nil)
            -> Case
        {
            Case(
                yaml: "description: A test.\npersons:\n  - credentials:\n      - \(line)\n",
                place: "4:\(column)", reason: reason, nearest: nearest)
        }

        /// Adds `line` after the mandatory keys.
        static func last(_ line: String, _ place: String, _ reason: String, _ nearest: String? = nil) -> Case
        {
            Case(
                yaml: "description: A test.\npersons: []\n\(line)\n", place: place, reason: reason,
                nearest: nearest
            )
        }
    }

    private static let cases: [Case] = [
        Case(yaml: "", place: "1:1", reason: "the text is empty"),
        Case(yaml: "# nothing\n", place: "1:1", reason: "the text is empty"),
        Case(yaml: "- a list\n", place: "1:1", reason: "expected a scenario: a mapping with description"),
        Case(yaml: "persons: []\n", place: "1:1", reason: "a scenario has no description"),
        Case(yaml: "description: A test.\n", place: "1:1", reason: "a scenario has no persons"),
        Case(
            yaml: "description: ~\npersons: []\n", place: "1:14",
            reason: "expected one sentence about the scenario, not nothing"),
        Case(
            yaml: "description: \"A\\nB\"\npersons: []\n", place: "1:14",
            reason: "expected one sentence about the scenario"),
        Case(yaml: "description: A.\n\tpersons: []\n", place: "2:1", reason: "this is not YAML: found a tab"),
        Case(yaml: "description: [A\npersons: []\n", place: "2:8", reason: "this is not YAML"),
        Case(yaml: "description: A.\npersons: []\n---\nb: 1\n", place: "3:1", reason: "this is not YAML"),
        Case(
            yaml: "description: A.\npersons: *nobody\n", place: "2:10",
            reason: "this is not YAML: found undefined"),
        Case(
            yaml: "description: A.\npersons: []\npersons: []\n", place: "2:1",
            reason: "the key \u{201C}persons\u{201D} occurs twice"),
        Case(yaml: "description: A\u{7}.\npersons: []\n", place: "1:15", reason: "this is not YAML: control"),
        .last(
            "person: []", "3:1", "a scenario has no key \u{201C}person\u{201D}",
            "persons"),
        .last("[a]: b", "3:4", "this key is not a string; expected a string"),
        .last(
            "servcie: {fault: slow}", "3:1", "a scenario has no key", "service"),
        .last(
            "service: {fault: slwo}", "3:18",
            "\u{201C}slwo\u{201D} is not a fault of the service; expected no-service, ",
            "slow"),
        .last("service: {pasteboard-expiry: -1}", "3:30", "expected a whole number from 0 to 86400"),
        .last("service: slow", "3:10", "expected a service: a mapping with fault, root, pasteboard-expiry"),
        .last(
            "encoder: {profile: modren}", "3:20",
            "\u{201C}modren\u{201D} is not a profile of PKCS #12; expected modern, ", "modern"
        ),
        .last("encoder: {iterations: 0}", "3:23", "expected a whole number from 1 to 2000000"),
        .last("encoder: {chain: yes}", "3:18", "expected true or false, not \u{201C}yes\u{201D}"),
        .last(
            "encoder: {friendly-name: \(String(repeating: "a", count: 300))}", "3:26",
            "expected a name of at most 256 characters"),
        .last(
            "outcome: {2024: {}}", "3:11", "\u{201C}2024\u{201D} is not a mechanism; expected legacy, 2025"),
        .last(
            "outcome: {2025: {user: {}}}", "3:18",
            "\u{201C}user\u{201D} is not a selection; expected all-user, "),
        .last(
            "outcome: {2025: {all: {piv: 1}}}", "3:24",
            "\u{201C}piv\u{201D} is not a type; expected encryption, "),
        .last("outcome: {2025: {all: {device: 0}}}", "3:32", "expected a whole number from 1"),
        Case(yaml: "description: A.\npersons: {}\n", place: "2:10", reason: "expected a list of persons"),
        Case(
            yaml: "description: A.\npersons:\n  - name: Dana Example\n", place: "3:5",
            reason: "a person has no credentials"),
        Case(
            yaml: "description: A.\npersons:\n  - edipi: 123\n    credentials: []\n", place: "3:12",
            reason: "\u{201C}123\u{201D} is not an EDIPI of 10 digits"),
        Case(
            yaml: "description: A.\npersons:\n  - credentials: []\n    name: Single\n", place: "4:11",
            reason: "\u{201C}Single\u{201D} is not a person's name"),
        Case(
            yaml: "description: A.\npersons:\n  - credentials: []\n    name: Ann Bea Carol Dana\n",
            place: "4:11", reason: "\u{201C}Ann Bea Carol Dana\u{201D} is not a person's name"),
        Case(
            yaml: "description: A.\npersons:\n  - count: 2\n    name: Dana Example\n    credentials: []\n",
            place: "4:11", reason: "name describes one person"),
        Case(
            yaml: "description: A.\npersons:\n  - count: many\n    credentials: []\n", place: "3:12",
            reason: "expected a whole number from 1 to 1000000, not \u{201C}many\u{201D}"),
        .credential(
            "generation: 1", 9, "a credential has no key", "generations"),
        .credential("generations: 101", 22, "expected a whole number from 0 to 100"),
        .credential("generations: 0", 22, "zero generations require recovered keys"),
        .credential("{generations: 2, starts: now}", 23, "generations and starts are alternatives"),
        .credential("starts: []", 17, "expected one date or more, not a list"),
        .credential("starts: last week", 17, "expected a date, or a time such as"),
        .credential("starts: 2026-02-30", 17, "expected a date, or a time such as"),
        .credential("starts: 200 years ago", 17, "expected a date, or a time such as"),
        .credential("{interval: monthly}", 20, "expected a time such as \u{201C}6 months\u{201D}"),
        .credential("{validity: 101 years}", 20, "expected an interval of at most 100 years, not"),
        .credential("profile: [dod]", 18, "expected a profile: dod, "),
        .credential("policy-arc: {a: b}", 21, "expected a policy arc: test, dod, not a mapping"),
        .credential("device", 9, "expected a credential: a mapping with types, "),
        .credential("{recovered: 50}", 21, "51 generations of 3 years span more than a century"),
        .credential("{types: device, recovered: 1}", 36, "only encryption keys can be recovered"),
        .credential(
            "types: signatrue", 16, "\u{201C}signatrue\u{201D} is not a type of the profile dod; expected ",
            "signature"),
        .credential("types: [device, device]", 25, "device occurs twice"),
        .credential(
            "{profile: derived-piv, types: device}", 39,
            "\u{201C}device\u{201D} is not a type of the profile derived-piv; expected auth"),
        .credential(
            "profile: dod-2012", 18, "\u{201C}dod-2012\u{201D} is not a profile; expected dod, ",
            "dod-20"),
        .credential(
            "key: rsa1024", 14,
            "\u{201C}rsa1024\u{201D} is not a key; expected rsa2048, rsa3072, rsa4096, p256, p384"),
        .credential("policy-arc: real", 21, "\u{201C}real\u{201D} is not a policy arc; expected test, dod"),
        .credential(
            "fault: expried", 16, "\u{201C}expried\u{201D} is not a fault; expected expired, ",
            "expired"),
        .credential(
            "fault: zip-slip", 16, "the fault \u{201C}zip-slip\u{201D} concerns whole files"),
        .credential("{fault: expired, types: device}", 26, "a fault has no key \u{201C}types\u{201D}"),
    ]

    private func problem(_ bytes: [UInt8]) -> ProvisioningError? {
        do {
            _ = try Scenario(yaml: bytes, name: "test", source: "test.yaml")
            return nil
        } catch {
            return error
        }
    }

    @Test(
        "An invalid scenario is rejected with the position, the expected contents and a suggestion",
        arguments: cases)
    func errors(wrong: Case) throws {
        let error = try #require(problem(Array(wrong.yaml.utf8)))
        #expect(error.code == .malformedScenario)
        #expect(error.reason.hasPrefix("test.yaml:\(wrong.place): \(wrong.reason)"), "\(error.reason)")
        if let expected = wrong.nearest {
            let nearest: String? =
                switch error.remedy {
                case .nearestName(let name)?: name
                case .keys(let nearest, _)?: nearest
                case .fileOfTestVector?, .shorterInterval?, .earlierStart?, nil: nil
                }
            #expect(nearest?.hasPrefix(expected) == true, "\(String(describing: error.remedy))")
        }
    }

    @Test("An error suggests a file for a test vector, a shorter interval, or the nearest name")
    func remedies() throws {
        func remedy(_ line: String) -> ProvisioningError.Remedy? {
            problem(Array("description: A.\npersons:\n  - credentials:\n      - \(line)\n".utf8))?.remedy
        }
        #expect(remedy("fault: zip-slip") == .fileOfTestVector("zip-slip"))
        #expect(remedy("{recovered: 50}") == .shorterInterval)
        #expect(remedy("key: rsa2084") == .nearestName("rsa2048"))
    }

    @Test("A certificate may be valid for 100 years")
    func longestValidity() {
        let yaml = "description: A.\npersons:\n  - credentials:\n      - validity: 100 years\n"
        #expect(problem(Array(yaml.utf8)) == nil)
    }

    @Test("A byte order mark and carriage returns are accepted")
    func otherEditors() {
        #expect(problem(Array("\u{FEFF}description: A.\r\npersons: []\r\n".utf8)) == nil)
    }

    @Test("Text that is not UTF-8 is rejected with the line of the first invalid octets")
    func encoding() throws {
        let error = try #require(problem(Array("description: A.\npersons: ".utf8) + [0xFF, 0x0A]))
        #expect(error.reason == "test.yaml:2:1: expected text in UTF-8")
    }

    @Test("Deep nesting and nested aliases are rejected")
    func hostile() throws {
        let nested = "description: A.\npersons: " + String(repeating: "[", count: 10_000)
        #expect(problem(Array(nested.utf8))?.reason.hasSuffix("this value is nested too deeply") == true)
        var laughs = "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
        for (name, former) in zip("bcdefgh", "abcdefg") {
            let aliases = [String](repeating: "*\(former)", count: 10).joined(separator: ", ")
            laughs += "\(name): &\(name) [\(aliases)]\n"
        }
        #expect(problem(Array(laughs.utf8))?.reason == "test.yaml:2:8: " + Self.noAliases)
        // The parser hashes keys. With an alias of aliases as a key, each additional fifty bytes would multiply the
        // time by ten.
        #expect(problem(Array((laughs + "? *h\n: x\n").utf8))?.reason == "test.yaml:2:8: " + Self.noAliases)
    }

    private static let noAliases = "aliases are not accepted; expected the value itself"

    @Test(
        "An alias is rejected wherever YAML permits one",
        arguments: [
            ("a: &x 1\nb: *x\n", "2:4"), ("[&x 1,*x]", "1:7"), ("{&x a: 1, b:*x }", "1:13"),
            ("- &x 1\n- !!str *x\n", "2:9"), ("&x a: b\n*x : c\n", "2:1"),
        ])
    func aliases(yaml: String, place: String) {
        #expect(problem(Array(yaml.utf8))?.reason == "test.yaml:\(place): " + Self.noAliases)
    }

    @Test("Characters that mark aliases, anchors and keys are accepted inside text")
    func harmlessSigns() throws {
        for text in [
            "R&D *D", "a & b * c", "&x stands alone", "2*x and y&x", "Really? yes", "a: 'b [c] d'", "??",
        ] {
            #expect(throws: Never.self) { try YAMLScan.check("key: 'x \(text)'\n", most: 100) }
        }
    }

    @Test(
        "A key that is a list or a mapping is rejected before the parser hashes it",
        arguments: [
            ("? [a, b]\n: c\n", "1:1"), ("x:\n  ? a\n", "2:3"), ("- ? ? a\n", "1:3"), ("[a]: b\n", "1:4"),
            ("{{a: b}: c}", "1:8"), ("[?a]", "1:2"),
        ])
    func keys(yaml: String, place: String) {
        #expect(
            problem(Array(yaml.utf8))?.reason
                == "test.yaml:\(place): this key is not a string; expected a string")
    }

    @Test("A long sequence of combining marks is rejected, even if it is written as escapes")
    func marks() {
        let row = String(repeating: "\u{301}\u{316}", count: 200_000)
        let escapes =
            String(repeating: "\\u0301\\\n  \\x41\\u0301\\U00000316", count: 1)
            + String(repeating: "\\u0301\\\n  \\U00000316", count: 16)
        for yaml in ["description: \(row)\n", "\(row): x\n", "description: \"\(escapes)\"\n"] {
            let error = problem(Array(yaml.utf8))
            #expect(error?.reason.contains("more than 30 combining marks in a row") == true)
        }
        #expect(throws: Never.self) {
            try YAMLScan.check("a: e" + String(repeating: "\u{301}", count: 30) + "e\u{301}", most: 10)
        }
    }

    @Test("Too many values, or text that is too long, are rejected before and after parsing")
    func counts() {
        let list = "persons: [" + String(repeating: "a,", count: 20_001) + "]"
        #expect(problem(Array(list.utf8))?.reason.contains("more than 10000 values") == true)
        let values = "persons: [" + String(repeating: "a,", count: 10_001) + "]"
        #expect(problem(Array(values.utf8))?.reason.contains("more than 10000 values") == true)
        let long = "description: " + String(repeating: "a", count: 16_385)
        #expect(problem(Array(long.utf8))?.reason == "test.yaml:1:14: this value has more than 16384 bytes")
    }

    @Test("A misspelt name has a suggestion only if another name is similar")
    func nearest() {
        #expect(NearMatch.of("signatrue", among: ["signature", "device"]) == "signature")
        #expect(NearMatch.of("Device", among: ["signature", "device"]) == "device")
        #expect(NearMatch.of("something else", among: ["signature", "device"]) == nil)
        #expect(NearMatch.of("", among: ["key"]) == nil)
    }
}
