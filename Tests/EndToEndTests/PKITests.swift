import CommandSupport
import Foundation
import KeyShareConsumerCommand
import KeyShareProviderCommand
import TestSupport
import Testing

@Suite("The test PKI on the loopback, end to end", .timeLimit(.minutes(10)))
struct PKITests {
    private let simulation: Simulation

    init() throws {
        simulation = try Simulation()
    }

    /// Starts the provider and returns the port of the PKI.
    private func serve(_ running: RunningCommand) async throws -> Int {
        let text = try await running.errors(upTo: "listening on ")
        let address = try #require(text.firstMatch(of: /served at http:\/\/127\.0\.0\.1:(\d+)\n/))
        return try #require(Int(address.1))
    }

    /// The authorities' certificates in DER by common name.
    private func authorities() async throws -> [String: [UInt8]] {
        let authorities = try await simulation.provider("trust", "--json").document(AuthoritiesDocument.self)
        var found: [String: [UInt8]] = [:]
        for certificate in authorities.certificates {
            let base64 = certificate.pem.split(separator: "\n").filter { !$0.hasPrefix("-") }.joined()
            let name = try #require(certificate.subject.split(separator: ",").first).dropFirst(3)
            found[String(name)] = [UInt8](try #require(Data(base64Encoded: base64)))
        }
        return found
    }

    private static func octets(_ hex: String) -> [UInt8] {
        stride(from: 0, to: hex.count, by: 2).compactMap { UInt8(hex.dropFirst($0).prefix(2), radix: 16) }
    }

    /// Asks the responder about serial numbers, and checks that its answers are authentic and fresh.
    private func ask(
        _ serials: [String], ofPKI number: Int, port: Int
    ) async throws -> [StatusClient.Answer.Status?] {
        let authorities = try await authorities()
        let issuer = try #require(authorities["Test Email CA \(number)"])
        let numbers = serials.map(Self.octets)
        let request = try StatusClient.request(numbers, of: issuer, nonce: [1, 2, 3])
        let reply = try #require(try await RawPeer.http("POST", "/ocsp", body: request, port: port))
        #expect(reply.status == 200)
        #expect(reply.fields["content-type"] == "application/ocsp-response")
        let answer = try StatusClient.read(
            reply.body, to: request, numbers, of: issuer,
            trusting: try #require(authorities["Test Root CA \(number)"]), at: Date())
        #expect(answer.isAuthentic && answer.hasSameNonce)
        return answer.statuses
    }

    @Test("The test PKI serves the URLs in its certificates, including the revocation status of each")
    func status() async throws {
        let running = try simulation.start(.provider, "serve", "--pki", "127.0.0.1:0")
        let port = try await serve(running)
        let base = ["--key", "p256", "--pki", "http://127.0.0.1:\(port)"]
        let made = try await simulation.provider(
            ["provision", "--types", "signature", "--generations", "1", "--json"] + base
        ).document(ProvisioningDocument.self)
        let good = try #require(made.identities.first).serial
        // With `-o`, the identity is in no keychain, but its issuer has a record of the revocation.
        let file = simulation.scratch.path("revoked.p12")
        let password = try simulation.write("password", as: "password")
        #expect(
            try await simulation.provider(
                ["provision", "--fault", "revoked", "-o", file, "--password-file", password] + base
            ).status == 0)
        let inspected = try await simulation.inspect(file, passwordFile: password)
        let revoked = try #require(inspected.identities.first).serial

        // The PKI is valid as early as the defective certificates, so one PKI covers both.
        let statuses = try await ask([good, "01"], ofPKI: 1, port: port)
        #expect(statuses == [.good, .unknown])
        #expect(try await ask([revoked], ofPKI: 1, port: port) == [.revoked])

        let index = try #require(try await RawPeer.http("GET", "/", port: port))
        let paths = String(decoding: index.body, as: UTF8.self).split(separator: "\n").map(String.init)
        func path(_ start: String) throws -> String { try #require(paths.first { $0.hasPrefix(start) }) }
        let served = try #require(
            try await RawPeer.http("GET", path("/sign/TESTEMAILCA1-"), port: port))
        #expect(served.fields["content-type"] == "application/pkix-cert")
        #expect(served.body == (try await authorities())["Test Email CA 1"])
        let list = try #require(
            try await RawPeer.http("GET", path("/crl/TESTEMAILCA1-"), port: port))
        #expect(list.fields["content-type"] == "application/pkix-crl")
        #expect(list.body.firstRange(of: Self.octets(revoked)) != nil)
        #expect(list.body.firstRange(of: Self.octets(good)) == nil)

        running.signal(SIGTERM)
        #expect(try await running.finish().status == 0)
    }

    @Test(
        "The test PKI listens only on the loopback address",
        arguments: ["0.0.0.0:0", "localhost:0", "192.0.2.1:80", "8080"])
    func loopback(address: String) async throws {
        let run = try await simulation.provider("serve", "--pki", address)
        #expect(run.status == 64)
        #expect(run.errors.contains("is not a loopback address"))
        #expect(run.errors.contains("hint: "))
    }

    @Test("Serve also prints the address of the test PKI in JSON")
    func document() async throws {
        let running = try simulation.start(.provider, "serve", "--pki", "127.0.0.1:0", "--json")
        try await running.waitForOutput { $0.contains("\n") }
        running.signal(SIGTERM)
        let document = try await running.finish().document(ListeningDocument.self)
        #expect(document.listening == simulation.device + "/provider.sock")
        let address = try #require(document.pki)
        #expect(address.wholeMatch(of: /http:\/\/127\.0\.0\.1:[1-9]\d*/) != nil)
    }

    @Test("Serve exits with 73 if the port of the test PKI is in use")
    func taken() async throws {
        let running = try simulation.start(.provider, "serve", "--pki", "127.0.0.1:0")
        let port = try await serve(running)
        let run = try await RunningCommand(
            .provider,
            ["serve", "--device", simulation.scratch.path("other"), "--pki", "127.0.0.1:\(port)"]
        ).finish()
        #expect(run.status == 73)
        running.signal(SIGTERM)
        #expect(try await running.finish().status == 0)
    }
}
