package import PrivateFiles

/// The device that a keychain belongs to: the location of its files, and the lock state that makes items available.
package protocol KeychainHost: Sendable {
    /// The path of the device's folder. Backups must not be written into it.
    var folder: String { get }
    /// The path of the keychain's folder, which may be missing.
    var keychainPath: String { get }

    /// Returns the path of the keychain's folder and creates it on first use.
    ///
    /// - Throws: `FileError` if the folder cannot be created.
    func keychainFolder() throws(FileError) -> String

    /// Reads the lock state, whichever process changed it last.
    ///
    /// - Throws: `FileError` if the state cannot be read.
    func state() throws(FileError) -> DeviceState

    /// Creates the files of the lock state if they are missing, so that locking later needs no free disk space.
    func reserveState()
}
