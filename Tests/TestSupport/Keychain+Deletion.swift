internal import DeviceSimulation
package import SimulatedKeychain

extension Keychain {
    /// Deletes the identity called `label` in every group that the search covers, whatever the device's state.
    ///
    /// - Throws: `KeychainError`: `.itemNotFound` if the app sees no such identity; `.missingEntitlement`.
    package func deleteIdentity(label: String, accessGroup: String? = nil) throws(KeychainError) {
        try delete(KeychainQuery(.identity, label: label, accessGroup: accessGroup))
    }
}
