import CommandSupport
import Foundation
import FoundationXML
import KeyShareConsumerCommand
import KeyShareProviderCommand
import OpenSSL
import TestSupport
import Testing

@Suite("Verify, end to end", .timeLimit(.minutes(10)))
struct VerifyTests {
    private let simulation: Simulation

    init() throws {
        simulation = try Simulation()
    }

    /// Provisions with these arguments, imports every file, and returns the path of the authorities.
    private func provision(_ arguments: String...) async throws -> String {
        try await simulation.provider(["provision", "--key", "p256"] + arguments)
        let password = try simulation.write("password", as: "password")
        for item in try await simulation.items() where item.kind == "pkcs12" {
            let file = simulation.scratch.path("\(item.filename)")
            try await simulation.provider("export", item.identifier, "-o", file, "--password-file", password)
            try await simulation.consumer("import", "--file", file, "--password-file", password)
        }
        let trust = simulation.scratch.path("trust.pem")
        try await simulation.provider("trust", "-o", trust)
        return trust
    }

    private func results(_ run: CommandRun) throws -> [VerificationDocument.Result] {
        try run.document(VerificationDocument.self).results
    }

    private func outcome(_ check: String, _ run: CommandRun) throws -> String? {
        try results(run).first?.checks.first { $0.check == check }?.outcome
    }

    /// Runs a printed command in a shell whose PATH contains the built commands.
    private func paste(_ line: String) throws -> Int32 {
        let shell = Process()
        shell.executableURL = URL(fileURLWithPath: "/bin/sh")
        shell.arguments = ["-c", line]
        let path = "\(BuiltCommand.folder.path):/usr/bin:/bin"
        shell.environment = RunningCommand.inheritedEnvironment.merging(
            ["PATH": path, "KEYSHARE_DEVICE": simulation.device]) { $1 }
        shell.standardOutput = FileHandle.nullDevice
        shell.standardError = FileHandle.nullDevice
        try shell.run()
        shell.waitUntilExit()
        return shell.terminationStatus
    }

    // MARK: - History

    @Test("Expired certificates are counted separately, and the command in the hint accepts them")
    func history() async throws {
        let trust = try await provision("--types", "signature", "--generations", "3")
        let run = try await simulation.consumer("verify", "--trust", trust)
        #expect(run.status == 7)
        #expect(run.errors.contains("2 of 3 identities have expired; every other check passed"))
        #expect(run.text.split(separator: "\n").count { $0.hasSuffix("  EXPIRED") } == 2)
        let hint = try #require(run.errors.firstMatch(of: /hint: [^:]*: (.*--allow-expired)\n/)).1
        #expect(try paste(String(hint)) == 0)

        let document = try await simulation.consumer("verify", "--trust", trust, "--json")
            .document(VerificationDocument.self)
        #expect(document.summary == .init(of: 3, valid: 1, expired: 2, unchecked: 0))
        #expect(document.results.map(\.expired) == document.results.map { !$0.valid })
        #expect(document.results.allSatisfy { $0.identity.person != nil && $0.identity.edipi?.count == 10 })
    }

    @Test("The command of a hint quotes arguments for the shell")
    func quoting() async throws {
        let trust = try await provision("--types", "signature", "--generations", "2")
        let odd = simulation.scratch.path("it's a trust;file")
        try FileManager.default.copyItem(atPath: trust, toPath: odd)
        let run = try await simulation.consumer("verify", "--trust", odd)
        let hint = try #require(run.errors.firstMatch(of: /hint: [^:]*: (.*)\n/)).1
        #expect(try paste(String(hint)) == 0)
    }

    // MARK: - Revocation

    @Test("With only another issuer's list, verify exits with 7, and the output names the missing list")
    func unsettled() async throws {
        let trust = try await provision("--types", "signature", "--generations", "1")
        let lists = simulation.scratch.path("lists.pem")
        try await simulation.provider("trust", "--crl", "-o", lists)
        #expect(try await simulation.consumer("verify", "--trust", trust, "--crl", lists).status == 0)
        // Keep only the first list, which another authority issued.
        let pem = String(decoding: try simulation.scratch.read("lists.pem"), as: UTF8.self)
        let first = try #require(pem.range(of: "-----END X509 CRL-----\n")).upperBound
        let one = try simulation.write(String(pem[..<first]), as: "one.pem")
        let run = try await simulation.consumer("verify", "--trust", trust, "--crl", one, "--json")
        #expect(run.status == 7)
        #expect(try outcome("revocation", run) == "not settled")
        let check = try #require(try results(run).first?.checks.first { $0.check == "revocation" })
        #expect(check.explanation.contains("is required: "))
        #expect(try await simulation.consumer("verify", "--trust", trust, "--ocsp", one).status == 5)
        let empty = simulation.scratch.path("empty")
        try FileManager.default.createDirectory(atPath: empty, withIntermediateDirectories: true)
        #expect(try await simulation.consumer("verify", "--trust", trust, "--crl", empty).status == 7)
        #expect(try await simulation.consumer("verify", "--trust", empty).status == 5)
    }

    @Test("Verify fetches revocation data from the provider's own PKI, and rejects a revoked identity")
    func fetching() async throws {
        let running = try simulation.start(.provider, "serve", "--pki", "127.0.0.1:0")
        let text = try await running.errors(upTo: "listening on ")
        let port = try #require(text.firstMatch(of: /served at http:\/\/127\.0\.0\.1:(\d+)\n/)).1
        let password = try simulation.write("password", as: "password")
        let base = ["--key", "p256", "--pki", "http://127.0.0.1:\(port)"]
        try await simulation.provider(["provision", "--types", "signature", "--generations", "1"] + base)
        let item = try await simulation.firstIdentifier()
        let good = simulation.scratch.path("good.p12")
        try await simulation.provider("export", item, "-o", good, "--password-file", password)
        let revoked = simulation.scratch.path("revoked.p12")
        try await simulation.provider(
            ["provision", "--fault", "revoked", "-o", revoked, "--password-file", password] + base)
        // Only the roots: the intermediate certificates are fetched.
        let authorities = try await simulation.provider("trust", "--json").document(AuthoritiesDocument.self)
        let roots = try simulation.write(
            authorities.certificates.filter { $0.subject.contains("Root") }.map(\.pem).joined(),
            as: "roots.pem")
        func verify(_ file: String, _ more: String...) async throws -> CommandRun {
            try await simulation.consumer(
                ["verify", "--trust", roots, "--file", file, "--password-file", password, "--json"] + more)
        }

        let closed = try await verify(good)
        #expect(closed.status == 7)
        #expect(try outcome("chain", closed) == "fail")
        let open = try await verify(good, "--fetch")
        #expect(open.status == 0, "\(open.text)")
        #expect(try outcome("revocation", open) == "pass")
        let fetched = try #require(try results(open).first?.fetched)
        let kinds = Set(fetched.map(\.kind))
        #expect(kinds == ["issuer", "status"])
        #expect(fetched.allSatisfy { $0.arrived })
        let bad = try await verify(revoked, "--fetch")
        #expect(bad.status == 7)
        #expect(try outcome("revocation", bad) == "fail")
        #expect(try outcome("chain", bad) == "pass")

        running.signal(SIGTERM)
        #expect(try await running.finish().status == 0)
        let silent = try await verify(good, "--fetch")
        #expect(silent.status == 7)
        let unanswered = try #require(try results(silent).first?.fetched)
        #expect(unanswered.allSatisfy { !$0.arrived })
    }

    @Test("Verify fetches only from hosts that are permitted by name, and the hint shows the option")
    func foreignHost() async throws {
        let trust = try await provision("--types", "signature", "--generations", "1")
        let run = try await simulation.consumer("verify", "--trust", trust, "--fetch")
        #expect(run.status == 7)
        #expect(run.errors.contains("--fetch-from"))
        #expect(try await simulation.consumer("verify", "--trust", trust, "--fetch-from", "x").status == 64)
    }

    // MARK: - Material

    @Test("Verify checks bare certificates without a key, from PEM, DER and a folder")
    func bareCertificates() async throws {
        let trust = try await provision("--types", "signature", "--generations", "1")
        let held = try #require(try await simulation.held().first).label
        let label = try await simulation.consumer("show", held, "--json")
        #expect(label.status == 0)
        let authorities = try await simulation.provider("trust", "--json").document(AuthoritiesDocument.self)
        let issuing = try #require(authorities.certificates.first { !$0.subject.contains("Root") })
        let folder = simulation.scratch.path("certificates")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try issuing.pem.write(toFile: folder + "/a.pem", atomically: true, encoding: .utf8)
        let base64 = issuing.pem.split(separator: "\n").filter { !$0.hasPrefix("-") }.joined()
        try #require(Data(base64Encoded: base64)).write(to: URL(fileURLWithPath: folder + "/b.cer"))
        try "no certificate".write(toFile: folder + "/README", atomically: true, encoding: .utf8)
        for (file, count) in [(folder + "/a.pem", 1), (folder + "/b.cer", 1), (folder, 2)] {
            let run = try await simulation.consumer("verify", "--trust", trust, "--file", file, "--json")
            #expect(run.status == 0, "\(run.errors)")
            #expect(try results(run).count == count)
            #expect(try outcome("key match", run) == "not checked")
            #expect(try results(run).first?.file?.hasPrefix(folder) == true)
        }
    }

    @Test("A file that contains only revocation lists has nothing to check, and verify exits with 5")
    func onlyLists() async throws {
        let trust = try await provision("--types", "signature", "--generations", "1")
        let lists = simulation.scratch.path("lists.pem")
        try await simulation.provider("trust", "--crl", "-o", lists)
        let run = try await simulation.consumer("verify", "--trust", trust, "--file", lists)
        #expect(run.status == 5)
        #expect(run.errors.contains("\(lists): contains nothing to check"), "\(run.errors)")
    }

    @Test("A .p7c file can contain the anchors, the intermediates, and the certificates to check")
    func bundles() async throws {
        let trust = try await provision("--types", "signature", "--generations", "1")
        let authorities = try Certificate.pem(simulation.scratch.read("trust.pem"))
        let (roots, others) = (authorities.filter(\.isSelfIssued), authorities.filter { !$0.isSelfIssued })
        func bundle(_ certificates: [Certificate], _ name: String) throws -> String {
            let path = simulation.scratch.path(name)
            try Data(BundleSamples.bundle(certificates.map(\.der), []))
                .write(to: URL(fileURLWithPath: path))
            return path
        }
        let rootBundle = try bundle(roots, "roots.p7c")
        let between = try bundle(others, "between.p7c")
        let open = try await simulation.consumer(
            "verify", "--trust", rootBundle, "--untrusted", between, "--json")
        #expect(open.status == 0, "\(open.errors)")
        #expect(try results(open).first?.path.count == 3)
        let closed = try await simulation.consumer("verify", "--trust", rootBundle, "--json")
        #expect(closed.status == 7)
        let checked = try await simulation.consumer("verify", "--trust", trust, "--file", between, "--json")
        #expect(checked.status == 0)
        #expect(try results(checked).count == others.count)
    }

    @Test("Too many certificates for one run are rejected before any check, with the limit in the message")
    func manyCertificates() async throws {
        let key = try PrivateKey.generate(.p256)
        let start = Date(timeIntervalSince1970: 1_733_184_000)
        var template = CertificateTemplate(
            subject: try DistinguishedName([.init("CN", "User")]), serialNumber: [1, 2, 3, 4],
            notBefore: start, notAfter: start + 86_400)
        template.basicConstraints = .init(isCertificateAuthority: true)
        let issuer = try CertificateIssuer(selfSigned: template, privateKey: key)
        template.basicConstraints = nil
        let user = try issuer.issue(
            CertificateTemplate(
                subject: DistinguishedName([.init("CN", "Many")]), serialNumber: [1, 2, 3, 4],
                notBefore: start, notAfter: start + 86_400), to: key)
        let place = try #require(user.der.firstRange(of: [2, 4, 1, 2, 3, 4])).upperBound
        // The signatures of these certificates are invalid, but all certificates differ.
        let text = (0...5_000).map { number in
            var der = user.der
            der[place - 2] = UInt8(number >> 8)
            der[place - 1] = UInt8(number & 0xFF)
            return PEM.text("CERTIFICATE", der)
        }.joined()
        let file = try simulation.write(text, as: "many.pem")
        let trust = try simulation.write(issuer.certificate.pem, as: "root.pem")
        let run = try await simulation.consumer("verify", "--trust", trust, "--file", file, "--json")
        #expect(run.status == 10)
        #expect(run.errors.contains("more than 5000 certificates to check in one run"))
    }

    @Test("A purpose is checked along the path, and a misspelt purpose produces a suggestion")
    func purposes() async throws {
        let trust = try await provision("--types", "signature", "--generations", "1")
        for (purpose, status) in [
            ("smimesign", Int32(0)), ("any", 0), ("sslserver", 7), ("smartcard-logon", 7),
        ] {
            let run = try await simulation.consumer(
                "verify", "--trust", trust, "--purpose", purpose, "--json")
            #expect(run.status == status, "\(purpose): \(run.text)")
            if status == 7 { #expect(try outcome("extended key usage", run) == "fail") }
        }
        let typo = try await simulation.consumer("verify", "--trust", trust, "--purpose", "smimesing")
        #expect(typo.status == 64 && typo.errors.contains("did you mean smimesign?"))
    }

    @Test("Policy options, --security-level and --strict are passed to the verifier")
    func inputs() async throws {
        let trust = try await provision("--types", "signature", "--generations", "1")
        func status(_ arguments: String...) async throws -> Int32 {
            try await simulation.consumer(["verify", "--trust", trust] + arguments).status
        }
        #expect(try await status("--explicit-policy") == 0)
        #expect(try await status("--policy", "1.2.3") == 7)
        #expect(try await status("--security-level", "3") == 0)
        #expect(try await status("--security-level", "4") == 64)
        #expect(try await status("--strict") == 0)
        #expect(try await status("--policy", "dotted") == 64)
    }

    // MARK: - Explanations and graphs

    @Test("The path is printed as a tree, and drawn as SVG and as DOT")
    func picture() async throws {
        let trust = try await provision(
            "--types", "signature", "--generations", "1", "--person", "Dana Example")
        let svg = simulation.scratch.path("paths.svg")
        let run = try await simulation.consumer("verify", "--trust", trust, "--explain", "--graph", svg)
        #expect(run.status == 0, "\(run.errors)")
        for part in [
            "valid path (the only one tried", "[anchor]", "\u{2514}\u{2500} CN=Test Email CA 1",
            "path length constraint: 0",
        ] {
            #expect(run.text.contains(part), "\(part) in \(run.text)")
        }
        let parser = XMLParser(data: try Data(contentsOf: URL(fileURLWithPath: svg)))
        #expect(parser.parse())
        let drawing = String(decoding: try simulation.scratch.read("paths.svg"), as: UTF8.self)
        #expect(drawing.contains("<svg") && drawing.contains("EXAMPLE.DANA") && drawing.contains("(anchor)"))
        #expect(try await simulation.consumer("verify", "--trust", trust, "--graph", svg).status == 0)
        let other = try simulation.write("my own", as: "own.svg")
        #expect(try await simulation.consumer("verify", "--trust", trust, "--graph", other).status != 0)
        #expect(try simulation.scratch.read("own.svg") == Array("my own".utf8))
        let dot = simulation.scratch.path("paths.dot")
        #expect(try await simulation.consumer("verify", "--trust", trust, "--graph", dot).status == 0)
        #expect(
            String(decoding: try simulation.scratch.read("paths.dot"), as: UTF8.self).hasPrefix(
                "digraph paths {"))
        #expect(try await simulation.consumer("verify", "--trust", trust, "--graph", "x.png").status == 64)
        let path = try #require(
            try results(try await simulation.consumer("verify", "--trust", trust, "--json")).first)
        #expect(path.path.map(\.role) == ["leaf", "authority", "anchor"])
        #expect(path.end == "found" && path.attempts.count == 1)
    }
}
