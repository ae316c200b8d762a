/// The broadcasts that announce changes of aliases (docs/rules.md R9.13). The raw values are Android's action strings.
///
/// ```swift
/// let ending = AliasBroadcast.updateCompleted.rawValue.suffix(16)  // "UPDATE_COMPLETED"
/// ```
public enum AliasBroadcast: String, Sendable, Hashable, CaseIterable, Codable {
    /// New certificates were installed.
    case updateCompleted = "red.hound.purebred.broadcast.UPDATE_COMPLETED"
    /// Recovered encryption keys were installed.
    case recoveryCompleted = "red.hound.purebred.broadcast.RECOVERY_COMPLETED"
    /// The removal of all keys begins. The keys may exist for a while after it.
    case resetInitiated = "red.hound.purebred.broadcast.RESET_INITIATED"
    /// The system installed or removed a key.
    case keychainChanged = "android.security.action.KEYCHAIN_CHANGED"
    /// The system granted an app the use of a key, or revoked it. Only that app receives the broadcast.
    case keyAccessChanged = "android.security.action.KEY_ACCESS_CHANGED"
}
