import Testing

@testable import KeySharing

@Suite("Classification", .timeLimit(.minutes(10)))
struct ClassificationTests {
    /// An independent implementation of the rules of docs/rules.md R5, as a table that is read from top to
    /// bottom.
    private func expected(
        bits: Set<Int>?, email: Bool, principal: Bool, elliptic: Bool, mechanism: Mechanism
    ) -> CredentialType {
        let signs = bits?.contains(0) ?? false
        let repudiation = bits?.contains(1) ?? false
        let enciphers = (bits?.contains(2) ?? false) || (elliptic && bits?.contains(4) ?? false)
        if bits == nil || bits == [] { return mechanism == .legacy ? .device : .unknown }
        if signs, enciphers { return mechanism == .legacy ? .multi : .device }
        if signs, repudiation { return .signature }
        if signs, email { return .signature }
        if signs, mechanism == .legacy { return .authentication }
        if signs, principal { return .authentication }
        if signs { return .device }
        if enciphers { return .encryption }
        return .unknown
    }

    @Test(
        "The type of a certificate follows the rules for every key usage, kind of name and kind of key",
        arguments: Mechanism.allCases)
    func sweep(mechanism: Mechanism) {
        let usages: [UInt16?] = [nil] + (0..<512).map { UInt16($0) }
        let flags = [false, true]
        for usage in usages {
            let bits = usage.map { value in Set((0..<9).filter { value & (1 << $0) != 0 }) }
            for email in flags {
                for principal in flags {
                    for other in flags {
                        for elliptic in flags {
                            let facts = CertificateFacts(
                                keyUsage: usage.map(KeyUsage.init(rawValue:)), isEllipticCurve: elliptic,
                                hasRFC822Name: email, hasUTF8OtherName: principal, hasOtherOtherName: other)
                            let type = Classification(facts, under: mechanism).type
                            let wanted = expected(
                                bits: bits, email: email, principal: principal, elliptic: elliptic,
                                mechanism: mechanism)
                            #expect(type == wanted, "\(facts)")
                        }
                    }
                }
            }
        }
    }

    @Test("Every rule of classification has its own sentence")
    func sentences() {
        let messages = Classification.Rule.allCases.map(\.message)
        #expect(Set(messages).count == messages.count)
    }
}
