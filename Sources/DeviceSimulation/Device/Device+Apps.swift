internal import OpenSSL
package import PrivateFiles
package import SecretMemory
package import SimulatedKeychain

// Functions for apps on the device: opening an app with a URL, and uninstalling an app. The URL that most recently
// opened each app is stored. It is encrypted on disk, because it may contain a bearer token.
extension Device {
    /// Opens `app` with `url`, as the system does for a link that only this app can claim (a universal link). Every
    /// later process of the app finds this URL instead of the previous one.
    ///
    /// - Throws: `FileError` if the URL cannot be written; `KeychainError` if the encryption key is not
    ///   available.
    package func open(_ url: SecretBytes, in app: App) throws {
        let key = try Keychain(device: self, app: app).createOrReadPassword(
            service: Self.openedURL, account: "", accessibility: .alwaysThisDeviceOnly,
            accessGroup: app.applicationIdentifier, make: MasterKey.random)
        let sealed = try SealingKey(key).seal(url, associatedData: Array(Self.openedURL.utf8))
        try AtomicFile.write(sealed, to: try openedURLPath(app))
    }

    /// Returns the URL that most recently opened `app`; nil if there is none.
    ///
    /// - Throws: `FileError`: `.damagedFile` if the URL was altered, or another failure of the file;
    ///   `KeychainError` if the key is not available.
    package func openedURL(by app: App) throws -> SecretBytes? {
        let path = try openedURLPath(app)
        guard let sealed = try PrivateFile.open(path)?.read(atMost: 1 << 16) else { return nil }
        let key = try Keychain(device: self, app: app).password(
            service: Self.openedURL, account: "", accessGroup: app.applicationIdentifier)
        guard let key,
            let url = try SealingKey(key).open(sealed, associatedData: Array(Self.openedURL.utf8))
        else { throw FileError(.damagedFile, path: path, "\(path) was altered, or its key is missing") }
        return url
    }

    /// Forgets the URL that opened `app`; does nothing if there is none.
    ///
    /// - Throws: `FileError` if the file cannot be removed.
    package func forgetOpenedURL(of app: App) throws(FileError) {
        try AtomicFile.remove(try openedURLPath(app))
    }

    private static let openedURL = "opened-url"

    private func openedURLPath(_ app: App) throws(FileError) -> String {
        try container(of: app) + "/" + Self.openedURL
    }
}

extension Device {
    /// Removes an app and its extensions from the device: their own files, and the files of the app's groups
    /// that are not shared with an app in `remaining`. Keychain items remain, as on a real device.
    ///
    /// An extension of the app is recognized by its bundle identifier, which begins with the app's and a dot.
    /// An app in `remaining` with such an identifier keeps its files and those of its extensions.
    ///
    /// - Throws: `FileError` if a file cannot be removed.
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
