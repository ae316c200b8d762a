import Foundation
import SecretMemory
import SharingChannels
import SimulatedKeychain
import Testing

@testable import DeviceSimulation

/// The number of repetitions in tests for rare events; `scripts/hardening full` sets more.
enum Effort {
    /// Rounds of killed writers.
    static let crashRounds = number("KEYSHARE_CRASH_ROUNDS") ?? 70
    /// Seconds for which eight processes use one group; nil for the number of rounds that every run can
    /// afford.
    static let raceSeconds = number("KEYSHARE_RACE_SECONDS")

    private static func number(_ name: String) -> Int? {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) }
    }
}

extension ChannelFactory {
    /// The channels that store credentials only in files.
    static let ofFiles: [ChannelFactory] = [.keychain, .appGroup, .database, .file]
}

extension NewIdentity {
    /// The identity of a test; its key is named after its label.
    static func sample(_ label: String, group: String? = nil) -> NewIdentity {
        NewIdentity(
            label: label, certificate: Array("certificate \(label)".utf8), privateKey: key(label),
            applicationTag: Array("tag \(label)".utf8), notBefore: Date(timeIntervalSince1970: 1_733_184_000),
            accessGroup: group)
    }

    static func key(_ label: String) -> SecretBytes { SecretBytes(utf8: "key of \(label)") }
}

extension Keychain {
    /// Adds identities, and returns a result for each; a duplicate is an error.
    @discardableResult
    func add(_ identities: [NewIdentity]) throws(KeychainError) -> [Result<IdentityAttributes, KeychainError>]
    {
        let prepared = identities.map { Result<NewIdentity, any Error>.success($0) }
        return try add(prepared).map(\.result)
    }
}

extension SecretBytes {
    /// For comparisons of values that are not secret.
    var plain: String { unsafe withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) } }
}
