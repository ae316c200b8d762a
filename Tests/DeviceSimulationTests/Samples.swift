import SecretMemory
import SharingChannels
import Foundation
import Testing

@testable import DeviceSimulation

/// How much the tests do that look for what happens rarely; `scripts/hardening full` asks for more.
enum Effort {
    /// Rounds of killed writers.
    static let crashRounds = number("KEYSHARE_CRASH_ROUNDS") ?? 70
    /// Seconds for which eight processes go at one group; nil for so many rounds as every run can afford.
    static let raceSeconds = number("KEYSHARE_RACE_SECONDS")

    private static func number(_ name: String) -> Int? {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) }
    }
}

extension ChannelFactory {
    /// The channels on which what is sent lies in files only.
    static let ofFiles: [ChannelFactory] = [.keychain, .appGroup, .database, .file]
}

extension NewIdentity {
    /// The identity of a test; its key is called after its label.
    static func sample(_ label: String, group: String? = nil) -> NewIdentity {
        NewIdentity(
            label: label, certificate: Array("certificate \(label)".utf8), privateKey: key(label),
            applicationTag: Array("tag \(label)".utf8), notBefore: Date(timeIntervalSince1970: 1_733_184_000),
            accessGroup: group)
    }

    static func key(_ label: String) -> SecretBytes { SecretBytes(utf8: "key of \(label)") }
}

extension SecretBytes {
    /// For comparing what is no secret.
    var plain: String { unsafe withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) } }
}
