package import DeviceSimulation
package import OpenSSL

/// How a provider is to serve, as far as a scenario says; what is nil is as usual.
package struct ServiceBehaviour: Sendable, Hashable, Codable {
    /// The scenario it is of.
    package let scenario: String
    package var root: RootContents?
    package var fault: ServiceFault?
    /// How long a legacy password stays on the pasteboard, in seconds.
    package var pasteboardExpiry: Double?
    package var profile: PKCS12Profile.Name?
    package var iterations: Int?
    /// Whether files carry the authorities' certificates.
    package var chain: Bool?
    package var friendlyName: String?

    /// The usual behaviour.
    package init(scenario: String) {
        self.scenario = scenario
    }

    /// What is not as usual, as a phrase; nil where nothing is.
    package var words: String? {
        let words = [
            fault.map { "fault \($0.rawValue)" }, root.map { "root \($0.rawValue)" },
            pasteboardExpiry.map { "pasteboard expiry \(Int($0)) s" },
            profile.map { "profile \($0.rawValue)" }, iterations.map { "\($0) iterations" },
            chain.map { $0 ? "with chain" : "without chain" },
            friendlyName.map { "friendly name \u{201C}\($0)\u{201D}" },
        ].compactMap(\.self)
        return words.isEmpty ? nil : words.joined(separator: ", ")
    }
}

extension ServiceBehaviour {
    /// What the scenario that was provisioned last says; nil where none was, or the keychain was cleared.
    ///
    /// - Throws: `FileError` where the provider's settings cannot be read.
    package static func stored(on device: Device) throws -> ServiceBehaviour? {
        let (behaviour, source) = try settings(of: device).look(up: key)
        return source == .stored ? behaviour : nil
    }

    /// Keeps a behaviour in the provider's settings, for every later `serve`; nil forgets it.
    ///
    /// - Throws: `FileError` where the settings cannot be written.
    package static func store(_ behaviour: ServiceBehaviour?, on device: Device) throws {
        try settings(of: device).set(key, to: behaviour)
    }

    private static let key = DefaultsKey(
        "KeyShareServiceBehaviour", fallback: ServiceBehaviour(scenario: ""))

    private static func settings(of device: Device) throws -> GroupDefaults {
        let group = App.provider.entitlements.applicationGroups[0]
        return GroupDefaults(try AppGroup(group, app: .provider, device: device))
    }
}
