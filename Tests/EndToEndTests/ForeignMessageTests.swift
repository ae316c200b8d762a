import CommandSupport
import Foundation
import KeyShareConsumerCommand
import TestSupport
import Testing

/// Messages and identities created with `openssl`, as other programs create them.
@Suite("Messages and identities of other programs", .timeLimit(.minutes(10)))
struct ForeignMessageTests {
    private let simulation: Simulation

    init() async throws {
        simulation = try Simulation()
        _ = try simulation.write("A secret\n", as: "secret.txt")
        let before = Date().addingTimeInterval(-30 * 86_400).ISO8601Format()
        let run = try await simulation.provider(
            "provision", "--person", "EXAMPLE.DANA.1234567890", "--types", "encryption,signature",
            "--generations", "1", "--at",
            before)
        #expect(run.status == 0, "\(run.errors)")
        try await simulation.serve()
        let imported = try await simulation.consumer("import", "All.zip", "--uti", "purebred2025.zip.all")
        #expect(imported.status == 0, "\(imported.errors)")
        _ = try simulation.write("Content-Type: text/plain\r\n\r\nhello\r\n", as: "text")
    }

    private func path(_ name: String) -> String { simulation.scratch.path(name) }

    private func shell(_ script: String) async throws {
        let run = try await TerminalRun.run(
            "set -e -o pipefail\n" + script, columns: 200, in: simulation.scratch.path,
            environment: ["TERM": "dumb"])
        try #require(run.status == 0, "\(run.lines)")
    }

    /// Writes the certificate of the encryption identity to `encryption.pem`.
    private func writeEncryptionCertificate() async throws {
        let run = try await simulation.provider(
            "export", "--all", "-o", path("keys"), "--password-file", path("secret.txt"), "--profile",
            "compatible")
        #expect(run.status == 0, "\(run.errors)")
        try await shell(
            """
            openssl pkcs12 -legacy -in keys/encryption_*.p12 -passin file:secret.txt -nokeys -clcerts 2>/dev/null \\
              | openssl x509 -out encryption.pem
            """)
    }

    private func decrypt(_ file: String) async throws -> DecryptionDocument.Message {
        let run = try await simulation.consumer("decrypt", "--json", path(file))
        return try #require(try run.document(DecryptionDocument.self).messages.first)
    }

    /// Imports a new self-signed Ed25519 identity for signatures.
    private func importEd25519() async throws {
        try await shell(
            """
            openssl req -x509 -newkey ed25519 -nodes -keyout ed.pem -out ed.crt -subj /CN=EXAMPLE.CARLOS.2345678901 \\
              -addext keyUsage=critical,digitalSignature,nonRepudiation -days 30 2>/dev/null
            openssl pkcs12 -export -in ed.crt -inkey ed.pem -passout file:secret.txt -out ed.p12
            """)
        let run = try await simulation.consumer(
            "import", "--file", path("ed.p12"), "--password-file", path("secret.txt"))
        #expect(run.status == 0, "\(run.errors)")
    }

    @Test("Sign skips an Ed25519 identity, and rejects it if named, with a hint to a usable label")
    func ed25519() async throws {
        let usable = try #require(try await simulation.held().first { $0.type == "signature" }).label
        try await importEd25519()
        let held = try await simulation.held().filter { $0.type == "signature" }.map(\.label)
        let unusable = try #require(held.first { $0 != usable })
        // The newest identity comes first.
        #expect(held == [unusable, usable])
        let run = try await simulation.consumer("sign", path("text"), "-o", path("signed.eml"))
        #expect(run.status == 0, "\(run.errors)")
        #expect(run.errors.contains("skipped \(unusable): its key is of type Ed25519"))
        #expect(run.errors.contains("signed as EXAMPLE.DANA.1234567890"))
        let named = try await simulation.consumer(
            "sign", path("text"), "-o", path("named.eml"), "--label", unusable)
        #expect(named.status == 7, "\(named.errors)")
        #expect(named.errors.contains("\(unusable) has a key of type Ed25519"))
        #expect(named.errors.contains("hint: use another identity: --label \(usable)"))
        #expect(try await simulation.consumer("clear", "--yes").status == 0)
        try await importEd25519()
        let only = try await simulation.consumer("sign", path("text"), "-o", path("only.eml"))
        #expect(
            only.status == 7 && only.errors.contains("Ed25519") && only.errors.contains("hint: import one"))
        #expect(!FileManager.default.fileExists(atPath: path("only.eml")))
    }

    @Test("Decrypting a message with a mailing-list footer omits the footer and reports it")
    func listFooter() async throws {
        try await writeEncryptionCertificate()
        try await shell(
            #"""
            openssl cms -encrypt -aes256 -binary -in text -out part encryption.pem
            { printf 'Subject: a list\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n--b\n'
              cat part; printf '\n--b\nContent-Type: text/plain\n\nthe footer\n--b--\n'; } > list.eml
            """#)
        let run = try await simulation.consumer("decrypt", path("list.eml"))
        #expect(run.status == 0 && run.text == "Content-Type: text/plain\r\n\r\nhello\r\n", "\(run.errors)")
        #expect(run.errors.contains("opened only part 1 of the file"))
        #expect(run.errors.contains("warning: part 2 (text/plain) is not protected; it was not written"))
        let message = try await decrypt("list.eml")
        #expect(message.part == "1" && message.otherParts.map(\.part) == ["2"] && message.subject == "a list")
        let table = try await simulation.consumer("decrypt", path("list.eml"), path("list.eml"))
        #expect(table.text.contains("only part 1") && table.errors.contains("warning: parts outside"))
    }

    @Test("The error names the issuer if only the serial number matches an imported certificate")
    func sameSerial() async throws {
        try await writeEncryptionCertificate()
        try await shell(
            """
            serial=$(openssl x509 -in encryption.pem -noout -serial | cut -d= -f2)
            openssl req -x509 -newkey rsa:2048 -nodes -keyout other.key -out other.pem -subj '/CN=Another Issuer' \\
              -set_serial 0x$serial -days 30 2>/dev/null
            openssl cms -encrypt -aes256 -in text -out other.eml other.pem
            """)
        let run = try await simulation.consumer("decrypt", path("other.eml"))
        #expect(run.status == 9 && run.output.isEmpty)
        #expect(run.errors.contains("(issued by CN=Another Issuer), which was not imported"), "\(run.errors)")
    }

    @Test("Weak signatures and signatures on altered messages fail authentication, with a reason")
    func unauthenticated() async throws {
        try await writeEncryptionCertificate()
        try await shell(
            """
            openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out signer.pem -subj /CN=Signer -days 30 2>/dev/null
            openssl cms -sign -in text -signer signer.pem -inkey key.pem -md md5 -out md5.eml
            openssl cms -sign -in text -signer signer.pem -inkey key.pem -out strong.eml
            openssl cms -encrypt -aes256 -binary -in text -out inner.eml encryption.pem
            openssl cms -sign -binary -nodetach -in inner.eml -signer signer.pem -inkey key.pem -out wrapped.eml
            """)
        let run = try await simulation.consumer("decrypt", path("md5.eml"))
        #expect(run.status == 0)
        #expect(run.errors.contains("its digest algorithm is MD5, below security level 2"), "\(run.errors)")
        #expect(run.errors.contains("warning: not authenticated"))
        let weak = try await decrypt("md5.eml")
        #expect(
            weak.authenticated == false
                && weak.weakSignatures.map(\.reason) == ["its digest algorithm is MD5"])
        let wrapped = try await decrypt("wrapped.eml")
        #expect(
            wrapped.authenticated == false && wrapped.weakSignatures.isEmpty && wrapped.signers.count == 1)
        #expect(try await decrypt("strong.eml").authenticated == true)
    }
}
