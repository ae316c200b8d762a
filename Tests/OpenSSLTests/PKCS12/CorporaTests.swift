import SecretMemory
import OpenSSL
import TestSupport
import Testing

@Suite(
    "Foreign PKCS #12 files", .enabled(if: Corpora.isAvailable, Comment(rawValue: Corpora.skipped)),
    .timeLimit(.minutes(10)))
struct CorporaTests {
    @Test("Every file of the corpora opens or is rejected as its manifest predicts")
    func manifest() throws {
        var disagreements: [String] = []
        for entry in Corpora.entries {
            let report = PKCS12.inspect(try entry.bytes(), password: entry.secret)
            let agrees =
                switch entry.columns["expected"] {
                case "opens": report.verdict == .ok
                case "rejects": report.verdict != .ok
                default: true
                }
            if !agrees {
                disagreements.append("\(entry.path): \(report.verdict.rawValue): \(report.message)")
            }
        }
        #expect(disagreements.isEmpty, "\(disagreements.joined(separator: "\n"))")
    }

    @Test("Reading any corpus file leaves OpenSSL's error queue empty")
    func errorQueue() throws {
        OpenSSLError.discardQueue()
        for entry in Corpora.entries {
            _ = PKCS12.inspect(try entry.bytes(), password: entry.secret)
            #expect(OpenSSLError.draining("reading").queue.isEmpty, "\(entry.path)")
        }
    }

    @Test(
        "Reading any corpus file that has a MAC with a different password reports a wrong password")
    func wrongPassword() throws {
        let wrong = PKCS12Password.text(SecretBytes(utf8: "not the password of any of these"))
        for entry in Corpora.entries where entry.columns["expected"] == "opens" {
            let report = PKCS12.inspect(try entry.bytes(), password: wrong)
            guard report.contents.mac != nil else { continue }
            #expect(report.verdict == .wrongPassword, "\(entry.path): \(report.message)")
        }
    }

    @Test("Each of 10,000 seeded mutants of the corpora is accepted or rejected", .timeLimit(.minutes(10)))
    func mutants() throws {
        let files = try Corpora.entries.filter { $0.columns["expected"] == "opens" }
            .map { (bytes: try $0.bytes(), entry: $0) }
        var generator = Seed("0x10_000").generator()
        for number in 0..<10_000 {
            var (mutant, entry) = files[number % files.count]
            Damage.mutate(&mutant, using: &generator)
            let report = PKCS12.inspect(mutant, password: entry.secret)
            #expect((report.verdict == .ok) == (report.error == nil), "mutant \(number) of \(entry.path)")
        }
    }

    @Test("Each Purebred sample contains one identity with a name and a localKeyID")
    func samples() throws {
        let samples = Corpora.files(in: "purebred-samples")
        #expect(samples.count == 11)
        for entry in samples {
            let contents = try PKCS12.read(try entry.bytes(), password: entry.secret)
            #expect(contents.identities.count == 1, "\(entry.path)")
            #expect(contents.identities.first?.friendlyName != nil, "\(entry.path)")
            #expect(contents.identities.first?.localKeyID?.isEmpty == false, "\(entry.path)")
            #expect(
                contents.mac
                    == MACInfo(
                        scheme: .pkcs12(digest: "SHA-1"), algorithm: "HMAC-SHA-1", iterations: 1,
                        saltLength: 8),
                "\(entry.path)")
        }
    }
}

extension Corpora.Entry {
    /// The password in the manifest; nil if none is needed or known.
    fileprivate var secret: PKCS12Password? { password.map { .text(SecretBytes(utf8: $0)) } }
}
