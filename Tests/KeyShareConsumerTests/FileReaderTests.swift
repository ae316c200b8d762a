import Diagnostics
import Foundation
import KeySharing
import OpenSSL
import SecretMemory
import Testing
import ZipBundles

@testable import KeyShareConsumer

@Suite("FileReader and PasswordOrigin", .timeLimit(.minutes(10)))
struct FileReaderTests {
    @Test("A file is a zip if it begins with an entry or an end record")
    func isZip() throws {
        let date = Date(timeIntervalSince1970: 1_700_000_000)
        #expect(ZipBundle.isArchive(try ZipBundle.create([], modified: date)))
        #expect(ZipBundle.isArchive(try ZipBundle.create([("a.p12", [1])], modified: date)))
        #expect(!ZipBundle.isArchive(try TestIdentity("a").file()))
        #expect(!ZipBundle.isArchive([]) && !ZipBundle.isArchive([0x50, 0x4B]))
    }

    @Test("A PKCS #12 file is read as one entry without a name")
    func singleFile() async throws {
        let identity = try TestIdentity("a")
        let entries = try await FileReader().entries(
            of: try identity.file(), password: SecretBytes(utf8: "password"))
        #expect(entries.map(\.name) == [nil])
        guard case .read(let contents) = entries.first?.contents else {
            Issue.record("the file opens under its password")
            return
        }
        #expect(contents.identities.map(\.label) == [identity.certificate.label])
    }

    @Test(
        "Files of an archive that exceed the total work limit are rejected, and earlier files are read"
    )
    func archiveBudget() async throws {
        let identity = try TestIdentity("a")
        let file = try PKCS12.create(
            privateKey: identity.privateKey, certificate: identity.certificate, friendlyName: nil,
            password: SecretBytes(utf8: "password"), profile: .modern.iterations(1_000))
        let archive = try ZipBundle.create(
            (10..<40).map { ("\($0).p12", file) }, modified: Date(timeIntervalSince1970: 1_700_000_000))
        var limits = PKCS12Limits.standard
        limits.patience = .milliseconds(1)
        let reader = FileReader(limits: limits)
        let entries = try await reader.entries(of: archive, password: SecretBytes(utf8: "password"))
        let isRead = entries.map { entry in
            if case .read = entry.contents { true } else { false }
        }
        let count = isRead.count { $0 }
        #expect((10..<30).contains(count))
        #expect(isRead == (0..<30).map { $0 < count })
        guard case .unreadable(let error) = entries.last?.contents else { return }
        #expect((error as? PKCS12Error) == PKCS12Error(.refused(limit: .work)))
    }

    @Test("The error for a wrong password names the source of the password, and other errors do not")
    func blame() throws {
        let wrong: any Error = try #require(
            #expect(throws: PKCS12Error.self) {
                try PKCS12.read(try TestIdentity("a").file(), password: .text(SecretBytes(utf8: "other")))
            })
        #expect((PasswordOrigin.user.blamed(for: wrong) as? PKCS12Error)?.code == .wrongPassword)
        let blamed = [PasswordOrigin.service, .silentService, .pasteboard].map {
            ($0.blamed(for: wrong) as? ImportError)?.code
        }
        #expect(blamed == [.servicePassword, .emptyAnswer, .pasteboardHoldsOther])
        let malformed: any Error = try #require(
            #expect(throws: PKCS12Error.self) { try PKCS12.read([0x30, 1], password: nil) })
        #expect(PasswordOrigin.service.blamed(for: malformed) is PKCS12Error)
        let other: any Error = ImportError(.nothingToImport, "")
        #expect((PasswordOrigin.service.blamed(for: other) as? ImportError)?.code == .nothingToImport)
    }
}
