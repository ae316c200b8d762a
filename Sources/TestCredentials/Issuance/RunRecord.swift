internal import Foundation
internal import OpenSSL
internal import SecretMemory

/// The state of a random run. The keychain stores it so that an interrupted run can be continued.
struct RunRecord: Codable, Sendable {
    /// The time at which the run began, in seconds since 1970.
    let began: Int64
    /// The secret from which serial numbers and names are drawn, in hexadecimal.
    let secret: String
    /// Whether the run is finished.
    var isFinished = false

    /// Creates the record of a run that begins at `date`.
    init(beginningAt date: Date) {
        var random = RandomSource.system.generator()
        began = Int64(date.timeIntervalSince1970)
        secret = (0..<4).map { _ in String(UInt64.random(in: 0 ... .max, using: &random), radix: 16) }
            .joined()
    }

    /// Decodes a stored record. Returns nil if the bytes are not a record.
    init?(_ stored: SecretBytes) {
        let text = unsafe stored.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
        if let record = try? JSONDecoder().decode(RunRecord.self, from: Data(text.utf8)) {
            self = record
            return
        }
        // Earlier versions stored two words, and a third one after the run was finished.
        let words = text.split(separator: " ")
        guard (2...3).contains(words.count), let began = Int64(words[0]) else { return nil }
        self.began = began
        secret = String(words[1])
        isFinished = words.count == 3
    }

    /// Encodes the record for the keychain.
    func stored() throws -> SecretBytes {
        SecretBytes(utf8: String(decoding: try JSONEncoder().encode(self), as: UTF8.self))
    }

    /// The time at which the run began.
    var beginning: Date { Date(timeIntervalSince1970: Double(began)) }

    /// The seed from which the run's serial numbers and names are drawn.
    var seed: Seed { Seed("\(began) \(secret)") }
}
