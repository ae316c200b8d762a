internal import GRDB

extension Device {
    /// Brings the key chain of `source` to this device, as restoring an encrypted backup to a new phone does:
    /// everything but what stays on its own device. Items that are here already stay as they are.
    ///
    /// All or nothing: interrupted, this device is as it was.
    ///
    /// - Throws: `DeviceError`: `.locked` unless both devices are unlocked. `KeychainError` when either key
    ///   chain fails, or an item of the source was altered.
    /// - Returns: how many items came, and how many of the source did not.
    @discardableResult
    package func restoreKeychain(from source: Device) throws -> (restored: Int, left: Int) {
        for device in [self, source] where try device.state().lock != .unlocked {
            throw DeviceError(.locked, path: device.folder, "the device is locked")
        }
        let backup = try KeychainStore(device: source, newMasterKey: MasterKey.random)
        let target = try KeychainStore(device: self, newMasterKey: MasterKey.random)
        return try backup.read { database in
            let rows = try Row.fetchCursor(
                database, sql: "SELECT \(KeychainRecord.columns), sealed FROM item ORDER BY id")
            return try target.write { restored in
                var count = (restored: 0, left: 0)
                var groups: Set<String> = []
                while let row = try rows.next() {
                    var (record, secret) = try KeychainRecord.secret(row, key: backup.key)
                    guard try !record.accessibility().isThisDeviceOnly else {
                        count.left += 1
                        continue
                    }
                    record.id = try KeychainRecord.reserveIDs(1, in: restored)
                    if try record.insert(secret, into: restored, key: target.key) {
                        count.restored += 1
                        groups.insert(record.accessGroup)
                    } else {
                        count.left += 1
                    }
                }
                try KeychainRecord.countChange(of: groups, in: restored)
                return count
            }
        }
    }
}
