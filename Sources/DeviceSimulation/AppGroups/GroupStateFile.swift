package import PrivateFiles
package import SecretMemory
package import Foundation
internal import OpenSSL

/// What a group's state file holds, or why it is as if it held nothing.
package enum GroupState: Sendable {
    /// Its fields, and when they end.
    case fields([String: SecretBytes], expires: Date)
    /// Nothing that may be used.
    case nothing(Reason)

    /// Why there is nothing.
    package enum Reason: Sendable, Hashable {
        /// There is no file.
        case absent
        /// It was written by a program of another version.
        case otherVersion(Int)
        /// Its time is over.
        case expired(Date)
        /// It lacks a field that must be there.
        case missingField(String)
        /// It was altered, or sealed with another key.
        case damaged
        /// The keychain does not give the key: the device is locked, say, or the app not entitled.
        case noKey(KeychainError.Code)
        /// The file cannot be read.
        case unreadable(FileError.Code)
    }

    /// The fields; nil when there are none that may be used.
    package var value: [String: SecretBytes]? {
        guard case .fields(let fields, _) = self else { return nil }
        return fields
    }

    /// Why there is nothing; nil when there is something.
    package var reason: Reason? {
        guard case .nothing(let reason) = self else { return nil }
        return reason
    }
}

/// A file of an application group with secrets in it: named fields with an end, sealed with a key that lies
/// in a keychain group which the same apps share.
///
/// Whoever reads it must be able to go on without it, so reading never fails: what cannot be used counts as
/// nothing, with the reason.
package struct GroupStateFile: Sendable {
    private let group: AppGroup
    private let name: String
    private let keychain: Keychain
    private let keychainGroup: String
    private let version: Int
    private let required: [String]

    /// What is written beside the sealed fields, in the open but bound to them.
    private struct Header: Codable {
        var version: Int
        var expires: Date
    }

    private struct File: Codable {
        var header: Data
        var sealed: Data
    }

    /// The state file `name` of `group`.
    ///
    /// - Parameters:
    ///   - keychain: where the key to it lies, under the service `app-group-state` and the file's name.
    ///   - keychainGroup: the group that the apps share there.
    ///   - version: what is written, and the only one that is understood.
    ///   - required: the fields without which nothing else is of use.
    package init(
        _ name: String, group: AppGroup, keychain: Keychain, keychainGroup: String, version: Int = 1,
        required: [String] = []
    ) {
        self.name = name
        self.group = group
        self.keychain = keychain
        self.keychainGroup = keychainGroup
        self.version = version
        self.required = required
    }

    /// Replaces what the file holds.
    ///
    /// - Throws: `KeychainError` when there is no key to be had, `DeviceError` when the file cannot be
    ///   written; what was there stays then.
    package func write(_ fields: [String: SecretBytes], expires: Date) throws {
        let secret = try keychain.createOrReadPassword(
            service: Self.service, account: name, accessGroup: keychainGroup, make: MasterKey.random)
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .binary
        let header = try encoder.encode(Header(version: version, expires: expires))
        let sealed = try SealingKey(secret).seal(
            SecretFields.encode(fields), associatedData: associatedData(header))
        try group.write([UInt8](try encoder.encode(File(header: header, sealed: Data(sealed)))), to: name)
    }

    /// What the file holds at `now`.
    package func read(now: Date) -> GroupState {
        let bytes: [UInt8]
        do throws(FileError) {
            guard let found = try group.read(name) else { return .nothing(.absent) }
            bytes = found
        } catch {
            return .nothing(.unreadable(error.code))
        }
        let decoder = PropertyListDecoder()
        guard let file = try? decoder.decode(File.self, from: Data(bytes)),
            let header = try? decoder.decode(Header.self, from: file.header)
        else { return .nothing(.damaged) }
        guard header.version == version else { return .nothing(.otherVersion(header.version)) }
        guard now < header.expires else { return .nothing(.expired(header.expires)) }
        return open(file, header)
    }

    /// Removes the file; silent when there is none.
    ///
    /// - Throws: `DeviceError`.
    package func remove() throws(FileError) {
        try group.remove(name)
    }

    private static let service = "app-group-state"

    private func open(_ file: File, _ header: Header) -> GroupState {
        let secret: SecretBytes?
        do throws(KeychainError) {
            secret = try keychain.password(
                service: Self.service, account: name, accessGroup: keychainGroup)
        } catch {
            return .nothing(.noKey(error.code))
        }
        guard let secret else { return .nothing(.noKey(.itemNotFound)) }
        guard let key = try? SealingKey(secret),
            let plain = key.open([UInt8](file.sealed), associatedData: associatedData(file.header)),
            let fields = SecretFields.decode(plain)
        else { return .nothing(.damaged) }
        if let missing = required.first(where: { fields[$0] == nil }) {
            return .nothing(.missingField(missing))
        }
        return .fields(fields, expires: header.expires)
    }

    /// Not the group's name: the file stays good when it moves to another group.
    private func associatedData(_ header: Data) -> [UInt8] {
        Array(name.utf8) + [0] + [UInt8](header)
    }
}
