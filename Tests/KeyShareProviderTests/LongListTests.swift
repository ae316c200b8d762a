import CertificateReading
import DeviceSimulation
import Foundation
import KeyShareProtocol
import KeyShareWire
import KeySharing
import OpenSSL
import PersistentToken
import SecretMemory
import TestSupport
import Testing

@testable import KeyShareProvider

@Suite("Limits of listed certificates and archives", .timeLimit(.minutes(10)))
struct LongListTests {
    private let scratch: ScratchFolder
    private let store: ProviderStore
    private let key: PrivateKey
    private static let date = Date(timeIntervalSince1970: 1_790_000_000)

    init() throws {
        scratch = try ScratchFolder()
        store = try ProviderStore(try Device(folder: scratch.path("device")))
        key = try PrivateKey.generate(.p256)
    }

    /// A certificate with many names, of at least `size` bytes and at most 200 more.
    private func certificate(_ size: Int) throws -> Certificate {
        func certificate(_ names: Int) throws -> Certificate {
            var template = CertificateTemplate(
                subject: try DistinguishedName([.init("CN", "EXAMPLE.DANA.1234567890")]), serialNumber: [1],
                notBefore: Self.date - 86_400, notAfter: Self.date + 86_400)
            template.keyUsage = .digitalSignature
            template.subjectAlternativeNames = (0..<names).map {
                .rfc822Name(String(repeating: "a", count: 80) + "\($0 + 1_000)@mail.example")
            }
            return try CertificateIssuer(selfSigned: template, privateKey: key).certificate
        }
        let (few, more) = (try certificate(300).der.count, try certificate(400).der.count)
        let found = try certificate(300 + (size - few) * 100 / (more - few) + 1)
        try #require((size...size + 200).contains(found.der.count))
        return found
    }

    @Test("Tokens and their objects are not listed if their certificates fit in no page")
    func tokens() async throws {
        let tokens = TokenStore(store)
        for (size, isListed, isObject) in [
            (19_700, true, true), (20_001, true, false), (59_700, true, false), (60_001, false, false),
        ] {
            _ = try tokens.removeAll()
            try tokens.add(try certificate(size), key, rule: .rfc5280)
            let token = TokenExtension(store, now: { .now }, sleep: { _ in })
            #expect(try await token.tokens(after: nil, limit: 9).entries.count == (isListed ? 1 : 0))
            #expect(try await token.tokenObjects(after: nil, limit: 9).objects.count == (isObject ? 1 : 0))
        }
    }

    @Test("Aliases are not listed if their certificates fit in no page")
    func aliases() async throws {
        let keyChain = try AliasStore(store) { Self.date }.keyChain
        try AliasAccess(store.device).setPermission(.granted, of: "app")
        let provider = try AliasContentProvider(store, now: { Self.date }, sleep: { _ in })
        for (size, count) in [(39_700, 1), (40_001, 0)] {
            let entry = KeyChainEntry(alias: "a", label: "l", certificate: try certificate(size).der)
            try keyChain.install([(entry, try key.pkcs8())])
            let query = AliasQueryRequest(app: "app", columns: ["alias"])
            #expect(try await provider.aliases(query, limit: 9).rows.count == count)
        }
    }

    @Test("An archive of more files than a zip may contain is refused before any file is created")
    func archive() async throws {
        let identity = IdentitySummary(try certificate(20_000))
        let exporter = Exporter(store, profile: .modern)
        let count = 4_096
        for (files, code) in [(count + 1, ProviderFailure.Code.refused), (1, .notAvailable)] {
            let error = await #expect(throws: ProviderFailure.self) {
                try await exporter.legacyArchive(
                    Array(repeating: identity, count: files), password: SecretBytes(utf8: "p"), now: Self.date
                )
            }
            #expect(error?.code == code)
        }
    }
}
