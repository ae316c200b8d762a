package import DeviceSimulation
package import KeyShareServer
package import PersistentToken
package import SecretMemory
package import SimulatedKeychain

/// A token that can open a key without a prompt if the user's presence was already proved.
package protocol KeyOpeningToken: TokenService {
    /// The token's device.
    var device: Device { get }

    /// Returns the device's status.
    ///
    /// - Throws: `DeviceError` or `FileError` if the status cannot be read.
    func deviceStatus() throws -> DeviceStatus

    /// Checks that a key use is permitted, and opens its key.
    ///
    /// - Parameters:
    ///   - use: The operation and the key.
    ///   - isUserPresent: Whether the user's presence was already proved, for example by a login, so that no prompt is
    ///     shown.
    /// - Returns: A computation that performs the key use.
    /// - Throws: `TokenError`, whose obstacle is the specific reason.
    func openKey(for use: TokenUse, isUserPresent: Bool) async throws(TokenError) -> TokenComputation

    /// Returns a key use if its key is already open; nil if it is not, or if it was opened without the user's consent and
    /// `isUserPresent` is false.
    func openedKey(for use: TokenUse, isUserPresent: Bool) -> OpenedTokenUse?
}

extension KeyOpeningToken {
    /// Checks a key use and opens its key. If the key is not open yet, the user is prompted.
    ///
    /// - Returns: A computation that performs the key use.
    /// - Throws: `TokenError`, whose obstacle is the specific reason.
    package func openKey(for use: TokenUse) async throws(TokenError) -> TokenComputation {
        try await openKey(for: use, isUserPresent: false)
    }

    /// Returns a key use if its key is already open with the user's consent; nil if it is not.
    package func openedKey(for use: TokenUse) -> OpenedTokenUse? { openedKey(for: use, isUserPresent: false) }

    /// Opens a key and performs the key use.
    ///
    /// - Returns: The signature, the plaintext or the shared secret.
    /// - Throws: `TokenError`, whose obstacle is the specific reason.
    package func use(_ use: TokenUse) async throws(TokenError) -> SecretBytes {
        try await openKey(for: use)()
    }
}
