import CommandSupport
import Foundation
import KeyShareProviderCommand
import OpenSSL
import StandardExtensions
import TestSupport
import Testing

@Suite("Revoke and show, end to end", .timeLimit(.minutes(10)))
struct RevokeTests {
    private let simulation: Simulation

    init() async throws {
        simulation = try Simulation()
        try await simulation.provider(
            "provision", "--key", "p256", "--generations", "2", "--types", "signature,encryption", "--person",
            "Dana Example")
    }

    private func labels() async throws -> [String] {
        try await simulation.items().filter { $0.kind == "pkcs12" }.map(\.identifier)
    }

    /// The serial numbers on the provider's revocation lists with their reasons.
    private func listed() async throws -> [String: Int?] {
        let text = try await simulation.provider("trust", "--crl")
        let lists = try CertificateRevocationList.pem([UInt8](text.output))
        return Dictionary(
            lists.flatMap(\.entries).map { ($0.serialNumber.upperHex, $0.reason) }, uniquingKeysWith: { $1 })
    }

    private func results(_ run: CommandRun) throws -> [RevocationDocument.Result] {
        try run.document(RevocationDocument.self).results
    }

    @Test("Revoked identities appear on their issuer's list immediately, with the reason and only once")
    func revoke() async throws {
        let labels = try await labels()
        #expect(try await listed().isEmpty)
        let run = try await simulation.provider(
            "revoke", String(labels[0].prefix(16)), labels[1], "--reason", "superseded", "--at", "2026-11-01",
            "--json")
        #expect(run.status == 0)
        let rows = try results(run)
        #expect(rows.map(\.status) == [.revoked, .revoked])
        #expect(rows.map(\.identity?.label) == [labels[0], labels[1]])
        #expect(
            rows.allSatisfy {
                $0.reason == "superseded" && $0.identity?.person?.hasPrefix("EXAMPLE.") == true
            })
        let serials = rows.compactMap(\.identity?.serial)
        #expect(try await listed() == Dictionary(uniqueKeysWithValues: serials.map { ($0, 4) }))

        let again = try await simulation.provider(
            "revoke", labels[0], labels[2], "--reason", "unspecified", "--json")
        #expect(again.status == 0)
        let later = try results(again)
        #expect(later.map(\.status) == [.alreadyRevoked, .revoked])
        #expect(later[0].reason == "superseded" && later[0].revoked == rows[0].revoked)
        let list = try await listed()
        #expect(list.count == 3 && list[serials[0]] == 4)
        // RFC 5280, 5.3.1: an unspecified reason is omitted.
        #expect(list[later[1].identity?.serial ?? ""] == .some(nil))
    }

    @Test("Revoke tries every label, and an unknown label exits with 9")
    func unknown() async throws {
        let label = try #require(try await labels().first)
        let run = try await simulation.provider("revoke", "0000000000000000FFFF", label, "--json")
        #expect(run.status == 9)
        #expect(run.errors.contains("hint: to list the identities: keyshare-provider list"))
        let rows = try results(run)
        #expect(rows.map(\.status) == [.failed, .revoked])
        #expect(rows[0].error?.code == "no-such-identity" && rows[1].error == nil)
        #expect(try await listed().count == 1)
        #expect(try await simulation.provider("revoke", label, "--reason", "removeFromCRL").status == 64)
        #expect(try await simulation.provider("revoke").status == 64)
    }

    @Test("An identity of another PKI cannot be revoked")
    func foreign() async throws {
        let other = ["--device", simulation.scratch.path("other")]
        _ = try await RunningCommand(
            .provider, ["provision", "--key", "p256", "--generations", "1", "--types", "signature"] + other
        ).finish()
        let password = try simulation.write("password", as: "password")
        let file = simulation.scratch.path("foreign.p12")
        let list = try await RunningCommand(.provider, ["list", "--json"] + other).finish()
        let item = try #require(try list.document(ItemListingDocument.self).items.first).identifier
        _ = try await RunningCommand(
            .provider, ["export", item, "-o", file, "--password-file", password] + other
        ).finish()
        #expect(try await simulation.provider("import", file, "--password-file", password).status == 0)
        let run = try await simulation.provider("revoke", item, "--json")
        #expect(run.status == 10)
        #expect(try results(run).first?.error?.code == "not-revocable")
        #expect(try await listed().isEmpty)
    }

    @Test("Verify with the provider's list finds revoked identities")
    func verify() async throws {
        let label = try #require(try await labels().first)
        let (trust, list) = (simulation.scratch.path("trust.pem"), simulation.scratch.path("list.pem"))
        let (file, password) = (
            simulation.scratch.path("file.p12"), try simulation.write("password", as: "password")
        )
        try await simulation.provider("export", label, "-o", file, "--password-file", password)
        try await simulation.provider("trust", "-o", trust)
        func verify() async throws -> Int32 {
            try await simulation.provider("trust", "--crl", "-o", list, "--force")
            return try await simulation.consumer(
                "verify", "--file", file, "--password-file", password, "--trust", trust, "--crl", list
            ).status
        }
        #expect(try await verify() == 0)
        try await simulation.provider("revoke", label)
        #expect(try await verify() == 7)
    }

    @Test("Show prints all details of one identity, and its revocation")
    func show() async throws {
        let label = try #require(try await labels().first)
        let run = try await simulation.provider("show", String(label.prefix(10)), "--json")
        #expect(run.status == 0)
        let shown = try run.document(HeldIdentityDocument.self)
        #expect(shown.label == label && shown.certificate.label == label && shown.revoked == nil)
        #expect(shown.accessGroup.hasSuffix("red.hound.keyshare.shared"))
        #expect(shown.certificate.subject.contains("CN=EXAMPLE.DANA."))
        try await simulation.provider("revoke", label, "--reason", "cessationOfOperation")
        let revoked = try await simulation.provider("show", label, "--json").document(
            HeldIdentityDocument.self)
        #expect(revoked.revoked != nil && revoked.revocationReason == "cessationOfOperation")
        #expect(try await simulation.provider("show", label).text.contains("cessationOfOperation"))
        let none = try await simulation.provider("show", "0000000000000000FFFF")
        #expect(
            none.status == 9 && none.errors.contains("hint: to list the identities: keyshare-provider list"))
        #expect(try await simulation.provider("show", "").status != 0)
    }
}
