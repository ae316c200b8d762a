internal import CLinux
private import Glibc

/// Finds the provider's socket, by the same rules as the package's commands.
package enum ProviderPlace {
    /// The maximum length of a path, in bytes: the size of the path in `sockaddr_un` without the trailing NUL
    /// (unix(7)).
    package static let longestPath = 107

    /// Finds the socket's path.
    ///
    /// - Parameter environment: Returns the value of an environment variable; nil if it is not set.
    /// - Returns: The path; nil if the device does not exist, or if the path is too long or not UTF-8.
    package static func socketPath(_ environment: (String) -> String? = Self.environment) -> String? {
        if let socket = environment("KEYSHARE_SOCKET") { return fitting(socket) }
        guard let folder = deviceFolder(environment).flatMap(resolved) else { return nil }
        let runtime = environment("XDG_RUNTIME_DIR")
        if let path = fitting(folder + "/provider.sock") {
            // The socket of the user's service, which serves the default device.
            if environment("KEYSHARE_DEVICE") == nil, !exists(path),
                let service = runtime.flatMap({ fitting($0 + "/keyshare/provider.sock") }), exists(service)
            {
                return service
            }
            return path
        }
        guard let runtime else { return nil }
        let name = MessageDigest.digest(.sha256, of: Array(folder.utf8)).prefix(8).map { byte in
            (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
        return fitting(runtime + "/keyshare/" + name + ".sock")
    }

    /// The value of an environment variable; nil if it is unset, empty or not UTF-8, or if the program has more
    /// privileges than its caller (secure_getenv(3)).
    package static func environment(_ name: String) -> String? {
        guard let value = unsafe clinux_secure_environment(name),
            let text = unsafe String(validatingCString: value)
        else { return nil }
        return text.isEmpty ? nil : text
    }

    /// The environment variables that the PKCS #11 module reads.
    package static let variables = [
        "KEYSHARE_DEVICE", "KEYSHARE_SOCKET", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "HOME",
        "KEYSHARE_PKCS11_LOG", "KEYSHARE_PKCS11_SLOTS", "KEYSHARE_PKCS11_TYPES",
    ]

    /// The first variable in ``variables`` that is not UTF-8; nil if there is none. The module must not treat it as
    /// unset, because it would then find another device.
    package static var invalidVariable: String? {
        variables.first { name in
            guard let value = unsafe clinux_secure_environment(name) else { return false }
            return unsafe String(validatingCString: value) == nil
        }
    }

    private static func deviceFolder(_ environment: (String) -> String?) -> String? {
        if let folder = environment("KEYSHARE_DEVICE") { return folder }
        // According to the XDG Base Directory Specification, relative paths are ignored.
        if let data = environment("XDG_DATA_HOME"), data.utf8.first == UInt8(ascii: "/") {
            return data + "/keyshare"
        }
        guard
            let home = environment("HOME").flatMap({ $0.utf8.first == UInt8(ascii: "/") ? $0 : nil })
                ?? homeOfUser
        else { return nil }
        return home + "/.local/share/keyshare"
    }

    /// The home folder in the user's passwd(5) entry.
    private static var homeOfUser: String? {
        var entry = unsafe passwd()
        var found: UnsafeMutablePointer<passwd>?
        var buffer = [CChar](repeating: 0, count: 4_096)
        return unsafe buffer.withUnsafeMutableBufferPointer { buffer in
            guard let start = buffer.baseAddress,
                unsafe getpwuid_r(geteuid(), &entry, start, buffer.count, &found) == 0, unsafe found != nil,
                let home = unsafe entry.pw_dir
            else { return nil }
            return unsafe String(validatingCString: home)
        }
    }

    private static func resolved(_ folder: String) -> String? {
        guard let path = unsafe realpath(folder, nil) else { return nil }
        defer { unsafe free(path) }
        return unsafe String(validatingCString: path)
    }

    private static func exists(_ path: String) -> Bool { unsafe access(path, F_OK) == 0 }

    private static func fitting(_ path: String) -> String? {
        (1...longestPath).contains(path.utf8.count) && !path.utf8.contains(0) ? path : nil
    }
}
