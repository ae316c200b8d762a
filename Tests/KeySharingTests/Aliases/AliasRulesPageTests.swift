import Foundation
import Testing

@testable import KeySharing

/// Compares the tables of group R9 in docs/rules.md with the code.
@Suite("The rules of alias sharing in docs/rules.md", .timeLimit(.minutes(10)))
struct AliasRulesPageTests {
    /// Returns the cells of each table row of docs/rules.md that follows `heading`, up to the next heading.
    private static func rows(below heading: String) throws -> [[String]] {
        let package = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        let page = try String(contentsOf: package.appending(path: "docs/rules.md"), encoding: .utf8)
        let start = try #require(page.range(of: "\n\(heading)\n"))
        return page[start.upperBound...].split(separator: "\n").prefix { !$0.hasPrefix("#") }
            .filter { $0.hasPrefix("| ") }
            .map { $0.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) } }
    }

    @Test("R9.4 to R9.9 list the type and the code of every rule, in the order of the code")
    func rules() throws {
        let rows = try Self.rows(below: "### Types").filter { $0[0].hasPrefix("R9.") && $0.count == 5 }
        #expect(rows.map { $0[0] } == (4...9).map { "R9.\($0)" })
        let rules = AliasClassification.Rule.allCases
        #expect(rows.map { $0[2] } == rules.map { "`\($0.type)`" })
        #expect(rows.map { $0[3] } == rules.map { "`\($0.rawValue)`" })
    }

    @Test("The table of pitfalls lists every warning")
    func warnings() throws {
        let codes = AliasClassification.Warning.allCases.map { "`\($0.rawValue)`" }
        let rows = try Self.rows(below: "### Types").filter { codes.contains($0[0]) }
        #expect(rows.map { $0[0] } == codes)
    }

    /// The certificates of the table, in its order. The row about the order of names has two.
    private static let certificates: [[CertificateFacts]] = {
        let (short, long) = (
            CertificateFacts.AlternativeName.otherName(encodedLength: 32),
            CertificateFacts.AlternativeName.otherName(encodedLength: 41)
        )
        func facts(
            _ usage: KeyUsage?, _ names: [CertificateFacts.AlternativeName], isPrincipal: Bool = true,
            isElliptic: Bool = false
        ) -> CertificateFacts {
            let hasOtherName = names.contains { $0 != .rfc822 }
            return CertificateFacts(
                keyUsage: usage, isEllipticCurve: isElliptic, hasRFC822Name: names.contains(.rfc822),
                hasUTF8OtherName: hasOtherName && isPrincipal,
                hasOtherOtherName: hasOtherName && !isPrincipal,
                alternativeNames: names)
        }
        let signature: KeyUsage = [.digitalSignature, .nonRepudiation]
        return [
            [facts(.digitalSignature, [long, short])], [facts(.digitalSignature, [short])],
            [facts(.digitalSignature, [long], isPrincipal: false)], [facts(.digitalSignature, [])],
            [facts(signature, [.rfc822, short])],
            [facts(signature, [short, .rfc822]), facts(signature, [long, .rfc822])],
            [facts(signature, [])], [facts(.digitalSignature, [.rfc822])],
            [facts(.keyEncipherment, [.rfc822])],
            [facts(.keyAgreement, [.rfc822], isElliptic: true)],
            [facts([.digitalSignature, .keyEncipherment], [])], [facts(nil, [])], [facts(nil, [.rfc822])],
            [facts(.nonRepudiation, [.rfc822]), facts(.dataEncipherment, [.rfc822])],
            [facts(.keyCertSign, [])],
        ]
    }()

    /// Whether an alias type means the same as a type of key sharing.
    private static func correspond(_ alias: AliasType, _ type: CredentialType) -> Bool {
        switch alias {
        case .device: type == .device
        case .encryption: type == .encryption
        case .digitalSignature: type == .signature
        case .pivAuthentication: type == .authentication
        case .other: type == .unknown
        case .identity: false
        }
    }

    @Test(
        "The table of disagreements has the types of each certificate, and marks those that disagree with 2025"
    )
    func disagreements() throws {
        let rows = try Self.rows(below: "### Where the three disagree").dropFirst()
        #expect(rows.count == Self.certificates.count)
        for (row, certificates) in zip(rows, Self.certificates) {
            var aliases: [String] = []
            for facts in certificates {
                let modern = Classification(facts, under: .keySharing2025).type
                #expect(row[1] == Classification(facts, under: .legacy).type.rawValue, "\(row)")
                #expect(row[2] == modern.rawValue, "\(row)")
                let alias = try #require(AliasClassification(facts)).type
                let cell = Self.correspond(alias, modern) ? "\(alias)" : "**\(alias)**"
                if !aliases.contains(cell) { aliases.append(cell) }
            }
            #expect(row[3] == aliases.joined(separator: " or "), "\(row)")
        }
    }
}
