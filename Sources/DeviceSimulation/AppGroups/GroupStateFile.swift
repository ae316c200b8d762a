package import Foundation
internal import OpenSSL
package import PrivateFiles
package import SecretMemory
package import SimulatedKeychain

/// The contents of a group's state file, or the reason why it counts as empty.
package enum GroupState: Sendable {
    /// The fields, and the time after which they must not be used.
    case fields([String: SecretBytes], expires: Date)
    /// The file has no usable fields; the value is the reason.
    case nothing(Reason)

    /// The reasons why a state file counts as empty.
    package enum Reason: Sendable, Hashable {
        /// The file does not exist.
        case absent
        /// A program of a different version wrote the file. The value is the version in the file.
        case otherVersion(Int)
        /// The fields expired at this time.
        case expired(Date)
        /// The file lacks the required field with this name.
        case missingField(String)
        /// The file was altered, or was sealed with another key.
        case damaged
        /// The keychain does not return the key, for example because the device is locked.
        case noKey(KeychainError.Code)
        /// The file cannot be read, or is accessible to others.
        case unreadable(FileError.Code)
    }

    /// The fields; nil if they must not be used.
    package var value: [String: SecretBytes]? {
        guard case .fields(let fields, _) = self else { return nil }
        return fields
    }

    /// The reason why the fields must not be used; nil if they may be used.
    package var reason: Reason? {
        guard case .nothing(let reason) = self else { return nil }
        return reason
    }
}

/// A file of an app group that contains secrets: named fields with an expiry date. They are encrypted with a key in a
/// keychain group that the apps also share.
///
/// An app must be able to continue without the file, so reading never throws. For contents that cannot be used it
/// returns ``GroupState/nothing(_:)`` with the reason.
package struct GroupStateFile: Sendable {
    private let group: AppGroup
    private let name: String
    private let keychain: Keychain
    private let keychainGroup: String
    private let version: Int
    private let required: [String]

    /// The unencrypted part; it is authenticated together with the encrypted fields.
    private struct Header: Codable {
        var version: Int
        var expires: Date
    }

    private struct File: Codable {
        var header: Data
        var sealed: Data
    }

    /// Creates the value for the state file `name` of `group`, without accessing the file.
    ///
    /// - Parameters:
    ///   - name: The name of the file in the group.
    ///   - group: The app group that contains the file.
    ///   - keychain: Contains the file's key, under the service `app-group-state` and the file's name as the account.
    ///   - keychainGroup: The access group of the key, which the apps share.
    ///   - version: The version that is written, and the only one that is read.
    ///   - required: The names of the fields that a usable file must contain.
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

    /// Encrypts `fields` and replaces the earlier ones. Creates the key on first use.
    ///
    /// - Throws: `KeychainError` if the key is not available; `FileError` if the file cannot be written. The
    ///   earlier fields are kept in this case.
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

    /// Reads the fields, as of the time `now`.
    package func read(now: Date) -> GroupState {
        let bytes: [UInt8]
        do throws(FileError) {
            guard let found = try group.read(name) else { return .nothing(.absent) }
            bytes = found
        } catch {
            return .nothing(.unreadable(error.code))
        }
        guard let file = try? BoundedPropertyList.decodeBinary(File.self, from: Data(bytes)),
            let header = try? BoundedPropertyList.decodeBinary(Header.self, from: file.header)
        else { return .nothing(.damaged) }
        guard header.version == version else { return .nothing(.otherVersion(header.version)) }
        guard now < header.expires else { return .nothing(.expired(header.expires)) }
        return open(file, header)
    }

    /// Removes the file; does nothing if it does not exist.
    ///
    /// - Throws: `FileError.Code.inputOutput`.
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

    /// The associated data of the fields: the file's name and header. The group's name is not included, so
    /// that the file remains readable when it moves to another group.
    private func associatedData(_ header: Data) -> [UInt8] {
        Array(name.utf8) + [0] + [UInt8](header)
    }
}
