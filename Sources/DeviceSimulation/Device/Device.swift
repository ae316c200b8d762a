package import PrivateFiles
internal import LocalSockets
private import Foundation
private import Glibc
private import OpenSSL

/// The simulated device: one folder, mode 0700, in which everything that apps and system keep on it lies.
///
/// ```
/// provider.sock                  the provider's socket
/// keychain/keychain.sqlite       the keychain of all apps, sealed
/// keychain/master.key            what seals it, 32 bytes
/// keychain/damaged-<number>      a keychain that a new one took the place of, as it was
/// containers/<bundle identifier> the app's own files
/// groups/<application group>     the files that the apps of a group share
/// notifications/                 an empty file for each name that was posted
/// pasteboard/                    what an app copied last, sealed, and who read it
/// public/                        files that every app may read
/// trials/                        devices on which channels are being tried
/// state                          whether there is a passcode, and whether the device is unlocked
/// ```
///
/// A value: two of the same folder are the same device, in this process or another.
package struct Device: Sendable, Hashable {
    /// The folder's absolute path, without symbolic links.
    package let folder: String

    /// Opens the device in `folder`, and makes it, with the folders above it, on first use.
    ///
    /// A folder of ours that others may enter is closed to them when it is empty or a device already.
    ///
    /// - Throws: `DeviceError` when a symbolic link, a file, another user's folder or an open folder with
    ///   other things in it stands there, or nothing can be made there.
    package init(folder: String) throws(FileError) {
        try PrivateFolder.make(folder, withParents: true, marker: Self.keychainName)
        try self.init(resolving: folder)
    }

    /// The device in `folder` for a look at it: nothing is made or closed to others. Nil where there is none.
    ///
    /// - Throws: `DeviceError` when a symbolic link, a file or another user's folder stands there.
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

    /// Where a socket of the device belongs: in the folder, or, where that path is longer than an address
    /// holds, in `keyshare` in the user's runtime folder, named after its place in this folder.
    ///
    /// - Parameters:
    ///   - name: the socket's name without `.sock`; the provider's unless another is given.
    ///   - runtimeDirectory: `$XDG_RUNTIME_DIR`, where there is one; `keyshare` is made there, mode 0700, when
    ///     it is needed.
    /// - Throws: `DeviceError`: `.socketPathTooLong` when neither path fits, or what stops the folder from
    ///   being made.
    /// - Returns: a path of at most `SocketPath.maximumLength` bytes.
    package func socketPath(
        named name: String = providerSocket, runtimeDirectory: String?
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
        try PrivateFolder.make(PrivateFolder.parent(of: shortened))
        return shortened
    }

    /// Where in the runtime folder a socket goes whose path in the device's folder is too long.
    static func shortenedSocketPath(
        named name: String, in folder: String, runtimeDirectory: String?
    ) -> String? {
        runtimeDirectory.map { directory in
            let place = name == providerSocket ? folder : "\(folder)/\(name).sock"
            let name = String(Digest.sha256(Array(place.utf8)).prefix(8).upperHex.lowercased())
            return "\(directory)/keyshare/\(name).sock"
        }
    }

    package static let providerSocket = "provider"
    /// The socket of the channel over a provider of its own.
    package static let channelSocket = "channel"

    /// The folder for an app's own files, made on first use.
    ///
    /// - Throws: `DeviceError` when it cannot be made.
    package func container(of app: App) throws(FileError) -> String {
        try subfolder("containers", app.bundleIdentifier)
    }

    /// The folder that the apps of an application group share, made on first use.
    ///
    /// - Throws: `DeviceError`: `.missingEntitlement` when `app` is not of the group.
    package func groupContainer(_ group: String, for app: App) throws -> String {
        guard app.applicationGroups.contains(group) else {
            throw DeviceError(
                .missingEntitlement(group), path: "",
                "\(app.bundleIdentifier) is not entitled to the application group \(group)",
                gap: app.gap(applicationGroup: group))
        }
        return try subfolder("groups", group)
    }

    /// Whether there is a device with a keychain in `folder`.
    package static func isThere(folder: String) -> Bool {
        FileManager.default.fileExists(atPath: folder + "/" + keychainName)
    }

    private static let keychainName = "keychain"

    /// Erases the device: everything that apps and system keep on it, its state too. The caller has `useAlone()`.
    ///
    /// What is in the folder and is no part of a device stays.
    ///
    /// - Throws: `DeviceError` when something cannot be removed; the rest of it is still there then.
    package func reset() throws(FileError) {
        for name in Self.names {
            let path = folder + "/" + name
            guard (try? FileManager.default.attributesOfItem(atPath: path)) != nil else { continue }
            try PrivateFolder.removeAll(path)
        }
        try PrivateFolder.synchronize(folder)
    }

    /// What a device consists of, besides sockets. The keychain last: it is what makes the folder a device.
    static let names = [
        "containers", "groups", "notifications", "pasteboard", "public", "state", "state.lock", "trials",
        keychainName,
    ]

    /// The folder of the keychain, there or not.
    var keychainPath: String { folder + "/" + Self.keychainName }

    /// The folder of the keychain, made on first use.
    func keychainFolder() throws(FileError) -> String {
        try subfolder(Self.keychainName)
    }

    /// The folder that every app may read and write, made on first use.
    package func publicFolder() throws(FileError) -> String {
        try subfolder("public")
    }

    /// The folder of the devices on which something is tried, made on first use.
    func trialsFolder() throws(FileError) -> String {
        try subfolder("trials")
    }

    /// The folder of the notifications, made on first use.
    func notificationFolder() throws(FileError) -> String {
        try subfolder("notifications")
    }

    /// The folder of the pasteboard, made on first use.
    func pasteboardFolder() throws(FileError) -> String {
        try subfolder("pasteboard")
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
