internal import DeviceSimulation
internal import Foundation
internal import KeyShareProvider
internal import SecretMemory
internal import SimulatedKeychain

extension ProvisioningStore {
    /// Reads the record of a run, or creates and stores it.
    ///
    /// - Parameters:
    ///   - name: The name of the run.
    ///   - now: The time at which a new run begins.
    /// - Throws: `KeychainError` if the record can be neither read nor written.
    func run(_ name: String, now: Date) throws -> RunRecord {
        let new = RunRecord(beginningAt: now)
        let stored = try new.stored()
        let kept = try provider.keychain.createOrReadPassword(
            service: Self.runService, account: name, accessGroup: App.authorityGroup, make: { stored })
        if let record = RunRecord(kept) { return record }
        try keep(new, of: name)
        return new
    }

    /// Records that a run is finished.
    ///
    /// - Throws: `KeychainError` if the keychain cannot be written.
    func finishRun(_ name: String) throws {
        guard var record = try savedRun(name), !record.isFinished else { return }
        record.isFinished = true
        try keep(record, of: name)
    }

    /// Removes the record of a finished run. The record of an interrupted run is kept, so that the run can be
    /// continued.
    ///
    /// - Throws: `KeychainError` if the keychain can be neither read nor written.
    func forgetFinishedRun(_ name: String) throws(KeychainError) {
        guard let record = try savedRun(name), record.isFinished else { return }
        try provider.keychain.deletePassword(
            service: Self.runService, account: name, accessGroup: App.authorityGroup)
    }

    private func savedRun(_ name: String) throws(KeychainError) -> RunRecord? {
        try provider.keychain.password(
            service: Self.runService, account: name, accessGroup: App.authorityGroup
        ).flatMap(RunRecord.init)
    }

    private func keep(_ record: RunRecord, of name: String) throws {
        try provider.keychain.setPassword(
            try record.stored(), service: Self.runService, account: name, accessGroup: App.authorityGroup)
    }

    private static let runService = "KeyShareProvisioning"
}
