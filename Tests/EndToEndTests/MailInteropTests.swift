import CommandSupport
import Foundation
import KeyShareConsumerCommand
import KeyShareProviderCommand
import TestSupport
import Testing

/// Exchanges messages between these commands and other programs: the openssl command and, if installed, GnuPG's gpgsm.
@Suite("Mail interoperability with other programs", .timeLimit(.minutes(10)))
struct MailInteropTests {
    private let simulation: Simulation

    init() async throws {
        simulation = try Simulation()
        _ = try simulation.write("A secret\n", as: "secret.txt")
    }

    /// Creates identities, messages for them, and files with the keys for other programs.
    private func prepare(_ key: String, mail arguments: String...) async throws -> [TestMailDocument.Message]
    {
        let folder = path("mail")
        try await PreparedDevices.create(
            [
                [
                    "provision", "--person", "EXAMPLE.DANA.1234567890", "--types", "encryption,signature",
                    "--generations", "2", "--key", key,
                ]
            ], for: simulation)
        for arguments in [
            ["trust", "-o", path("ca.pem")],
            [
                "export", "--all", "-o", path("keys"), "--password-file", path("secret.txt"), "--profile",
                "compatible",
            ],
        ] {
            let run = try await simulation.provider(arguments)
            #expect(run.status == 0, "\(run.errors)")
        }
        let run = try await simulation.provider(["mail", "-o", folder, "--json"] + arguments)
        return try run.document(TestMailDocument.self).messages
    }

    private func path(_ name: String) -> String { simulation.scratch.path(name) }

    /// Runs a script in the scratch folder, and returns its exit code and output lines.
    private func shell(_ script: String) async throws -> (status: Int32, lines: [String]) {
        let run = try await TerminalRun.run(
            script, columns: 200, in: simulation.scratch.path,
            environment: ["KEYSHARE_DEVICE": simulation.device, "TERM": "dumb"])
        return (run.status, run.lines)
    }

    @Test(
        "openssl cms decrypts every message with each key that expected.json lists",
        arguments: ["rsa2048", "p256"])
    func opensslReads(key: String) async throws {
        let messages = try await prepare(key)
        #expect(messages.count == 6)
        let index = try DocumentCoding.decode(
            ExportIndexDocument.self, from: Data(try simulation.scratch.read("keys/index.json")))
        for message in messages {
            for label in message.recipients {
                let file = try #require(index.files.first { $0.identity?.label == label }).file
                let inner = message.signer == nil ? "cat" : "openssl cms -verify -CAfile ca.pem -purpose any"
                let run = try await shell(
                    """
                    set -e -o pipefail
                    openssl pkcs12 -legacy -in keys/\(file) -passin file:secret.txt -nodes -out key.pem 2>/dev/null
                    openssl cms -decrypt -in mail/\(message.file) -inkey key.pem -recip key.pem | \(inner) > out
                    sha256sum < out
                    """)
                #expect(run.status == 0, "\(message.file): \(run.lines)")
                #expect(run.lines.contains { $0.hasPrefix(message.body) }, "\(message.file): \(run.lines)")
            }
            if message.recipients.isEmpty {
                let run = try await shell(
                    "openssl cms -verify -in mail/\(message.file) -CAfile ca.pem -no_check_time | sha256sum")
                #expect(run.lines.contains { $0.hasPrefix(message.body) }, "\(message.file): \(run.lines)")
            }
        }
    }

    @Test(
        "The consumer opens messages from openssl cms with every cipher, padding and form",
        arguments: [("rsa2048", ""), ("rsa2048", "-keyopt rsa_padding_mode:oaep"), ("p256", "")])
    func opensslWrites(key: String, option: String) async throws {
        _ = try await prepare(key)
        try await simulation.serve()
        #expect(
            try await simulation.consumer("import", "All.zip", "--uti", "purebred2025.zip.all").status == 0)
        let made = try await shell(
            """
            set -e
            for type in encryption signature; do
              file=$(ls keys/${type}_*.p12 | head -n 1)
              openssl pkcs12 -legacy -in $file -passin file:secret.txt -nodes -out $type.pem 2>/dev/null
            done
            mkdir made
            printf 'Content-Type: text/plain\\r\\n\\r\\nhello\\r\\n' > text
            for cipher in aes-128-cbc aes-192-cbc aes-256-cbc des-ede3-cbc aes-128-gcm aes-256-gcm; do
              openssl cms -encrypt -$cipher -binary -in text -out made/$cipher.eml -recip encryption.pem \(option)
              openssl cms -encrypt -$cipher -binary -stream -in text -outform DER -out made/$cipher.p7m \\
                -recip encryption.pem \(option)
            done
            openssl cms -encrypt -aes256 -binary -in text -outform PEM -out made/pem.p7m -keyid -recip encryption.pem \(option)
            openssl cms -sign -in text -out made/multipart.eml -signer signature.pem
            openssl cms -sign -in text -crlfeol -out made/multipart-crlf.eml -signer signature.pem -md sha512
            openssl cms -sign -nodetach -binary -in text -out made/opaque.eml -signer signature.pem
            openssl cms -sign -nodetach -binary -stream -in text -outform DER -out made/opaque.p7m -signer signature.pem
            openssl cms -sign -in text -signer signature.pem \\
              | openssl cms -encrypt -aes256 -out made/both.eml -recip encryption.pem
            """)
        #expect(made.status == 0, "\(made.lines)")
        let run = try await simulation.consumer("decrypt", path("made"), "-o", path("opened"), "--json")
        let messages = try run.document(DecryptionDocument.self).messages
        #expect(messages.count == 18)
        for message in messages {
            #expect(message.status == .opened, "\(message.file): \(message.error?.message ?? "")")
            let content = String(
                decoding: try simulation.scratch.read("opened/\(message.file)"), as: UTF8.self)
            #expect(content.hasSuffix("hello\r\n"), "\(message.file)")
        }
        #expect(run.status == 0)
    }

    @Test("openssl cms verifies the consumer's signatures on text, binary data and messages")
    func opensslVerifies() async throws {
        _ = try await prepare("rsa2048")
        try await simulation.serve()
        #expect(
            try await simulation.consumer("import", "Signature.zip", "--uti", "purebred2025.zip.signature")
                .status
                == 0)
        _ = try simulation.write("Gr\u{FC}\u{DF}e\n", as: "letter.txt")
        _ = try simulation.scratch.write((0..<100_000).map { UInt8(truncatingIfNeeded: $0) }, as: "bytes.bin")
        _ = try simulation.write("From: a@b\nSubject: s\nContent-Type: text/plain\n\nhello\n", as: "mail.eml")
        for file in ["letter.txt", "bytes.bin", "mail.eml"] {
            #expect(
                try await simulation.consumer("sign", path(file), "-o", path("signed.eml"), "--force").status
                    == 0)
            // The message contains the signer's certificate, and the file contains those of the authorities.
            let run = try await shell("openssl cms -verify -in signed.eml -CAfile ca.pem -out content")
            #expect(run.status == 0, "\(file): \(run.lines)")
        }
    }

    /// GnuPG 2.2 supports neither OAEP nor the AES-GCM messages of other programs.
    @Test(
        "gpgsm decrypts and verifies our messages, and the consumer opens its signed messages",
        .enabled(
            if: FileManager.default.isExecutableFile(atPath: "/usr/bin/gpgsm"),
            "gpgsm is not installed (the Debian package gpgsm)"))
    func gpgsm() async throws {
        let messages = try await prepare("rsa2048", mail: "--cipher", "aes256-cbc", "--rsa", "pkcs1")
        let encrypted = try #require(messages.first { $0.recipients.count == 1 && $0.signer == nil })
        let signed = try #require(messages.first { $0.recipients.isEmpty })
        let key = encrypted.file.replacing(".eml", with: ".p12")
        let run = try await shell(
            #"""
            set -e -o pipefail
            export GNUPGHOME=$PWD/gnupg
            mkdir -m 700 gnupg
            trap 'gpgconf --kill gpg-agent' EXIT
            printf 'disable-crl-checks\ndisable-policy-checks\n' > gnupg/gpgsm.conf
            printf 'allow-loopback-pinentry\n' > gnupg/gpg-agent.conf
            openssl x509 -in ca.pem -noout -fingerprint -sha1 | sed 's/.*=\(.*\)/\1 S relax/' > gnupg/trustlist.txt
            gpgsm --batch --import ca.pem
            import() { gpgsm --batch --pinentry-mode loopback --passphrase-fd 3 --import "$1" 3<secret.txt; }
            for file in keys/\#(key) keys/\#(signed.file.replacing(".eml", with: ".p12")); do
              # GnuPG 2.2 derives wrong keys from about one in 50 salts, so the file is written again.
              for attempt in 1 2 3 4; do
                import $file && break
                '\#(BuiltCommand.provider.path)' export --all -o keys --force --password-file secret.txt \
                  --profile compatible
              done
              import $file
            done
            sed '1,/^\r*$/d' mail/\#(encrypted.file) > body
            gpgsm --batch --pinentry-mode loopback --passphrase-fd 3 --assume-base64 --decrypt body 3<secret.txt > out
            sha256sum < out
            boundary=$(sed -n 's/.*boundary="\(.*\)".*/\1/p' mail/\#(signed.file) | head -n 1)
            awk -v b="--$boundary" 'index($0, b) == 1 {n++; next} n == 1 {print}' mail/\#(signed.file) \
              | head -c -2 > content
            awk -v b="--$boundary" 'index($0, b) == 1 {n++; next} n == 2 {print}' mail/\#(signed.file) \
              | sed '1,/^\r*$/d' > signature
            gpgsm --batch --assume-base64 --verify signature content
            printf 'hello\r\n' | gpgsm --batch --pinentry-mode loopback --passphrase-fd 3 --sign \
              3<secret.txt > made.p7m
            """#)
        #expect(run.status == 0, "\(run.lines.joined(separator: "\n"))")
        #expect(run.lines.contains { $0.hasPrefix(encrypted.body) })
        #expect(run.lines.contains { $0.contains("Good signature from") })
        try await simulation.device("unlock")
        let opened = try await simulation.consumer("decrypt", path("made.p7m"))
        #expect(opened.status == 0 && opened.text == "hello\r\n", "\(opened.errors)")
    }
}
