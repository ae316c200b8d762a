internal import Diagnostics
private import Glibc

/// Why the simulated device's files could not be made, read or written.
package struct DeviceError: Failure {
    /// What went wrong.
    package enum Code: Hashable, Sendable {
        /// A symbolic link stands where a folder or file of the device belongs.
        case symbolicLink
        /// Something that is no folder stands where one belongs.
        case notAFolder
        /// The folder or file belongs to another user.
        case foreignOwner
        /// Others may read a file that holds secrets.
        case exposedFile
        /// A file of the device does not say what it should.
        case damagedFile
        /// A setting cannot be what it was set to.
        case invalidValue
        /// The device is locked, which it must not be for this.
        case locked
        /// Somebody serves from the device, which must not be erased under them.
        case inUse
        /// The device is being erased.
        case beingErased
        /// The device's folder went, or what is in it, while it was in use.
        case gone
        /// Something of that name is there, and was not to be replaced.
        case alreadyThere
        /// A file must not be written there.
        case unsuitablePath
        /// The file is no backup of a keychain.
        case noBackup
        /// The backup is another device's, and the key to it was not given.
        case foreignBackup
        /// Others may enter a folder that holds other things than a device.
        case exposedFolder
        /// A file or folder could not be made; the system's error number.
        case cannotCreate(Int32)
        /// Reading, writing, or bringing to disk failed; the system's error number.
        case inputOutput(Int32)
        /// No path for the socket is short enough.
        case socketPathTooLong
        /// The app asks for a group that its entitlements do not name.
        case missingEntitlement(String)
    }

    /// What went wrong.
    package let code: Code
    /// The file or folder it is about; empty where there is none.
    package let path: String
    /// The same in words for a human, without a full stop.
    package let reason: String
    /// What to do about it, where that is known.
    package let hint: String?

    init(_ code: Code, path: String, _ reason: String, hint: String? = nil) {
        self.code = code
        self.path = path
        self.reason = reason
        self.hint = hint
    }

    static func cannotCreate(_ path: String, errno code: Int32) -> DeviceError {
        DeviceError(.cannotCreate(code), path: path, "cannot create \(path): \(words(code))")
    }

    static func inputOutput(_ operation: String, _ path: String, errno code: Int32) -> DeviceError {
        DeviceError(.inputOutput(code), path: path, "\(operation) \(path): \(words(code))")
    }

    private static func words(_ code: Int32) -> String {
        var buffer = [CChar](repeating: 0, count: 256)
        guard unsafe strerror_r(code, &buffer, buffer.count) == 0 else { return "error \(code)" }
        return String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
