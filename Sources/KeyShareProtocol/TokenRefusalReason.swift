/// The reason why a token does not use a key. Apple's sample provider reports several of these with the same code.
package enum TokenRefusalReason: String, Sendable, Hashable, CaseIterable {
    /// The device is locked, or was still locked after a restart.
    case deviceLocked = "device-locked"
    /// The device has no passcode, so keys that require one were deleted.
    case passcodeRemoved = "passcode-removed"
    /// The user declined.
    case userDenied = "user-denied"
    /// The user dismissed the question.
    case userCanceled = "user-canceled"
    /// The user did not answer in time.
    case userTimedOut = "user-timed-out"
    /// The app lacks the entitlement `com.apple.token`.
    case notEntitled = "not-entitled"
    /// The token or the object is not registered, or no longer registered.
    case notRegistered = "not-registered"
    /// The token is registered, but its key was deleted.
    case keyMissing = "key-missing"
    /// The algorithm does not fit the key.
    case wrongAlgorithm = "wrong-algorithm"
    /// The data do not have the length that the algorithm requires.
    case wrongLength = "wrong-length"
    /// The data cannot be decrypted.
    case undecryptable = "undecryptable"
    /// The key's usage does not permit the operation.
    case usageForbids = "usage-forbids"
    /// The provider's app has not been opened for too long.
    case foregroundTimeout = "foreground-timeout"
    /// A login had the wrong passcode.
    case wrongPasscode = "wrong-passcode"
    /// Too many logins had the wrong passcode.
    case passcodeLocked = "passcode-locked"
    /// The login has ended, or never took place.
    case notLoggedIn = "not-logged-in"
    /// The app does not have the permission READ_ALIAS.
    case permissionDenied = "permission-denied"
    /// The app has no key grant for the alias, so KeyChain returns no key.
    case noKeyGrant = "no-key-grant"
    /// KeyChain has no entry with the alias.
    case aliasNotFound = "alias-not-found"
    /// A query names a column that the content provider does not have.
    case unknownColumn = "unknown-column"
    /// A query like the sample's names no columns, so the content provider throws an exception.
    case nullProjection = "null-projection"
}
