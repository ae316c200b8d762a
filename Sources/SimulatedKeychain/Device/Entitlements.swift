internal import PrivateFiles
internal import Foundation

/// The entitlements in an app's signature that concern data sharing: the groups.
package struct Entitlements: Sendable, Hashable {
    /// The value of `keychain-access-groups`: access groups, each with a team identifier as prefix. Items
    /// without a group are added to the first one.
    package var keychainAccessGroups: [String]
    /// The value of `com.apple.security.application-groups`: groups of apps that share a container.
    package var applicationGroups: [String]

    /// Creates entitlements to the given groups.
    package init(keychainAccessGroups: [String] = [], applicationGroups: [String] = []) {
        self.keychainAccessGroups = keychainAccessGroups
        self.applicationGroups = applicationGroups
    }

    /// The access group of persistent tokens (`kSecAttrAccessGroupToken`). Their keys never leave the provider, which
    /// uses them on request.
    package static let tokenGroup = "com.apple.token"

    /// The maximum number of groups of one kind in an entitlements file. It is limited because groups are compared with
    /// each other.
    package static let mostGroups = 1_000
    /// The maximum size of an entitlements file, in bytes.
    package static let largestFile = BoundedPropertyList.largest
    /// The maximum number of lists and mappings in entitlements, and therefore their maximum depth.
    package static let mostContainers = BoundedPropertyList.mostContainers

    /// Whether the app may use keys of persistent tokens.
    package var mayUseTokens: Bool { keychainAccessGroups.contains(Self.tokenGroup) }
}

extension Entitlements: Codable {
    private enum CodingKeys: String, CodingKey {
        case keychainAccessGroups = "keychain-access-groups"
        case applicationGroups = "com.apple.security.application-groups"
    }

    /// Reads the two optional lists of groups; ignores other entitlements.
    ///
    /// - Throws: `DeviceError.Code.invalidGroupName` if a group's name cannot be the name of a folder.
    package init(from decoder: any Decoder) throws {
        let lists = try decoder.container(keyedBy: CodingKeys.self)
        func list(_ key: CodingKeys) throws -> [String] {
            let names = try lists.decodeIfPresent([String].self, forKey: key) ?? []
            guard names.count <= Self.mostGroups else {
                throw DeviceError(
                    .invalidEntitlements, path: "",
                    "the entitlements name more than \(Self.mostGroups) groups of one kind")
            }
            if let name = names.first(where: { !PrivateFolder.isPlainName($0) }) {
                throw DeviceError(
                    .invalidGroupName, path: "",
                    "\u{201C}\(name.prefix(64))\u{201D} is not a valid group name")
            }
            return names
        }
        self.init(
            keychainAccessGroups: try list(.keychainAccessGroups),
            applicationGroups: try list(.applicationGroups))
    }

    /// Encodes the lists of groups that are not empty.
    package func encode(to encoder: any Encoder) throws {
        var lists = encoder.container(keyedBy: CodingKeys.self)
        for (key, names) in [
            (CodingKeys.keychainAccessGroups, keychainAccessGroups), (.applicationGroups, applicationGroups),
        ] where !names.isEmpty {
            try lists.encode(names, forKey: key)
        }
    }

    /// Reads entitlements from a property list, like the one in an app's signature.
    ///
    /// - Throws: `DeviceError`: `.invalidEntitlements` if the bytes are not a property list with lists of
    ///   strings; `.invalidGroupName` if a string cannot be the name of a group.
    package init(plist: [UInt8]) throws(DeviceError) {
        do {
            self = try BoundedPropertyList.decode(Entitlements.self, from: Data(plist))
        } catch let error as DeviceError {
            throw error
        } catch {
            throw DeviceError(
                .invalidEntitlements, path: "",
                "the entitlements are not a property list with lists of groups")
        }
    }

    /// Encodes the entitlements as an XML property list for codesign(1).
    ///
    /// - Throws: `DeviceError.Code.invalidEntitlements` if a property list cannot contain a name.
    package func plist() throws(DeviceError) -> [UInt8] {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .xml
        do {
            return [UInt8](try encoder.encode(self))
        } catch {
            throw DeviceError(.invalidEntitlements, path: "", "the entitlements cannot be written: \(error)")
        }
    }
}

/// A specific reason why an app may not use a group, other than that its entitlements do not contain the group. Apple's
/// rules: "Sharing access to keychain items among a collection of apps" and "Configuring app groups"
/// (developer.apple.com).
package enum EntitlementGap: Sendable, Hashable, CustomStringConvertible {
    /// The entitlements contain the group, but the name is not valid for an app group.
    case noApplicationGroup
    /// The app may read the group's items, but only the system adds to them.
    case onlySystemAdds(String)
    /// The entitlements contain the keychain group without the team prefix. The value is the full name.
    case missingTeam(String)
    /// The extension's app is entitled to the group, but the extension is not.
    case onlyItsApp

    /// Advice for the developer of the app, as a phrase.
    package var description: String {
        switch self {
        case .noApplicationGroup: "the name of an application group begins with group."
        case .onlySystemAdds(let group): "only the system adds to \(group); use a group of the app's team"
        case .missingTeam(let name): "a keychain group begins with the app's team identifier: \(name)"
        case .onlyItsApp: "its app has this entitlement; an extension also needs it in its own entitlements"
        }
    }
}
