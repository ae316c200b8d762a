package import PrivateFiles
internal import LocalSockets
private import Foundation
private import Glibc
private import OpenSSL

/// The simulated device: one folder, mode 0700, with everything that apps and system keep on it.
///
/// ```
/// provider.sock                  the provider's socket
/// keychain/keychain.sqlite       the keychain of all apps; secrets are encrypted
/// keychain/master.key            the keychain's key, 32 bytes
/// keychain/generation            the number of changes of the keychain, to notice an older database
/// keychain/damaged-<number>      a damaged keychain that was replaced, as it was
/// containers/<bundle identifier> the app's own files
/// groups/<application group>     the files that the apps of a group share
/// notifications/                 an empty file for each name that was posted
/// pasteboard/                    what an app copied last, encrypted, and who read it
/// presence                       how the user answers when a key asks for presence
/// public/                        files that every app may read
/// trials/                        scratch devices, on which channels are tried
/// state                          whether there is a passcode, and whether the device is unlocked
/// ```
///
/// A device is a value: two values with one folder are one device, in this process or another.
package struct Device: Sendable, Hashable {
    /// The folder's absolute path, without symbolic links.
    package let folder: String

    /// Opens the device in `folder`, and makes it, with the folders above it, on first use.
    ///
    /// A folder of ours that others may enter is closed to them when it is empty or a device already.
    ///
    /// - Throws: `FileError`: `.symbolicLink`, `.notAFolder`, `.foreignOwner`; `.exposedFolder` for an open folder
    ///   with other things in it; `.cannotCreate` or `.inputOutput`.
    package init(folder: String) throws(FileError) {
        try PrivateFolder.make(folder, withParents: true, marker: Self.keychainName)
        try self.init(resolving: folder)
    }

    /// Opens the device in `folder` without making anything or closing anything to others; nil where there is no
    /// folder.
    ///
    /// - Throws: `FileError`: `.symbolicLink`, `.notAFolder`, `.foreignOwner` or `.inputOutput`.
    package init?(existing folder: String) throws(FileError) {
        guard try PrivateFolder.isThere(folder) else { return nil }
        try self.init(resolving: folder)
    }

    private init(resolving folder: String) throws(FileError) {
        guard let resolved = unsafe realpath(folder, nil) else {
            throw .inputOutput("cannot resolve", folder, errno: errno)
        }
        defer { unsafe free(resolved) }
        self.folder = unsafe String(cString: resolved)
    }

    /// Gives the path of a socket of the device: in the device's folder, or, where that path does not fit into an
    /// address (unix(7)), in `keyshare` in the user's runtime folder under a name made from the first path.
    ///
    /// - Parameters:
    ///   - name: the socket's name without `.sock`; the provider's unless another is given.
    ///   - runtimeDirectory: `$XDG_RUNTIME_DIR`; nil where there is none. The folder `keyshare` is made in it, mode
    ///     0700, when it is needed.
    ///   - making: whether `keyshare` is made; false for a look at a socket that may be there.
    /// - Throws: `DeviceError.Code.socketPathTooLong` when neither path fits; `FileError` when `keyshare` cannot be
    ///   made.
    /// - Returns: a path of at most `SocketPath.maximumLength` bytes.
    package func socketPath(
        named name: String = providerSocket, runtimeDirectory: String?, making: Bool = true
    ) throws -> String {
        let path = "\(folder)/\(name).sock"
        if path.utf8.count <= SocketPath.maximumLength { return path }
        guard
            let shortened = Self.shortenedSocketPath(
                named: name, in: folder, runtimeDirectory: runtimeDirectory),
            shortened.utf8.count <= SocketPath.maximumLength
        else {
            throw DeviceError(
                .socketPathTooLong, path: path,
                "the socket's path has \(path.utf8.count) bytes, more than \(SocketPath.maximumLength)")
        }
        if making { try PrivateFolder.make(PrivateFolder.parent(of: shortened)) }
        return shortened
    }

    /// Gives the path in the runtime folder of a socket whose path in the device's folder is too long; nil without a
    /// runtime folder.
    static func shortenedSocketPath(
        named name: String, in folder: String, runtimeDirectory: String?
    ) -> String? {
        runtimeDirectory.map { directory in
            let path = name == providerSocket ? folder : "\(folder)/\(name).sock"
            let name = String(Digest.sha256(Array(path.utf8)).prefix(8).upperHex.lowercased())
            return "\(directory)/keyshare/\(name).sock"
        }
    }

    /// The name of the provider's socket, without `.sock`.
    package static let providerSocket = "provider"
    /// The name of the socket of the key-sharing channel's own provider, without `.sock`.
    package static let channelSocket = "channel"

    /// Gives the path of the folder for an app's own files, which is made on first use.
    ///
    /// - Throws: `FileError` when the folder cannot be made, or the bundle identifier cannot be a folder's name.
    package func container(of app: App) throws(FileError) -> String {
        try subfolder("containers", app.bundleIdentifier)
    }

    /// Gives the path of the folder that the apps of an application group share, which is made on first use.
    ///
    /// - Throws: `DeviceError.Code.missingEntitlement` when `app` is not of the group; `FileError` when the folder
    ///   cannot be made.
    package func groupContainer(_ group: String, for app: App) throws -> String {
        guard app.applicationGroups.contains(group) else {
            throw DeviceError(
                .missingEntitlement(group), path: "",
                "\(app.bundleIdentifier) is not entitled to the application group \(group)",
                gap: app.gap(applicationGroup: group))
        }
        return try subfolder("groups", group)
    }

    /// Tells whether there is a device with a keychain in `folder`.
    package static func isThere(folder: String) -> Bool {
        FileManager.default.fileExists(atPath: folder + "/" + keychainName)
    }

    /// Tells whether the folder is a device's, by what is in it.
    package static func isDevice(folder: String) -> Bool {
        [keychainName, "containers", "state", "pasteboard", "notifications", "trials"].contains {
            FileManager.default.fileExists(atPath: "\(folder)/\($0)")
        }
    }

    /// Tells whether a device can be made in the folder: it is missing, or holds nothing but hidden files, sockets with
    /// their locks, and what a file system keeps in its root.
    package static func isFree(folder: String) -> Bool {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.allSatisfy {
            $0.hasPrefix(".") || $0.hasSuffix(".sock") || $0.hasSuffix(".sock.lock") || $0 == "lost+found"
        }
    }

    /// Makes the folder of the apps' own files, by which other commands know the device while nothing else is on it.
    ///
    /// - Throws: `FileError` when it cannot be made.
    package func begin() throws(FileError) { _ = try subfolder("containers") }

    private static let keychainName = "keychain"

    /// Erases the device: everything that apps and system keep on it, and the device's state. The caller holds
    /// ``lockExclusively()``. Files in the folder that are no part of a device stay.
    ///
    /// - Throws: `FileError.Code.inputOutput` when something cannot be removed; the rest is still there then.
    package func reset() throws(FileError) {
        for name in Self.names {
            let path = folder + "/" + name
            guard (try? FileManager.default.attributesOfItem(atPath: path)) != nil else { continue }
            try PrivateFolder.removeAll(path)
        }
        try PrivateFolder.synchronize(folder)
    }

    /// The names of a device's files and folders, sockets left out. The keychain is the last to be erased, because a
    /// folder counts as a device by it.
    static let names = [
        "containers", "groups", "notifications", "passcode", "passcode-tries", "passcode.lock", "pasteboard",
        "presence", "presence.lock", "public",
        "state", "state.lock", "trials",
        keychainName,
    ]

    /// The path of the file that says how the user answers, which may be missing.
    var presencePath: String { folder + "/presence" }

    /// The path of the file that holds the passcode, which may be missing.
    var passcodePath: String { folder + "/passcode" }

    /// The path of the file that counts wrong tries of the passcode, which may be missing.
    var passcodeTriesPath: String { folder + "/passcode-tries" }

    /// The path of the keychain's folder, which may be missing.
    var keychainPath: String { folder + "/" + Self.keychainName }

    /// Gives the path of the keychain's folder, which is made on first use.
    func keychainFolder() throws(FileError) -> String {
        try subfolder(Self.keychainName)
    }

    /// Gives the path of the folder that every app may read and write, which is made on first use.
    ///
    /// - Throws: `FileError`.
    package func publicFolder() throws(FileError) -> String {
        try subfolder("public")
    }

    /// Gives the path of the folder of scratch devices, which is made on first use.
    func trialsFolder() throws(FileError) -> String {
        try subfolder("trials")
    }

    /// Gives the path of the folder of notifications, which is made on first use.
    func notificationFolder() throws(FileError) -> String {
        try subfolder("notifications")
    }

    /// Gives the path of the pasteboard's folder, which is made on first use.
    func pasteboardFolder() throws(FileError) -> String {
        try subfolder("pasteboard")
    }

    /// Whether the pasteboard was made.
    var hasPasteboard: Bool {
        FileManager.default.fileExists(atPath: folder + "/pasteboard/master.key")
    }

    private func subfolder(_ components: String...) throws(FileError) -> String {
        var path = folder
        for component in components {
            guard PrivateFolder.isPlainName(component) else {
                throw .cannotCreate(path + "/" + component, errno: EINVAL)
            }
            path += "/" + component
            try PrivateFolder.make(path)
        }
        return path
    }
}
