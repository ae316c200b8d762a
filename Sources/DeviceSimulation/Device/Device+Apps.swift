package import PrivateFiles
package import SecretMemory
internal import OpenSSL

// The URLs that apps were opened by: the last of each app, sealed, because a URL may hold what is good for
// whoever has it.
extension Device {
    /// Opens `app` by `url`, as the system does for a link that only this app can claim; the app finds it in
    /// any process of its, in place of an earlier one.
    ///
    /// - Throws: `DeviceError`, or `KeychainError` where there is no key to seal it.
    package func open(_ url: SecretBytes, in app: App) throws {
        let key = try Keychain(device: self, app: app).createOrReadPassword(
            service: Self.openedURL, account: "", accessibility: .alwaysThisDeviceOnly,
            accessGroup: app.applicationIdentifier, make: MasterKey.random)
        let sealed = try SealingKey(key).seal(url, associatedData: Array(Self.openedURL.utf8))
        try AtomicFile.write(sealed, to: try openedURLPath(app))
    }

    /// The URL that `app` was opened by last; nil when there is none.
    ///
    /// - Throws: `DeviceError`: `.damagedFile` when it was altered; `KeychainError`.
    package func openedURL(by app: App) throws -> SecretBytes? {
        let path = try openedURLPath(app)
        guard let sealed = try PrivateFile.open(path)?.read(atMost: 1 << 16) else { return nil }
        let key = try Keychain(device: self, app: app).password(
            service: Self.openedURL, account: "", accessGroup: app.applicationIdentifier)
        guard let key,
            let url = try SealingKey(key).open(sealed, associatedData: Array(Self.openedURL.utf8))
        else { throw FileError(.damagedFile, path: path, "\(path) was altered, or its key is gone") }
        return url
    }

    /// Forgets the URL that `app` was opened by; silent when there is none.
    ///
    /// - Throws: `DeviceError` when its file cannot be removed.
    package func forgetOpenedURL(of app: App) throws(FileError) {
        try AtomicFile.remove(try openedURLPath(app))
    }

    private static let openedURL = "opened-url"

    private func openedURLPath(_ app: App) throws(FileError) -> String {
        try container(of: app) + "/" + Self.openedURL
    }
}

extension Device {
    /// Takes an app and its extensions off the device: their own files go, and those of its groups that no
    /// app among `remaining` is of. Its keychain items stay, as they do on a device.
    ///
    /// Its extensions are those whose names have its own and a dot in front, unless they are among `remaining`
    /// or such an app's.
    ///
    /// - Throws: `DeviceError` when something cannot be removed.
    package func uninstall(_ app: App, remaining: [App]) throws {
        let kept = Set(remaining.flatMap(\.applicationGroups))
        var folders = try containers(of: app, remaining: remaining)
        for group in app.applicationGroups where !kept.contains(group) {
            folders.append(try groupContainer(group, for: app))
        }
        for folder in folders {
            try PrivateFolder.removeAll(folder)
            try PrivateFolder.synchronize(PrivateFolder.parent(of: folder))
        }
    }

    private func containers(of app: App, remaining: [App]) throws(FileError) -> [String] {
        let all = PrivateFolder.parent(of: try container(of: app))
        func belongs(_ name: String, to identifier: String) -> Bool {
            name == identifier || name.hasPrefix(identifier + ".")
        }
        let kept = remaining.map(\.bundleIdentifier).filter { $0.hasPrefix(app.bundleIdentifier + ".") }
        return try PrivateFolder.names(all).filter { name in
            belongs(name, to: app.bundleIdentifier) && !kept.contains { belongs(name, to: $0) }
        }.map { all + "/" + $0 }
    }
}
