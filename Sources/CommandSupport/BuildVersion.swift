internal import Glibc

/// The version that `--version` prints.
///
/// A package of an untagged commit stores its version, such as `0.1.0+20261122.gbfb873e01`, in the file `version` next
/// to the executable. Other builds have only the version of the changelog.
package enum BuildVersion {
    /// The maximum length of the file, in bytes.
    private static let maximumLength = 64

    /// Returns the version of the build, or `release` if there is no file or it belongs to another version.
    ///
    /// - Parameters:
    ///   - release: The version of the changelog.
    ///   - file: The path of the file; nil if it is unknown.
    package static func version(release: String, file: String?) -> String {
        guard let file, let text = contents(of: file) else { return release }
        let line = String(text.prefix { $0 != "\n" })
        let build = line.dropFirst(release.count)
        guard line.hasPrefix(release), build.first == "+", build.count > 1,
            build.dropFirst().utf8.allSatisfy({ (0x2D...0x7A).contains($0) && $0 != 0x2F })
        else { return release }
        return line
    }

    /// The path of the file next to this process's executable; nil if the executable is unknown.
    package static var installedFile: String? {
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let length = unsafe buffer.withUnsafeMutableBytes { bytes in
            guard let start = bytes.baseAddress else { return 0 }
            return unsafe readlink("/proc/self/exe", start.assumingMemoryBound(to: CChar.self), bytes.count)
        }
        guard length > 0, let slash = buffer[..<length].lastIndex(of: UInt8(ascii: "/")) else { return nil }
        return String(decoding: buffer[..<slash], as: UTF8.self) + "/version"
    }

    private static func contents(of file: String) -> String? {
        let descriptor = unsafe open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var buffer = [UInt8](repeating: 0, count: maximumLength + 1)
        let count = unsafe buffer.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
        guard (1...maximumLength).contains(count) else { return nil }
        return String(validating: buffer[..<count], as: UTF8.self)
    }
}
