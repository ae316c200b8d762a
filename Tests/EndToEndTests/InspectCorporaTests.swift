import Foundation
import TestSupport
import Testing

@Suite(
    "Inspect on files of other programs, end to end",
    .enabled(if: Corpora.isAvailable, Comment(rawValue: Corpora.skipped)), .timeLimit(.minutes(10)))
struct InspectCorporaTests {
    /// The part of the JSON document that is also in the manifest of the corpora.
    private struct Document: Decodable {
        struct MAC: Decodable {
            let algorithm: String?
            let iterations: Int?
            let saltLength: Int?
        }
        struct Encryption: Decodable, Hashable {
            let covers: String
            let scheme: String
            let cipher: String?
            let kdf: String?
            let prf: String?
            let iterations: Int?
            let saltLength: Int?
            let keyLength: Int?
        }
        let file: String?
        let verdict: String
        let mac: MAC
        let encryption: [Encryption]
    }

    private struct Documents: Decodable { let files: [Document] }

    private let simulation: Simulation

    init() throws { simulation = try Simulation() }

    /// The documents of all files that open under a password, keyed by path.
    private func documents() async throws -> [String: Document] {
        let opening = Corpora.entries.filter {
            $0.columns["expected"] == "opens" && $0.columns["password_kind"] == "text"
        }
        var found: [String: Document] = [:]
        for (number, group) in Dictionary(grouping: opening, by: { $0.password ?? "" }).enumerated() {
            let password = try simulation.write(group.key, as: "password \(number)")
            // `inspect` writes a different document for a single file, so one file is named twice.
            let files = group.value.map(\.path).map { Corpora.folder + "/" + $0 }
            let run = try await simulation.consumer(
                ["inspect", "--json", "--password-file", password] + files + [files[0]])
            for document in try run.document(Documents.self).files {
                guard let file = document.file else { continue }
                found[String(file.dropFirst(Corpora.folder.count + 1))] = document
            }
        }
        return found
    }

    @Test("Encryption and MAC of foreign files match the manifest of the corpora")
    func parameters() async throws {
        let documents = try await documents()
        var compared = 0
        for entry in Corpora.entries {
            guard let document = documents[entry.path], document.verdict == "ok" else { continue }
            for feature in (entry.columns["features"] ?? "").components(separatedBy: "; ") {
                let parts = feature.components(separatedBy: ":")
                guard parts.count == 2, let stated = Stated(parts[1]) else { continue }
                switch parts[0] {
                case "mac":
                    compared += 1
                    #expect(document.mac.algorithm == stated.algorithm, "\(entry.path)")
                    #expect(document.mac.iterations == stated.iterations, "\(entry.path)")
                    #expect(document.mac.saltLength == stated.saltLength, "\(entry.path)")
                case "enc", "key":
                    compared += 1
                    let matches = document.encryption.filter {
                        (parts[0] == "enc" || $0.covers == "keys") && stated.describes($0)
                    }
                    #expect(!matches.isEmpty, "\(entry.path): \(feature)")
                default: break
                }
            }
        }
        #expect(compared > 1_500)
    }

    /// Parameters as the manifest writes them, such as `PBES2/AES-256-CBC/hmacWithSHA256/it2048/salt8`.
    private struct Stated {
        let algorithm: String
        let cipher: String?
        let function: String?
        let iterations: Int
        let saltLength: Int

        init?(_ text: String) {
            let parts = text.replacingOccurrences(of: "(default)", with: "").components(separatedBy: "/")
            guard let count = parts.firstIndex(where: { $0.hasPrefix("it") }), parts.count > count + 1,
                let iterations = Int(parts[count].dropFirst(2)),
                let saltLength = Int(parts[count + 1].dropFirst(4))
            else { return nil }
            self.iterations = iterations
            self.saltLength = saltLength
            cipher = parts[0] == "PBES2" ? parts[1] : nil
            function = parts[0] == "PBES2" ? Self.functions[parts[2]] : nil
            guard let algorithm = Self.algorithms[parts[0]] else { return nil }
            self.algorithm = algorithm
        }

        func describes(_ encryption: Document.Encryption) -> Bool {
            encryption.scheme == algorithm && encryption.iterations == iterations
                && encryption.saltLength == saltLength
                && (cipher == nil || cipher == encryption.cipher && function == encryption.prf)
                && encryption.kdf == (cipher == nil ? "PKCS12KDF" : "PBKDF2")
                && (encryption.keyLength ?? 0) > 0
        }

        /// The names of MAC digests and encryption schemes. For PBMAC1, the manifest contains parameters that readers
        /// ignore.
        private static let algorithms = [
            "SHA1": "HMAC-SHA-1", "SHA256": "HMAC-SHA-256", "SHA384": "HMAC-SHA-384", "PBES2": "PBES2",
            "PBE-SHA1-3DES": "pbeWithSHA1And3-KeyTripleDES-CBC",
            "PBE-SHA1-RC2-40": "pbeWithSHA1And40BitRC2-CBC",
            "PBE-SHA1-RC2-128": "pbeWithSHA1And128BitRC2-CBC",
        ]
        private static let functions = [
            "hmacWithSHA1": "HMAC-SHA-1", "hmacWithSHA256": "HMAC-SHA-256", "hmacWithSHA384": "HMAC-SHA-384",
        ]
    }
}
