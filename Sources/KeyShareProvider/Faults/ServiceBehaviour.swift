package import DeviceSimulation
package import OpenSSL
internal import SimulatedKeychain

/// The settings of a provider's service that a scenario specifies. Nil means the default.
package struct ServiceBehaviour: Sendable, Hashable, Codable {
    /// The name of the scenario that specifies the settings.
    package let scenario: String
    /// The single files that the root of the 2025 listing shows.
    package var root: RootContents?
    /// The deliberate fault of the service.
    package var fault: ServiceFault?
    /// How long the password of a legacy export stays on the pasteboard, in seconds.
    package var pasteboardExpiry: Double?
    /// The encryption of exported files.
    package var profile: PKCS12Profile.Name?
    /// The number of iterations of key derivations and MACs.
    package var iterations: Int?
    /// Whether exported files contain the certificates of the issuing authorities.
    package var chain: Bool?
    /// The friendly name of every key and certificate in exported files.
    package var friendlyName: String?

    /// Creates a behaviour with only default settings.
    package init(scenario: String) {
        self.scenario = scenario
    }

    /// The settings that differ from the defaults, as text; nil if all settings are the defaults.
    package var summary: String? {
        let parts = [
            fault.map { "fault \($0.name)" }, root.map { "root \($0.rawValue)" },
            pasteboardExpiry.map { "pasteboard expiry \(Int($0)) s" },
            profile.map { "profile \($0.rawValue)" }, iterations.map { "\($0) iterations" },
            chain.map { $0 ? "with chain" : "without chain" },
            friendlyName.map { "friendly name \u{201C}\($0)\u{201D}" },
        ].compactMap(\.self)
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }
}

extension ServiceBehaviour {
    /// Reads the behaviour of the scenario that was provisioned last; nil if no scenario was provisioned since the
    /// keychain was cleared.
    ///
    /// - Throws: `FileError` if the provider's settings cannot be read.
    package static func stored(on device: Device) throws -> ServiceBehaviour? {
        let (behaviour, source) = try settings(of: device).look(up: key)
        return source == .stored ? behaviour : nil
    }

    /// Writes a behaviour to the provider's settings. Later provider processes read the behaviour from there. Nil
    /// removes the stored behaviour.
    ///
    /// - Throws: `FileError` if the settings cannot be written.
    package static func store(_ behaviour: ServiceBehaviour?, on device: Device) throws {
        try settings(of: device).set(key, to: behaviour)
    }

    private static let key = DefaultsKey(
        "KeyShareServiceBehaviour", fallback: ServiceBehaviour(scenario: ""))

    private static func settings(of device: Device) throws -> GroupDefaults {
        GroupDefaults(try AppGroup(App.providerGroup, app: .provider, device: device))
    }
}
