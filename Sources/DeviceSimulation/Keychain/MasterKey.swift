internal import PrivateFiles
package import SecretMemory
internal import OpenSSL

/// The file whose 32 bytes seal what a part of the device keeps: the keychain's records, for one.
///
/// It stands outside what it seals, so that a copy of that alone opens nothing.
package enum MasterKey {
    /// A new key from the system's random source.
    package static func random() -> SecretBytes {
        var generator = SystemRandomNumberGenerator()
        return unsafe SecretBytes(capacity: SealingKey.byteCount) { buffer in
            for index in buffer.indices {
                unsafe buffer[index] = generator.next()
            }
            return buffer.count
        }
    }

    /// The key in the file at `path`; nil when there is no file.
    ///
    /// - Throws: `DeviceError` when the file is a link, another user's, open to others, or unreadable.
    static func read(_ path: String) throws(FileError) -> SecretBytes? {
        // One byte more than there should be shows a file that is too long.
        try PrivateFile.open(path)?.readSecret(atMost: SealingKey.byteCount + 1)
    }
}
