import Testing

@testable import KeySharing

@Suite("AliasClassification", .timeLimit(.minutes(10)))
struct AliasClassificationTests {
    private typealias Name = CertificateFacts.AlternativeName

    /// An independent implementation of docs/rules.md R9.4 to R9.9, in the form of the sample provider's loop.
    private static func expected(_ bits: Set<Int>?, _ names: [Name]) -> (type: String, rule: String) {
        if let bits, bits.isSuperset(of: [0, 2]) { return ("Device", "signs-and-enciphers") }
        if let bits, bits.contains(2) { return ("Encryption", "enciphers") }
        for name in names {
            if name == .rfc822 { return ("Digital Signature", "email-name-first") }
            if case .otherName(let length) = name {
                return length >= 33
                    ? ("PIV Authentication", "long-other-name") : ("Identity", "short-other-name")
            }
        }
        return ("Other", "no-deciding-name")
    }

    /// An independent implementation of the warnings, which tries other orders of the names.
    private static func expectedWarnings(_ bits: Set<Int>?, _ names: [Name], isElliptic: Bool) -> [String] {
        let own = expected(bits, names)
        let others = names.indices.map { index in
            var moved = names
            moved.insert(moved.remove(at: index), at: 0)
            return expected(bits, moved).type
        }
        let agrees = isElliptic && bits?.contains(4) == true && bits?.contains(2) == false
        let hasDeviceUsage =
            (bits ?? []).isEmpty || bits?.contains(0) == true && (bits?.contains(1) == false || agrees)
        var warnings: [String] = []
        if own.rule.hasSuffix("other-name"), others.contains(where: { $0 != own.type }) {
            warnings.append("name-order")
        }
        if own.type == "Identity" { warnings.append("identity-instead-of-piv") }
        if own.type == "Other", hasDeviceUsage { warnings.append("other-instead-of-device") }
        if agrees { warnings.append("key-agreement-ignored") }
        return warnings
    }

    /// Every list of at most three names of the kinds that matter.
    private static let nameLists: [[Name]] = {
        let kinds: [Name] = [.rfc822, .otherName(encodedLength: 32), .otherName(encodedLength: 33), .other]
        let pairs = kinds.flatMap { first in kinds.map { [first, $0] } }
        let triples = pairs.flatMap { pair in kinds.map { pair + [$0] } }
        return [[]] + kinds.map { [$0] } + pairs + triples
    }()

    @Test(
        "Type, rule and warnings follow the rules for every key usage, list of names and kind of key",
        arguments: [false, true])
    func sweep(isElliptic: Bool) {
        let usages: [UInt16?] = [nil] + (0..<512).map { UInt16($0) }
        var count = 0
        for usage in usages {
            let bits = usage.map { value in Set((0..<9).filter { value & (1 << $0) != 0 }) }
            for names in Self.nameLists {
                let facts = CertificateFacts(
                    keyUsage: usage.map(KeyUsage.init(rawValue:)), isEllipticCurve: isElliptic,
                    alternativeNames: names)
                let classification = AliasClassification(facts)
                let wanted = Self.expected(bits, names)
                let warnings = Self.expectedWarnings(bits, names, isElliptic: isElliptic)
                count += 1
                // An expectation for each of the 43,605 cases would take a minute.
                if classification?.type.rawValue != wanted.type
                    || classification?.rule.rawValue != wanted.rule
                    || classification?.warnings.map(\.rawValue) != warnings
                {
                    Issue.record("\(facts): \(String(describing: classification)), not \(wanted) \(warnings)")
                }
            }
        }
        #expect(count == 513 * 85)
    }

    @Test("An otherName of 32 bytes is short, and one of 33 bytes is long")
    func lengths() {
        for length in 0...64 {
            let facts = CertificateFacts(keyUsage: nil, alternativeNames: [.otherName(encodedLength: length)])
            #expect(AliasClassification(facts)?.type == (length <= 32 ? .identity : .pivAuthentication))
        }
    }

    @Test("Facts without the order of the names have no alias type, even if the key usage would decide")
    func unknownOrder() {
        let usages: [KeyUsage?] = [nil, .digitalSignature, [.digitalSignature, .keyEncipherment]]
        for usage in usages {
            #expect(AliasClassification(CertificateFacts(keyUsage: usage, hasRFC822Name: true)) == nil)
        }
    }

    @Test("Every rule and every warning has its own sentence, and every rule its own type")
    func sentences() {
        let rules = AliasClassification.Rule.allCases
        #expect(Set(rules.map(\.message)).count == rules.count)
        #expect(Set(rules.map(\.type)) == Set(AliasType.allCases))
        let warnings = AliasClassification.Warning.allCases
        #expect(Set(warnings.map(\.message)).count == warnings.count)
    }

    @Test("The types are spelled as in the sample provider")
    func spelling() {
        #expect(
            AliasType.allCases.map(\.rawValue) == [
                "Device", "Encryption", "Digital Signature", "PIV Authentication", "Identity", "Other",
            ])
    }
}
