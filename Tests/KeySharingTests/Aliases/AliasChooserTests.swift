import Foundation
import Testing

@testable import KeySharing

@Suite("AliasChooser", .timeLimit(.minutes(10)))
struct AliasChooserTests {
    private func entry(
        _ alias: String, _ keyType: String = "RSA", issuers: [UInt8] = [1], isSelectable: Bool = true
    ) -> AliasEntry {
        AliasEntry(
            alias: alias,
            certificate: AliasEntry.Certificate(
                der: [], type: .other, notBefore: .distantPast, notAfter: .distantFuture, keyType: keyType,
                issuers: issuers.map { [$0] }), isUserSelectable: isSelectable)
    }

    private var entries: [AliasEntry] {
        [
            entry("c", "EC", issuers: [1, 9]), entry("b", issuers: [2, 9]), entry("a", issuers: [3]),
            entry("hidden", isSelectable: false), AliasEntry(alias: "secret", certificate: nil),
        ]
    }

    @Test("The chooser offers the user-selectable entries with a certificate, sorted by alias")
    func offers() {
        #expect(AliasChooser(entries).offered.map(\.alias) == ["a", "b", "c"])
    }

    @Test("Key types and issuers filter the entries, and any certificate of a chain may have the issuer")
    func filters() {
        func offered(_ keyTypes: [String], _ issuers: [UInt8]) -> [String] {
            AliasChooser(entries, keyTypes: keyTypes, issuers: issuers.map { [$0] }).offered.map(\.alias)
        }
        #expect(offered(["EC"], []) == ["c"])
        #expect(offered(["EC", "RSA"], []) == ["a", "b", "c"])
        #expect(offered(["rsa"], []) == [])
        #expect(offered([], [9]) == ["b", "c"])
        #expect(offered([], [3, 1]) == ["a", "c"])
        #expect(offered(["RSA"], [9]) == ["b"])
        #expect(offered(["EC"], [3]) == [])
    }

    @Test(
        "The dialog preselects the requested alias if it is offered and, without a request, a single entry"
    )
    func preselection() {
        #expect(AliasChooser(entries, requesting: "b").preselected == "b")
        #expect(AliasChooser(entries, requesting: "hidden").preselected == nil)
        #expect(AliasChooser(entries, requesting: "B").preselected == nil)
        #expect(AliasChooser(entries, requesting: "b", keyTypes: ["EC"]).preselected == nil)
        #expect(AliasChooser(entries).preselected == nil)
        #expect(AliasChooser(entries, keyTypes: ["EC"]).preselected == "c")
    }

    @Test("An alias in another Unicode normalization form is another alias")
    func normalization() {
        let (composed, decomposed) = ("\u{E9}", "e\u{301}")
        let entries = [entry(composed), entry("a")]
        #expect(AliasChooser(entries, requesting: decomposed).preselected == nil)
        let chooser = AliasChooser(entries, requesting: composed)
        #expect(chooser.outcome(of: .allow).isPreselected)
        #expect(chooser.outcome(of: .allow, selecting: decomposed).reason == .notSelectable)
    }

    @Test("The outcome of the dialog follows the user's answer, the selection and the filters")
    func outcomes() {
        typealias Case = (String?, [String], AliasChooser.Answer, String?, String?, Bool, String?)
        let table: [Case] = [
            // Requested, key types, answer, selected; alias, whether it was preselected, reason.
            ("b", [], .allow, nil, "b", true, nil),
            ("b", [], .allow, "a", "a", false, nil),
            ("b", [], .allow, "hidden", nil, false, "not-selectable"),
            ("b", [], .deny, nil, nil, false, "user-denied"),
            ("b", [], .cancel, nil, nil, false, "user-canceled"),
            ("hidden", [], .allow, nil, nil, false, "not-selectable"),
            ("hidden", [], .allow, "a", "a", false, nil),
            (nil, [], .allow, nil, nil, false, "not-selectable"),
            (nil, ["EC"], .allow, nil, "c", true, nil),
            ("b", ["DSA"], .allow, nil, nil, false, "no-match"),
            ("b", ["DSA"], .deny, nil, nil, false, "no-match"),
        ]
        for (requested, keyTypes, answer, selected, alias, isPreselected, reason) in table {
            let chooser = AliasChooser(entries, requesting: requested, keyTypes: keyTypes)
            let outcome = chooser.outcome(of: answer, selecting: selected)
            let description = "\(String(describing: requested)) \(keyTypes) \(answer)"
            #expect(outcome.alias == alias, "\(description)")
            #expect(outcome.isPreselected == isPreselected, "\(description)")
            #expect(outcome.reason?.rawValue == reason, "\(description)")
            #expect(chooser.opens == (reason != "no-match"), "\(description)")
        }
    }

    @Test("The offered and preselected entries follow the rules for every store, request and filter")
    func sweep() {
        let filters: [([String], [UInt8])] = [
            ([], []), (["RSA"], []), (["EC"], [1]), ([], [9]), (["RSA", "EC"], [3, 2]),
        ]
        for subset in 0..<32 {
            let store = entries.enumerated().filter { subset & 1 << $0.offset != 0 }.map(\.element)
            for (keyTypes, issuers) in filters {
                // An independent implementation: a set of names, from which each rule removes some.
                var names: Set = ["a", "b", "c"]
                names.formIntersection(store.map(\.alias))
                if keyTypes == ["RSA"] { names.remove("c") }
                if keyTypes == ["EC"] { names.formIntersection(["c"]) }
                if issuers == [9] { names.remove("a") }
                if issuers == [3, 2] { names.remove("c") }
                for requested in [nil, "a", "b", "hidden"] {
                    let chooser = AliasChooser(
                        store, requesting: requested, keyTypes: keyTypes, issuers: issuers.map { [$0] })
                    #expect(chooser.offered.map(\.alias) == names.sorted())
                    let wanted =
                        requested.map { names.contains($0) ? $0 : nil }
                        ?? (names.count == 1 ? names.first : nil)
                    #expect(chooser.preselected == wanted)
                }
            }
        }
    }

    @Test("Every reason for a missing alias has its own sentence")
    func sentences() {
        let messages = AliasChooser.Reason.allCases.map(\.message)
        #expect(Set(messages).count == messages.count)
    }
}
