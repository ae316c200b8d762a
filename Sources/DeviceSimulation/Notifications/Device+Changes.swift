package import PrivateFiles
private import Glibc

extension Device {
    /// The parts of a device that can be observed without a notification from the changing process.
    package enum ObservedPart: Sendable, Hashable, CaseIterable {
        /// The keychain of all apps.
        case keychain
        /// The pasteboard, and the record of attempts to read it.
        case pasteboard
        /// The user's decisions about Android apps, and the log of broadcasts.
        case android
    }

    /// Starts observing a part of the device. Each element of the sequence means that a process has written to the
    /// part. The observer must read the part to find the change. Reading does not cause an event.
    ///
    /// - Throws: `FileError` if the part's folder cannot be created or observed.
    package func observe(_ part: ObservedPart) throws(FileError) -> Observations {
        let folder: String
        switch part {
        case .keychain: folder = try keychainFolder()
        case .pasteboard: folder = try pasteboardFolder()
        case .android: folder = try androidFolder()
        }
        // A database is written in place; the files of other parts are replaced.
        return Observations(
            events: try FolderEvents(folder, events: UInt32(IN_MODIFY) | UInt32(IN_MOVED_TO)), name: nil)
    }
}
