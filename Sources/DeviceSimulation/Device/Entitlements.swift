internal import PrivateFiles
internal import Foundation

/// The entitlements in an app's signature that matter here: the groups through which apps share data.
package struct Entitlements: Sendable, Hashable {
    /// The value of `keychain-access-groups`: access groups, each with a team identifier in front. Items that name no
    /// group go to the first.
    package var keychainAccessGroups: [String]
    /// The value of `com.apple.security.application-groups`: groups of apps that share a container.
    package var applicationGroups: [String]

    /// Makes entitlements to the given groups.
    package init(keychainAccessGroups: [String] = [], applicationGroups: [String] = []) {
        self.keychainAccessGroups = keychainAccessGroups
        self.applicationGroups = applicationGroups
    }

    /// The access group of persistent tokens (`kSecAttrAccessGroupToken`): keys that stay in their provider and are
    /// used through it.
    package static let tokenGroup = "com.apple.token"

    /// The most groups of one kind in entitlements that are read. Groups are compared with each other.
    package static let mostGroups = 1_000
    /// The greatest size of entitlements that are read, in bytes.
    package static let largestFile = BoundedPropertyList.largest
    /// The most lists and mappings in entitlements in XML, and so the greatest depth.
    package static let mostContainers = BoundedPropertyList.mostContainers

    /// Whether the app may use keys of persistent tokens.
    package var mayUseTokens: Bool { keychainAccessGroups.contains(Self.tokenGroup) }
}

extension Entitlements: Codable {
    private enum CodingKeys: String, CodingKey {
        case keychainAccessGroups = "keychain-access-groups"
        case applicationGroups = "com.apple.security.application-groups"
    }

    /// Reads the two lists of groups, each of which may be missing; other entitlements are ignored.
    ///
    /// - Throws: `DeviceError.Code.invalidGroupName` where a group's name cannot be the name of a folder.
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
                    .invalidGroupName, path: "", "\u{201C}\(name.prefix(64))\u{201D} can be no group's name")
            }
            return names
        }
        self.init(
            keychainAccessGroups: try list(.keychainAccessGroups),
            applicationGroups: try list(.applicationGroups))
    }

    /// Writes the lists of groups that are not empty.
    package func encode(to encoder: any Encoder) throws {
        var lists = encoder.container(keyedBy: CodingKeys.self)
        for (key, names) in [
            (CodingKeys.keychainAccessGroups, keychainAccessGroups), (.applicationGroups, applicationGroups),
        ] where !names.isEmpty {
            try lists.encode(names, forKey: key)
        }
    }

    /// Reads entitlements from a property list such as an app's signature carries.
    ///
    /// - Throws: `DeviceError`: `.invalidEntitlements` where the bytes are no property list with lists of texts;
    ///   `.invalidGroupName` where a text cannot be the name of a group.
    package init(plist: [UInt8]) throws(DeviceError) {
        do {
            self = try BoundedPropertyList.decode(Entitlements.self, from: Data(plist))
        } catch let error as DeviceError {
            throw error
        } catch {
            throw DeviceError(
                .invalidEntitlements, path: "", "the entitlements are no property list of groups")
        }
    }

    /// Encodes the entitlements as an XML property list, as codesign(1) takes it.
    ///
    /// - Throws: `DeviceError.Code.invalidEntitlements` where a property list cannot hold a name.
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

/// Why an app may not use a group, where more is known than that its entitlements do not name the group. Apple's
/// rules: "Sharing access to keychain items among a collection of apps" and "Configuring app groups"
/// (developer.apple.com).
package enum EntitlementGap: Sendable, Hashable, CustomStringConvertible {
    /// The entitlements name the group, but no application group can have that name.
    case noApplicationGroup
    /// The app may read the group's items, and the system alone adds to them.
    case onlySystemAdds(String)
    /// The entitlements name the keychain group without the team; the name with it.
    case missingTeam(String)
    /// The extension's app is entitled to the group, and the extension is not.
    case onlyItsApp

    /// What the developer of the app needs to know, as a phrase.
    package var description: String {
        switch self {
        case .noApplicationGroup: "the name of an application group begins with group."
        case .onlySystemAdds(let group): "the system alone adds to \(group); take a group of the app's team"
        case .missingTeam(let name): "a keychain group has the app's team identifier in front: \(name)"
        case .onlyItsApp: "its app has this entitlement; an extension needs it in its own entitlements too"
        }
    }
}
