import CommandSupport
import Fixtures
import Foundation
import KeyShareConsumerCommand
import TestSupport
import TestVectors
import Testing

@Suite("Inspect, end to end", .timeLimit(.minutes(10)))
struct InspectTests {
    private let simulation: Simulation
    private let password: [String]

    init() throws {
        simulation = try Simulation()
        password = [
            "--password-file",
            try simulation.write(Fixtures.entry("all-types.zip")?.password ?? "", as: "password"),
        ]
    }

    private func path(_ fixture: String) -> String { Fixtures.url(of: fixture).path }

    @Test("Inspect shows every entry of a zip, and totals for the archive")
    func zip() async throws {
        let run = try await simulation.consumer(["inspect", path("all-types.zip"), "--json"] + password)
        #expect(run.status == 0)
        let document = try run.document(InspectionDocument.self)
        #expect(document.format == "zip" && document.verdict == "ok")
        let entries = try #require(document.entries)
        #expect(entries.count == 4)
        #expect(entries.allSatisfy { $0.format == "pkcs12" && $0.verdict == "ok" })
        #expect(entries.allSatisfy { $0.mac.present })
        let identities = entries.flatMap(\.identities)
        #expect(document.identities.map(\.label) == identities.map(\.label))
        let types = Set(document.identities.map(\.type))
        #expect(types.count == 4)
        #expect(document.certificates == 4)
        let text = try await simulation.consumer(["inspect", path("all-types.zip")] + password).text
        for entry in entries { #expect(text.contains("\n\(entry.entry ?? "")")) }
    }

    @Test("A defective zip entry determines exit code and verdict, and the other entries are still shown")
    func badEntry() async throws {
        let run = try await simulation.consumer(
            ["inspect", path("zip-broken-entry.zip"), "--json"] + password)
        #expect(run.status == 5)
        let document = try run.document(InspectionDocument.self)
        #expect(document.verdict == "malformed")
        let entries = try #require(document.entries)
        #expect(entries.count { $0.verdict == "ok" } > 0)
        #expect(entries.first { $0.verdict != "ok" }?.error?.code == "malformed")
        #expect(run.errors.contains("zip-broken-entry.zip") == false)
        #expect(run.errors.contains(entries.first { $0.verdict != "ok" }?.entry ?? "none"))
    }

    @Test("Entries with the same name are all shown and imported, and a note marks the later one")
    func repeatedNames() async throws {
        let file = path("zip-duplicate-name.zip")
        let run = try await simulation.consumer(["inspect", file, "--json"] + password)
        #expect(run.status == 0)
        let entries = try #require(try run.document(InspectionDocument.self).entries)
        #expect(entries.map(\.entry) == ["good.p12", "good.p12"])
        #expect(entries.map { $0.notes.count { $0.contains("same name") } } == [0, 1])
        let imported = try await simulation.consumer(["import", "--file", file, "--json"] + password)
        #expect(imported.status == 0)
        let rows = try imported.document(ImportDocument.self).results
        #expect(rows.map(\.status) == [.imported, .imported])
        #expect(rows.map { $0.note != nil } == [false, true])
        #expect(imported.errors.contains("good.p12: an earlier entry of the archive has the same name"))
    }

    @Test("The JSON of a file lists the encrypted parts with their algorithms")
    func encryption() async throws {
        let run = try await simulation.consumer(
            ["inspect", path("signature-purebred-sample.p12"), "--json"] + password)
        let document = try run.document(InspectionDocument.self)
        #expect(document.encryption.map(\.covers) == ["certificates", "keys"])
        #expect(
            document.encryption.map(\.scheme)
                == ["pbeWithSHA1And40BitRC2-CBC", "pbeWithSHA1And3-KeyTripleDES-CBC"])
        #expect(document.encryption.map(\.cipher) == ["RC2-40-CBC", "DES-EDE3-CBC"])
        #expect(document.encryption.map(\.keyLength) == [5, 24])
        #expect(document.encryption.allSatisfy { $0.kdf == "PKCS12KDF" && $0.prf == "SHA-1" })
        #expect(document.encryption.allSatisfy { $0.iterations == 2_048 && $0.saltLength == 8 })
        #expect(
            document.encryptionText
                == ["pbeWithSHA1And40BitRC2-CBC 2048", "pbeWithSHA1And3-KeyTripleDES-CBC 2048"])
        #expect(document.mac.saltLength == 8)
        let modern = try await simulation.consumer(
            ["inspect", path("signature-modern.p12"), "--json"] + password)
        let layers = try modern.document(InspectionDocument.self).encryption
        #expect(layers.map(\.scheme) == ["PBES2", "PBES2"] && layers.map(\.kdf) == ["PBKDF2", "PBKDF2"])
        #expect(layers.map(\.prf) == ["HMAC-SHA-256", "HMAC-SHA-256"])
        #expect(
            layers.map(\.cipher) == ["AES-256-CBC", "AES-256-CBC"] && layers.map(\.keyLength) == [32, 32])
    }

    @Test(
        "Inspect rejects an archive as a whole with the same exit code as import",
        arguments: [("zip-bomb.zip", 10), ("zip-truncated.zip", 5), ("zip-overlap.zip", 10)])
    func refused(file: String, status: Int32) async throws {
        let run = try await simulation.consumer(["inspect", path(file), "--json"] + password)
        #expect(run.status == status)
        let document = try run.document(InspectionDocument.self)
        #expect(document.format == "zip" && document.verdict == (status == 10 ? "refused" : "malformed"))
        #expect(document.identities.isEmpty)
    }

    @Test("Certificates are read from DER, and from PEM with or without surrounding text")
    func certificates() async throws {
        let pem = try await simulation.consumer("inspect", path("pem-text.p12"), "--json")
        #expect(pem.status == 0)
        #expect(try pem.document(InspectionDocument.self).format == "pem")
        let der = try await simulation.consumer("inspect", path("bare-certificate.p12"), "--json")
        let document = try der.document(InspectionDocument.self)
        #expect(der.status == 0 && document.format == "der" && document.certificates == 1)
        #expect(document.certificatesWithoutKey.count == 1 && document.identities.isEmpty)
        #expect(document.mac.present == false && document.file == nil)
        let trust = try await simulation.consumer("inspect", path("trust.pem"))
        #expect(trust.status == 0)
        #expect(trust.text.contains("Test Root CA 1") && trust.text.contains("Test Email CA 1"))
    }

    @Test("PEM text is malformed if it has no certificate or a damaged one")
    func noCertificate() async throws {
        let begin = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"
        for text in [begin, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
            let run = try await simulation.consumer(
                "inspect", try simulation.write(text, as: "some.pem"), "--json")
            #expect(run.status == 5)
            #expect(try run.document(InspectionDocument.self).verdict == "malformed")
        }
    }

    @Test("Each of several files has its own document, and the first failure determines the exit code")
    func several() async throws {
        let files = [
            path("signature-modern.p12"), simulation.scratch.path("missing"), path("other-password.p12"),
            path("bare-certificate.p12"),
        ]
        let run = try await simulation.consumer(["inspect"] + files + ["--json"] + password)
        #expect(run.status == 74)
        #expect(try run.errorCode() == "unreadable")
        let documents = try run.document(InspectionsDocument.self).files
        #expect(documents.map(\.file) == files)
        #expect(documents.map { $0.verdict == "ok" } == [true, false, false, true])
        #expect(documents[2].verdict == "wrong-password" && documents[2].error?.code == "wrong-password")
        #expect(documents[0].error == nil && documents[0].identities.count == 1)
        #expect(run.errors.contains(files[2] + ": "))
        let text = try await simulation.consumer(["inspect"] + files + password)
        #expect(text.text.hasPrefix("\(files[0]):\nverdict"))
    }

    @Test("The JSON document of a single file keeps the format that scripts read")
    func one() async throws {
        let run = try await simulation.consumer(
            ["inspect", path("signature-modern.p12"), "--json"] + password)
        let object = try #require(try JSONSerialization.jsonObject(with: run.output) as? [String: Any])
        #expect(object["files"] == nil && object["file"] == nil && object["entries"] == nil)
        #expect(object["verdict"] as? String == "ok")
        #expect((object["identities"] as? [Any])?.count == 1)
    }

    @Test("Purposes and policies are shown by name and number, and the fields of a FASC-N by name")
    func names() async throws {
        try await simulation.provider(
            "provision", "--key", "p256", "--types", "authentication", "--generations", "1", "--person",
            "Dana Example")
        let label = try #require(
            try await simulation.provider("list", "piv", "--json")
                .document(ItemListingDocument.self).items.first?.identity?.label)
        let text = try await simulation.provider("show", label).text
        for part in [
            "smart card logon (1.3.6.1.4.1.311.20.2.2)",
            "test FPKI common authentication (2.16.840.1.101.3.2.1.48.11)", "agency code 9700",
            "organizational category 1 (federal government agency)",
            "person/organization association category 2 (civil)",
        ] {
            #expect(text.contains(part), "\(part) in \(text)")
        }
        let certificate = try await simulation.provider("show", label, "--json")
            .document(HeldIdentityDocument.self).certificate
        #expect(certificate.purposes?.map(\.oid) == certificate.extendedKeyUsage)
        #expect(certificate.purposes?.first?.name == "smart card logon")
        #expect(certificate.policyNames.map(\.oid) == certificate.policies)
        #expect(certificate.policyNames.first?.name == "test FPKI common hardware")
        let number = try #require(certificate.fascn)
        #expect(number.personIdentifier == certificate.edipi && number.agencyCode == "9700")
        #expect(
            certificate.subjectAltNames.contains(
                "FASC-N:9700-\(number.systemCode)-\(number.credentialNumber)-0-1-\(number.personIdentifier)-1-9700-2"
            ))
    }

    @Test("With a wrong password, inspect shows the contents as unknown and names a likely typing mistake")
    func hidden() async throws {
        let wrong = try simulation.write("not it", as: "wrong")
        let file = path("other-password.p12")
        let run = try await simulation.consumer("inspect", file, "--password-file", wrong, "--json")
        #expect(run.status == 3)
        let document = try run.document(InspectionDocument.self)
        #expect(document.certificates == nil && document.otherBags == nil)
        #expect(document.keysWithoutCertificate == nil)
        #expect(run.text.contains(#""certificates" : null"#))
        let text = try await simulation.consumer("inspect", file, "--password-file", wrong).text
        #expect(text.contains("certificates  unknown") && text.contains("other bags    unknown"))

        let right = String(decoding: try simulation.scratch.read("password"), as: UTF8.self)
        let slipped = try simulation.write(right + " ", as: "slipped")
        let slip = try await simulation.consumer(
            "inspect", path("signature-modern.p12"), "--password-file", slipped, "--json")
        #expect(slip.status == 3)
        let message = try slip.document(InspectionDocument.self).message
        #expect(message == "the password is wrong: the file opens without the whitespace at the end")
        let none = try await simulation.consumer("inspect", path("signature-modern.p12"))
        #expect(none.status == 3 && none.errors.contains("a password is required"))
    }
}
