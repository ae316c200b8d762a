import CommandSupport
import Foundation
import KeyShareConsumerCommand
import TestSupport
import Testing

@Suite("Inspect as a linter, end to end", .timeLimit(.minutes(10)))
struct InspectMaterialTests {
    private let simulation: Simulation

    init() throws { simulation = try Simulation() }

    private func path(_ name: String) -> String { simulation.scratch.path(name) }

    private func inspect(_ arguments: String...) async throws -> InspectionDocument {
        let run = try await simulation.consumer(["inspect"] + arguments + ["--json"])
        #expect(run.status == 0, "\(run.errors)")
        return try run.document(InspectionDocument.self)
    }

    /// Runs a shell script in the scratch folder.
    private func shell(_ script: String) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-ec", script]
        process.currentDirectoryURL = URL(fileURLWithPath: path("."))
        process.standardError = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
    }

    private func provision() async throws {
        try await simulation.provider(
            "provision", "--key", "p256", "--generations", "1", "--person", "Dana Example")
    }

    @Test("Authorities in PEM and in a configuration profile are shown as such, without errors and warnings")
    func authorities() async throws {
        try await provision()
        try await simulation.provider("trust", "-o", path("ca.pem"))
        try await simulation.provider("trust", "-o", path("ca.mobileconfig"))
        let pem = try await inspect(path("ca.pem"))
        let profile = try await inspect(path("ca.mobileconfig"))
        #expect(pem.format == "pem" && profile.format == "mobileconfig")
        #expect(pem.certificatesWithoutKey.map(\.label) == profile.certificatesWithoutKey.map(\.label))
        for certificate in pem.certificatesWithoutKey + profile.certificatesWithoutKey {
            #expect(certificate.details?.authority != nil && certificate.details?.basicConstraints != nil)
            #expect(certificate.findings.allSatisfy { $0.severity == "notice" }, "\(certificate.findings)")
        }
        let document = try #require(profile.profile)
        #expect(document.name == "Test PKI" && !document.signed)
        #expect(document.payloads.map(\.type).first == "com.apple.security.root")
        #expect(document.findings.map(\.code) == ["profile-unsigned"])
        let text = try await simulation.consumer("inspect", path("ca.pem")).text
        #expect(text.contains("  type                    root\n") && !text.contains("unknown"))
    }

    @Test("A signed configuration profile is read, and its signer is listed")
    func signedProfile() async throws {
        try await provision()
        try await simulation.provider("trust", "-o", path("ca.mobileconfig"))
        try shell(
            """
            openssl req -x509 -newkey rsa:2048 -nodes -keyout k.pem -out c.pem -subj /CN=Signer
            openssl smime -sign -binary -nodetach -outform der -signer c.pem -inkey k.pem \
              -in ca.mobileconfig -out signed.mobileconfig
            """)
        let document = try #require(try await inspect(path("signed.mobileconfig")).profile)
        #expect(document.signed && document.findings.isEmpty && document.name == "Test PKI")
        #expect(document.signerCertificates.map(\.person) == ["Signer"])
        let text = try await simulation.consumer("inspect", path("signed.mobileconfig")).text
        #expect(text.contains("certificate of the signature") && text.contains("payload type"))
    }

    @Test("Identities of every built-in type have no errors and no warnings")
    func identities() async throws {
        try await provision()
        try await simulation.provider(
            "export", "--all", "-o", path("keys"), "--password-file", try simulation.write("x", as: "secret"))
        let files = try simulation.scratch.names(path("keys")).filter { $0.hasSuffix(".p12") }
        #expect(!files.isEmpty)
        for file in files {
            let document = try await inspect(path("keys") + "/" + file, "--password-file", path("secret"))
            let identity = try #require(document.identities.first)
            #expect(identity.findings.allSatisfy { $0.severity == "notice" }, "\(identity.findings)")
            #expect(identity.details?.authority == nil && identity.details?.crlURLs.isEmpty == false)
        }
    }

    @Test("The provider's revocation lists have no findings, and lists from `openssl ca -gencrl` can be read")
    func revocationLists() async throws {
        try await provision()
        try await simulation.provider("trust", "--crl", "-o", path("lists.pem"))
        let ours = try await inspect(path("lists.pem")).revocationLists
        #expect(ours.count == 4 && ours.allSatisfy { $0.findings.isEmpty && $0.number != nil })
        try shell(
            """
            printf '%s\\n' '[ca]' 'default_ca=x' '[x]' 'database=index' 'default_md=sha256' \
              'default_crl_days=30' 'crlnumber=number' > ca.cnf
            printf 'R\\t300101000000Z\\t260101000000Z,keyCompromise\\t0A\\tunknown\\t/CN=A\\n' > index
            echo 01 > number
            openssl req -x509 -newkey rsa:2048 -nodes -keyout k.pem -out c.pem -subj /CN=CA
            openssl ca -config ca.cnf -gencrl -keyfile k.pem -cert c.pem -out list.pem
            openssl crl -in list.pem -outform der -out list.der
            : > index
            openssl ca -config ca.cnf -gencrl -keyfile k.pem -cert c.pem -out empty.pem
            """)
        for name in ["list.pem", "list.der"] {
            let list = try #require(try await inspect(path(name)).revocationLists.first)
            #expect(list.entryCount == 1 && list.entries.map(\.serial) == ["0A"])
            #expect(list.entries.map(\.reason) == ["keyCompromise"] && list.issuer == "CN=CA")
            #expect(list.findings.map(\.code) == ["list-authority-key-identifier-missing"])
        }
        let empty = try #require(try await inspect(path("empty.pem")).revocationLists.first)
        #expect(empty.entryCount == 0 && empty.entries.isEmpty)
        let text = try await simulation.consumer("inspect", path("list.pem")).text
        #expect(text.contains("0A on 2026-01-01") && text.contains("keyCompromise"))
        #expect(text.contains("  error    list-authority-key-identifier-missing  the authority key"))
    }

    @Test(
        "Private keys in every supported structure are described, and nothing secret is printed",
        arguments: [
            ("rsa", "-traditional", "RSA"), ("rsa", "", "RSA"), ("ec", "-traditional", "EC"),
            ("ec", "", "EC"),
        ])
    func privateKeys(algorithm: String, option: String, name: String) async throws {
        let parameters = algorithm == "rsa" ? "rsa_keygen_bits:1024" : "ec_paramgen_curve:P-256"
        try shell(
            """
            openssl genpkey -algorithm \(algorithm) -pkeyopt \(parameters) -out plain.pem
            openssl pkey -in plain.pem \(option) -out key.pem
            openssl pkey -in plain.pem \(option) -outform der -out key.der
            openssl pkey -in plain.pem -pubout -out public.pem
            openssl pkey -in plain.pem -pubout -outform der -out public.der
            """)
        for file in ["key.pem", "key.der"] {
            let run = try await simulation.consumer("inspect", path(file), "--json")
            let key = try #require(try run.document(InspectionDocument.self).privateKeys.first)
            #expect(key.type == name && !key.encrypted)
            #expect(key.findings.map(\.code) == (algorithm == "rsa" ? ["weak-rsa-key"] : []))
            let publicKey = try #require(try await inspect(path("public.pem")).publicKeys.first)
            #expect(key.publicKeySHA256 == publicKey.publicKeySHA256 && publicKey.bits == key.bits)
            // The keys' own octets appear neither in hexadecimal nor in base64.
            let pem = try String(contentsOfFile: path("key.pem"), encoding: .utf8)
            let line = try #require(pem.split(separator: "\n").dropFirst().first)
            let text = try await simulation.consumer("inspect", path(file)).text
            #expect(!text.contains(line) && !run.text.contains(line))
        }
        #expect(try await inspect(path("public.der")).publicKeys.map(\.type) == [name])
    }

    @Test("Encrypted private keys are listed, with the encryption scheme if it is known")
    func encryptedKeys() async throws {
        try shell(
            """
            openssl genpkey -algorithm rsa -pkeyopt rsa_keygen_bits:2048 -out plain.pem
            openssl pkcs8 -topk8 -in plain.pem -passout pass:x -out new.pem
            openssl pkcs8 -topk8 -in plain.pem -passout pass:x -outform der -out new.der
            openssl rsa -in plain.pem -traditional -aes256 -passout pass:x -out old.pem
            """)
        for (file, scheme) in [("new.pem", "PBES2"), ("new.der", "PBES2"), ("old.pem", nil)] {
            let key = try #require(try await inspect(path(file)).privateKeys.first)
            #expect(key.encrypted && key.encryption == scheme && key.publicKeySHA256 == nil)
            let parameters = key.encryptionParameters
            #expect(parameters?.cipher == scheme.map { _ in "AES-256-CBC" })
            #expect(parameters?.kdf == scheme.map { _ in "PBKDF2" })
            #expect(parameters?.prf == scheme.map { _ in "HMAC-SHA-256" })
            #expect(parameters?.iterations == scheme.map { _ in 2_048 })
            #expect(key.findings.map(\.code) == (scheme == nil ? ["key-encryption-traditional"] : []))
        }
        let text = try await simulation.consumer("inspect", path("new.pem")).text
        #expect(text.contains("encrypted  PBES2 AES-256-CBC PBKDF2 HMAC-SHA-256 2048"))
        try shell(
            "openssl pkcs8 -topk8 -in plain.pem -passout pass:x -v1 PBE-SHA1-3DES -iter 1 -out weak.pem")
        let weak = try await simulation.consumer("inspect", path("weak.pem")).text
        #expect(weak.contains("warning  key-encryption-iterations  the key derivation has only 1 iterations"))
    }

    /// Writes a text, and a certificate and a key for signatures and encryption.
    private func writeSigner() throws {
        try shell(
            """
            printf 'Content-Type: text/plain\r\n\r\nhello\r\n' > text
            openssl req -x509 -newkey rsa:2048 -nodes -keyout k.pem -out c.pem -subj /CN=Dana -days 30 \
              -addext keyUsage=critical,digitalSignature,keyEncipherment -addext extendedKeyUsage=emailProtection
            """)
    }

    @Test("Signed messages in every form are described with algorithms, signing time and capabilities")
    func signedMessages() async throws {
        try writeSigner()
        try shell(
            """
            openssl cms -sign -in text -signer c.pem -inkey k.pem -md sha384 -from dana@mail.example -out m.eml
            openssl cms -sign -in text -signer c.pem -inkey k.pem -md sha384 -nodetach -outform DER -out m.p7m
            openssl cms -sign -in text -signer c.pem -inkey k.pem -md sha384 -outform DER -out m.p7s
            openssl cms -sign -in text -signer c.pem -inkey k.pem -md sha384 -nodetach -outform PEM -out m.pem
            """)
        for (file, format) in [
            ("m.eml", "smime"), ("m.p7m", "pkcs7"), ("m.p7s", "pkcs7"), ("m.pem", "pem"),
        ] {
            let document = try await inspect(path(file))
            #expect(document.format == format && document.verdict == "ok")
            #expect(document.certificatesWithoutKey.map(\.person) == ["Dana"])
            let message = try #require(document.messages.first)
            #expect(message.kind == "signed-data" && message.cipher == nil)
            let signer = try #require(message.signers.first)
            #expect(signer.certificate == document.certificatesWithoutKey.first?.label)
            #expect(signer.digest == "sha384" && signer.signingTime != nil)
            #expect(signer.capabilities.contains("aes-256-cbc"))
            #expect(!message.findings.contains { $0.severity != "notice" }, "\(file) \(message.findings)")
        }
        let text = try await simulation.consumer("inspect", path("m.eml")).text
        #expect(text.contains("capabilities  aes-256-cbc"))
    }

    @Test(
        "A message that is signed with SHA-1 and without attributes has findings, and the exit code stays 0")
    func weakMessage() async throws {
        try writeSigner()
        try shell(
            "openssl cms -sign -in text -signer c.pem -inkey k.pem -md sha1 -noattr -nocerts -out m.eml")
        let document = try await inspect(path("m.eml"))
        let codes = try #require(document.messages.first).findings.map(\.code)
        #expect(
            codes == [
                "message-digest-weak", "message-signed-attributes-missing",
                "message-signer-certificate-missing",
            ])
        let text = try await simulation.consumer("inspect", path("m.eml")).text
        #expect(text.contains("  error    message-digest-weak  the signature by "))
    }

    @Test("Encrypted messages are described with cipher and recipients, without keys or passwords")
    func encryptedMessages() async throws {
        try writeSigner()
        try shell(
            """
            openssl cms -encrypt -in text -aes-256-cbc -pwri_password x -secretkeyid 6B31 \
              -secretkey 000102030405060708090A0B0C0D0E0F -out m.eml c.pem
            openssl cms -encrypt -in text -aes-128-gcm -outform DER -out m.p7m c.pem
            openssl cms -encrypt -in text -des3 -outform PEM -out m.pem c.pem
            """)
        let mail = try await inspect(path("m.eml"))
        let message = try #require(mail.messages.first)
        #expect(message.kind == "enveloped-data" && message.cipher == "aes256-cbc")
        #expect(message.authenticated == false)
        let identifiers = message.recipients.map(\.identifier)
        let methods = Set(identifiers.map(\.method))
        #expect(methods == ["rsa-pkcs1", "kek", "password"])
        #expect(identifiers.compactMap(\.sharedKeyIdentifier) == ["6B31"])
        #expect(identifiers.compactMap(\.issuer) == ["CN=Dana"])
        #expect(message.recipients.compactMap(\.password?.iterations) == [2_048])
        #expect(message.findings.map(\.code).contains("message-encryption-unauthenticated"))
        let gcm = try #require(try await inspect(path("m.p7m")).messages.first)
        #expect(gcm.kind == "authenveloped-data" && gcm.authenticated == true)
        #expect(gcm.findings.map(\.code) == ["message-key-transport-pkcs1"])
        let weak = try #require(try await inspect(path("m.pem")).messages.first)
        #expect(weak.findings.map(\.code).contains("message-cipher-deprecated"))
        let text = try await simulation.consumer("inspect", path("m.eml")).text
        #expect(text.contains("cipher     aes256-cbc, which does not detect alterations"))
        #expect(text.contains("shared key 6B31, kek, id-aes128-wrap"))
    }

    @Test("The parts of a multipart message are described by their paths, and unprotected parts are listed")
    func partsOfMessages() async throws {
        try writeSigner()
        try shell(
            """
            openssl cms -sign -in text -signer c.pem -inkey k.pem -out signed.eml
            { printf 'From: list@mail.example\r\nContent-Type: multipart/mixed; boundary=list\r\n\r\n--list\r\n'
              cat signed.eml
              printf '\r\n--list\r\nContent-Type: text/plain\r\n\r\nfooter\r\n--list--\r\n'; } > m.eml
            printf 'From: a@mail.example\r\nContent-Type: text/plain\r\n\r\nhello\r\n' > plain.eml
            """)
        let document = try await inspect(path("m.eml"))
        #expect(document.messages.map(\.part) == ["1"])
        #expect(document.notes == ["part 2 (text/plain) is not protected"])
        let plain = try await simulation.consumer("inspect", path("plain.eml"))
        #expect(plain.status == 5)
    }

    @Test("OCSP responses are shown with responder and statuses")
    func statusResponses() async throws {
        try shell(
            """
            openssl req -x509 -newkey rsa:2048 -nodes -keyout k.pem -out c.pem -subj /CN=CA
            openssl req -newkey rsa:2048 -nodes -keyout l.pem -out l.csr -subj /CN=Leaf
            openssl x509 -req -in l.csr -CA c.pem -CAkey k.pem -set_serial 10 -out l.crt
            printf 'R\\t300101000000Z\\t260101000000Z,keyCompromise\\t0A\\tunknown\\t/CN=Leaf\\n' > index
            openssl ocsp -issuer c.pem -cert l.crt -reqout request
            openssl ocsp -index index -rsigner c.pem -rkey k.pem -CA c.pem -reqin request -respout response.der \
              -ndays 7
            """)
        let response = try #require(try await inspect(path("response.der")).statusResponses.first)
        #expect(response.responder == "CN=CA" && response.statuses.map(\.serial) == ["0A"])
        #expect(
            response.statuses.map(\.status) == ["revoked"]
                && response.statuses.map(\.reason) == ["keyCompromise"])
        #expect(response.certificates.count == 1 && response.producedAt != nil)
        #expect(!response.findings.contains { $0.severity == "error" })
        let text = try await simulation.consumer("inspect", path("response.der")).text
        #expect(text.contains("0A revoked, on 2026-01-01") && text.contains("OCSP response"))
    }

    @Test(
        "A weak self-signed certificate has findings with code, severity and rule, and the exit code stays 0")
    func weak() async throws {
        try shell(
            """
            openssl req -x509 -newkey rsa:1024 -sha1 -days 9125 -nodes -keyout k.pem -out c.pem -subj /CN=Old
            """)
        let certificate = try #require(try await inspect(path("c.pem")).certificatesWithoutKey.first)
        let codes = certificate.findings.map(\.code)
        #expect(codes.contains("weak-signature-digest") && codes.contains("weak-rsa-key"))
        #expect(certificate.details?.signatureAlgorithm == "sha1WithRSAEncryption")
        #expect(certificate.details?.extensions.map(\.name).contains("basic constraints") == true)
        let late = try await inspect(path("c.pem"), "--at", "2100-01-01")
        #expect(late.certificatesWithoutKey.first?.findings.contains { $0.code == "expired" } == true)
        let run = try await simulation.consumer("inspect", path("c.pem"))
        #expect(run.status == 0)
        #expect(
            run.text.contains("  error    weak-rsa-key  the RSA key has 1024 bits, fewer than 2,048 (NIST"))
    }

    @Test("Damaged and deeply nested profiles are malformed")
    func damagedProfiles() async throws {
        let deep = String(repeating: "<array>", count: 100_000)
        for text in [
            "<plist version=\"1.0\"><dict>", "<plist version=\"1.0\"><dict><key>PayloadType</key>\(deep)",
        ] {
            let run = try await simulation.consumer(
                "inspect", try simulation.write(text, as: "p.mobileconfig"), "--json")
            #expect(run.status == 5)
        }
    }
}
