import CommandSupport
import Foundation
import OpenSSL
import PersistentToken
import TestSupport
import Testing

@Suite("Using persistent tokens", .timeLimit(.minutes(10)))
struct TokenUseTests {
    private let simulation: Simulation

    init() async throws {
        simulation = try Simulation()
        try await PreparedDevices.create(
            [
                [
                    "provision", "--person", "EXAMPLE.DANA.1234567890", "--generations", "1", "--at",
                    "2026-03-02T12:00:00Z",
                ], ["token", "add", "--all"],
            ], for: simulation)
    }

    private struct Matrix: Decodable {
        struct Row: Decodable {
            struct Outcome: Decodable, Equatable {
                let result: String
                let tkError: Int?
                let osStatus: Int32?
            }
            let group: String
            let name: String
            let expected: Outcome
            let actual: Outcome
            let asExpected: Bool
        }
        let rows: [Row]
        let surprises: Int
    }

    private func matrix(_ arguments: String...) async throws -> (status: Int32, matrix: Matrix) {
        let run = try await simulation.consumer(["token", "matrix", "--json"] + arguments)
        return (run.status, try run.document(Matrix.self))
    }

    @Test("The token list matches the sample consumer's two queries")
    func list() async throws {
        try await simulation.serve()
        let run = try await simulation.consumer("token", "list", "--json")
        let tokens = try run.document(TokensDocument.self).tokens
        #expect(tokens.map(\.identity.type) == ["encryption", "signature", "authentication"])
        #expect(tokens.map(\.canSign) == [false, true, true])
        #expect(tokens.map(\.keyPresent) == [true, true, true])
        #expect(try await simulation.consumer("token", "list").errors == "2 can sign, 1 can decrypt\n")
    }

    @Test("All 43 operations of the sample, and every algorithm with every key, have the expected results")
    func wholeMatrix() async throws {
        try await simulation.serve()
        let sample = try await matrix("--first")
        #expect(sample.status == 0 && sample.matrix.surprises == 0)
        let counts: [String: Int] = Dictionary(grouping: sample.matrix.rows, by: \.group).mapValues(\.count)
        #expect(counts == ["sign-old": 6, "sign": 22, "decrypt-old": 3, "decrypt": 12])
        #expect(sample.matrix.rows.allSatisfy { $0.actual.result == "ok" && $0.actual.osStatus == 0 })
        let all = try await matrix("--all")
        #expect(all.status == 0 && all.matrix.surprises == 0)
        #expect(all.matrix.rows.count == 255)
        let refused = all.matrix.rows.filter { $0.actual.result == "refused" }
        #expect(refused.allSatisfy { $0.actual.tkError == -8 && $0.actual.osStatus == -50 })
    }

    @Test("The matrix fails if the token's behaviour differs from the expected behaviour")
    func surprises() async throws {
        try await simulation.serve("--like-the-sample")
        #expect(try await matrix("--all", "--like-the-sample").status == 0)
        let other = try await matrix("--all")
        #expect(other.status == 1 && other.matrix.surprises > 0)
        try await simulation.stopServing()
        try await simulation.serve("--token-fault", "wrong-signature")
        let wrong = try await matrix("--first")
        #expect(wrong.status == 1 && wrong.matrix.surprises == 28)
        #expect(wrong.matrix.rows.first?.actual.result == "wrong-result")
    }

    @Test("OpenSSL verifies the token's signatures, and the token decrypts ciphertexts from OpenSSL")
    func files() async throws {
        try await simulation.serve()
        let letter = try simulation.write("a letter\n", as: "letter.txt")
        let signature = simulation.scratch.path("letter.sig")
        #expect(try await simulation.consumer("token", "sign", letter, "-o", signature).status == 0)
        let size = try Data(contentsOf: URL(fileURLWithPath: signature)).count
        #expect(size == 256)
        struct Signed: Decodable { let signature: Data, algorithm: String, operation: String }
        let run = try await simulation.consumer(
            "token", "sign", "--json", "--algorithm", "kSecKeyAlgorithmRSASignatureMessagePSSSHA256",
            input: "a letter\n")
        let signed = try run.document(Signed.self)
        #expect(signed.signature.count == 256 && signed.algorithm == "RSASignatureMessagePSSSHA256")
        #expect(signed.operation == "sign")
        let raw = try simulation.scratch.write([UInt8](repeating: 0, count: 256), as: "zeros")
        let plain = simulation.scratch.path("plain")
        let decrypted = try await simulation.consumer(
            "token", "decrypt", raw, "-o", plain, "--algorithm", "RSAEncryptionRaw")
        #expect(decrypted.status == 0, "\(decrypted.errors)")
        #expect(try Data(contentsOf: URL(fileURLWithPath: plain)) == Data(count: 256))
        #expect(try await simulation.consumer("token", "decrypt", raw, "-o", plain).status == 10)
        #expect(try await simulation.consumer("token", "decrypt", raw, "--json").status == 64)
    }

    @Test("Help lists every algorithm, and names are case-insensitive", arguments: ["sign", "decrypt"])
    func algorithms(command: String) async throws {
        let help = try await simulation.consumer("token", command, "--help")
        let listed = help.text.split(separator: "\n").filter { $0.hasPrefix("  RSA") || $0.hasPrefix("  EC") }
            .map { String($0.dropFirst(2)) }
        #expect(listed.sorted() == SecKeyAlgorithm.allCases.map(\.name).sorted())
        #expect(!help.text.contains("SignatureInput") && !help.text.contains("(values:"))
        // No provider is running, so every command fails. A rejected name would return the exit code of a usage error
        // instead.
        for name in [
            "rsasignatureraw", "RSAENCRYPTIONOAEPSHA256aesgcm", "ksecKeyAlgorithmECDHKeyExchangeStandard",
            "ALGID:sign:RSA:message-PSS:sha256:SHA256:32",
        ] {
            let run = try await simulation.consumer("token", command, "--algorithm", name)
            #expect(run.status == 8, "\(name)")
        }
        for (wrong, near) in [
            ("rsaSignatureRawe", "RSASignatureRaw"),
            ("kSecKeyAlgorithmRSAEncryptionPKSC1", "RSAEncryptionPKCS1"),
        ] {
            let run = try await simulation.consumer("token", command, "--algorithm", wrong)
            #expect(run.status == 64)
            #expect(
                run.errors.contains("\u{201C}\(wrong)\u{201D} is not an algorithm; did you mean \(near)?"))
        }
        let unknown = try await simulation.consumer("token", command, "--algorithm", "MD5")
        #expect(unknown.status == 64 && !unknown.errors.contains("did you mean"))
    }

    @Test("After the passcode is removed, the token list reports no usable keys and the number of lost ones")
    func goneKeys() async throws {
        try await simulation.serve()
        let removed = try await simulation.device("passcode", "remove", "--yes")
        let done = "the passcode and every key that requires one are removed"
        #expect(removed.errors == "\(done); the device is no-passcode\n")
        let list = try await simulation.consumer("token", "list")
        #expect(list.errors == "0 can sign, 0 can decrypt; 3 keys are gone\n")
        #expect(try await simulation.consumer("token", "list", "--json").status == 0)
    }

    @Test("An unknown token fails with a hint to the command that lists tokens")
    func unknownToken() async throws {
        try await simulation.serve()
        let letter = try simulation.write("a letter\n", as: "letter.txt")
        for command in [["sign", letter], ["decrypt", letter], ["matrix"]] {
            let run = try await simulation.consumer(["token"] + command + ["--identity", "ZZ"])
            #expect(run.status == 9)
            #expect(run.errors.contains("no token has the label or serial number \u{201C}ZZ\u{201D}"))
            let hint = "hint: to list the tokens: keyshare-consumer token list --all"
            #expect(run.errors.contains(hint), "\(run.errors)")
        }
    }

    @Test("Each failure reports its cause and the error codes that an app receives, and the next use works")
    func failures() async throws {
        let letter = try simulation.write("a letter\n", as: "letter.txt")
        func sign(_ more: String...) async throws -> (status: Int32, code: String?, text: String) {
            let run = try await simulation.consumer(["token", "sign", letter, "--json"] + more)
            return (run.status, run.status == 0 ? nil : try run.errorCode(), run.errors)
        }
        #expect(try await sign().code == "provider-not-running")
        try await simulation.serve()
        #expect(try await sign().status == 0)
        try await simulation.device("lock")
        let locked = try await sign()
        #expect(locked.status == 10 && locked.code == "device-locked")
        #expect(locked.text.contains("TKErrorCodeAuthenticationNeeded -9, errSecInternal -26276"))
        #expect(locked.text.contains("keyshare-device unlock"))
        try await simulation.device("unlock")
        try await simulation.device("presence", "deny")
        #expect(try await sign().code == "user-denied")
        try await simulation.device("presence", "cancel")
        #expect(try await sign().code == "user-canceled")
        try await simulation.device("presence", "allow")
        #expect(try await sign("--algorithm", "ECDSASignatureRFC4754").code == "wrong-algorithm")
        #expect(try await sign("--algorithm", "RSASignatureDigestPKCS1v15SHA256").code == "wrong-length")
        #expect(try await sign("--algorithm", "MD5").status == 64)
        let plist = try simulation.write("<plist version=\"1.0\"><dict/></plist>", as: "app.plist")
        let stranger = try await sign("--entitlements", plist)
        #expect(stranger.status == 10 && stranger.code == "not-entitled")
        // A killed provider leaves nothing that prevents the next one from working.
        try await simulation.stopServing(by: SIGKILL)
        #expect(try await sign().code == "provider-not-running")
        try await simulation.serve("--like-the-sample")
        try await simulation.device("presence", "deny")
        let hidden = try await sign()
        #expect(hidden.status == 9 && hidden.code == "object-not-found")
        #expect(hidden.text.contains("-25300") && hidden.text.contains("hidden reason: the user declined"))
        try await simulation.device("passcode", "remove", "--yes")
        #expect(try await sign().code == "passcode-removed")
    }

    @Test(
        "With a provider that supports only version 1 of the protocol, token commands report that it has no tokens"
    )
    func olderProvider() async throws {
        try await simulation.serve("--fault", "wrong-version")
        #expect(try await simulation.consumer("token", "list").status == 8)
    }
}
