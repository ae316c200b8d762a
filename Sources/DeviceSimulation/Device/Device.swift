private import Foundation
private import Glibc
internal import LocalSockets
private import OpenSSL
package import PrivateFiles
package import SimulatedKeychain
internal import StandardExtensions

/// The simulated device: one folder, mode 0700, with all data of the apps and the system.
///
/// ```
/// android/                       permissions, key grants and broadcasts of alias sharing
/// provider.sock                  the provider's socket
/// keychain/keychain.sqlite       the keychain of all apps; secrets are encrypted
/// keychain/master.key            the keychain's key, 32 bytes
/// keychain/generation            the number of changes to the keychain, to detect an older database
/// keychain/damaged-<number>      a damaged keychain that was replaced, unchanged
/// containers/<bundle identifier> the app's own files
/// groups/<app group>             the files that the apps of a group share
/// notifications/                 an empty file for each posted name
/// pasteboard/                    the last copied item, encrypted, and the record of attempts to read it
/// presence                       the user's answer when a key requires presence
/// public/                        files that every app may read
/// trials/                        scratch devices, used to try channels
/// state                          whether there is a passcode, and whether the device is unlocked
/// ```
///
/// A device is a value. Two values with the same folder are the same device, even in different processes.
package struct Device: KeychainHost, Hashable {
    /// The folder's absolute path, without symbolic links.
    package let folder: String

    /// Opens the device in `folder`. Creates it, with its parent folders, on first use.
    ///
    /// If other users can access the folder, it is made inaccessible to them, provided that it is empty or already a
    /// device.
    ///
    /// - Throws: `FileError`: `.symbolicLink`, `.notAFolder`, `.foreignOwner`; `.exposedFolder` if other users can
    ///   access the folder and it has other contents; `.cannotCreate` or `.inputOutput`.
    package init(folder: String) throws(FileError) {
        try PrivateFolder.make(folder, withParents: true, marker: Self.keychainName)
        try self.init(resolving: folder)
    }

    /// Opens the device in `folder` without creating files or changing permissions; nil if the folder does
    /// not exist.
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
        // The target of a symbolic link can be any bytes.
        guard let path = unsafe String(validatingCString: resolved) else {
            throw .inputOutput("cannot resolve", folder, errno: EILSEQ)
        }
        self.folder = path
    }

    /// Returns the path of one of the device's sockets. The socket is in the device's folder. If that path does not fit
    /// in a socket address (unix(7)), the socket is in `keyshare` in the user's runtime folder, and its name is derived
    /// from the first path.
    ///
    /// - Parameters:
    ///   - name: The socket's name without `.sock`; the default is the provider's.
    ///   - runtimeDirectory: `$XDG_RUNTIME_DIR`; nil if it is not set. If necessary, the folder `keyshare` is created
    ///     in it, mode 0700.
    ///   - creatingFolder: Whether `keyshare` is created; false to look for an existing socket.
    /// - Throws: `DeviceError.Code.socketPathTooLong` if neither path fits; `FileError` if `keyshare` cannot
    ///   be created.
    /// - Returns: A path of at most `SocketPath.maximumLength` bytes.
    package func socketPath(
        named name: String = providerSocket, runtimeDirectory: String?, creatingFolder: Bool = true
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
        if creatingFolder { try PrivateFolder.make(PrivateFolder.parent(of: shortened)) }
        return shortened
    }

    /// Returns the path in the runtime folder for a socket whose path in the device's folder would be too long; nil
    /// without a runtime folder.
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

    /// Returns the path of the folder for an app's own files, which is created on first use.
    ///
    /// - Throws: `FileError` if the folder cannot be created, or the bundle identifier cannot be a folder's
    ///   name.
    package func container(of app: App) throws(FileError) -> String {
        try subfolder("containers", app.bundleIdentifier)
    }

    /// Returns the path of the folder that the apps of an app group share, which is created on first use.
    ///
    /// - Throws: `DeviceError.Code.missingEntitlement` if `app` is not in the group; `FileError` if the
    ///   folder cannot be created.
    package func groupContainer(_ group: String, for app: App) throws -> String {
        guard app.applicationGroups.contains(group) else {
            throw DeviceError(
                .missingEntitlement(group), path: "",
                "\(app.bundleIdentifier) is not entitled to the application group \(group)",
                gap: app.gap(applicationGroup: group))
        }
        return try subfolder("groups", group)
    }

    /// Returns whether `folder` contains a device with a keychain, which may be damaged.
    ///
    /// - Throws: `FileError`, for example `.foreignOwner`, if the folders cannot be read.
    package static func isThere(folder: String) throws(FileError) -> Bool {
        let keychain = "\(folder)/\(keychainName)"
        guard try PrivateFolder.isThere(folder), try PrivateFolder.isThere(keychain) else { return false }
        // Other programs also create folders named keychain, and reset deletes the folder.
        return try PrivateFolder.names(keychain).contains {
            ["keychain.sqlite", "master.key", "generation"].contains($0) || $0.hasPrefix("damaged-")
        }
    }

    /// Returns whether the folder contains a device.
    package static func isDevice(folder: String) -> Bool {
        ((try? isThere(folder: folder)) ?? false)
            || ["containers", "state", "pasteboard", "notifications", "trials"].contains {
                FileManager.default.fileExists(atPath: "\(folder)/\($0)")
            }
    }

    /// Returns whether a device can be created in the folder: it does not exist, or contains only hidden files, sockets
    /// with their locks, and entries such as `lost+found` that a file system creates in its root.
    package static func isFree(folder: String) -> Bool {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.allSatisfy {
            $0.hasPrefix(".") || $0.hasSuffix(".sock") || $0.hasSuffix(".sock.lock") || $0 == "lost+found"
        }
    }

    /// Creates the folder for the apps' own files. It identifies an otherwise empty folder as a device.
    ///
    /// - Throws: `FileError` if it cannot be created.
    package func begin() throws(FileError) { _ = try subfolder("containers") }

    private static let keychainName = "keychain"

    /// Erases the device: all data of the apps and the system, and the device's state. The caller holds
    /// ``lockExclusively()``. Files in the folder that are not part of a device remain.
    ///
    /// - Throws: `FileError.Code.inputOutput` if a file cannot be removed; the other files remain in this case.
    package func reset() throws(FileError) {
        for name in Self.names {
            let path = folder + "/" + name
            guard (try? FileManager.default.attributesOfItem(atPath: path)) != nil else { continue }
            try PrivateFolder.removeAll(path)
        }
        try PrivateFolder.synchronize(folder)
    }

    /// The names of a device's files and folders, except sockets. The keychain is erased last, because it
    /// identifies the folder as a device.
    static let names = [
        "android", "containers", "groups", "notifications", "passcode", "passcode-tries", "passcode.lock",
        "pasteboard",
        "presence", "presence.lock", "public",
        "state", "state.lock", "trials",
        keychainName,
    ]

    /// The path of the file with the user's configured answer, which may be missing.
    var presencePath: String { folder + "/presence" }

    /// The path of the passcode's file, which may be missing.
    var passcodePath: String { folder + "/passcode" }

    /// The path of the file with the number of wrong passcode attempts, which may be missing.
    var passcodeTriesPath: String { folder + "/passcode-tries" }

    /// The path of the keychain's folder, which may be missing.
    package var keychainPath: String { folder + "/" + Self.keychainName }

    /// Returns the path of the keychain's folder, which is created on first use.
    package func keychainFolder() throws(FileError) -> String {
        try subfolder(Self.keychainName)
    }

    /// Returns the path of the folder that every app may read and write, which is created on first use.
    ///
    /// - Throws: `FileError`.
    package func publicFolder() throws(FileError) -> String {
        try subfolder("public")
    }

    /// Returns the path of the folder of scratch devices, which is created on first use.
    func trialsFolder() throws(FileError) -> String {
        try subfolder("trials")
    }

    /// Returns the path of the folder of notifications, which is created on first use.
    func notificationFolder() throws(FileError) -> String {
        try subfolder("notifications")
    }

    /// Returns the path of the folder for alias sharing, which is created on first use.
    func androidFolder() throws(FileError) -> String {
        try subfolder("android")
    }

    /// Returns the path of the pasteboard's folder, which is created on first use.
    func pasteboardFolder() throws(FileError) -> String {
        try subfolder("pasteboard")
    }

    /// Whether the pasteboard exists.
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
