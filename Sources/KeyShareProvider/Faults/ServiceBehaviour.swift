package import DeviceSimulation
package import OpenSSL

/// How a provider serves, as far as a scenario says; nil stands for the usual behaviour.
package struct ServiceBehaviour: Sendable, Hashable, Codable {
    /// The name of the scenario that says so.
    package let scenario: String
    /// Which single files the root of the 2025 listing shows.
    package var root: RootContents?
    /// What the service does wrong on purpose.
    package var fault: ServiceFault?
    /// How long the password of a legacy export stays on the pasteboard, in seconds.
    package var pasteboardExpiry: Double?
    /// How files are encrypted.
    package var profile: PKCS12Profile.Name?
    /// The iterations of key derivations and MACs.
    package var iterations: Int?
    /// Whether files carry the authorities' certificates.
    package var chain: Bool?
    /// The name on every key and certificate.
    package var friendlyName: String?

    /// The usual behaviour in everything.
    package init(scenario: String) {
        self.scenario = scenario
    }

    /// What differs from the usual behaviour, for people; nil where nothing does.
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
    /// Reads what the scenario that was provisioned last says; nil where none was provisioned since the keychain was
    /// cleared.
    ///
    /// - Throws: `FileError` where the provider's settings cannot be read.
    package static func stored(on device: Device) throws -> ServiceBehaviour? {
        let (behaviour, source) = try settings(of: device).look(up: key)
        return source == .stored ? behaviour : nil
    }

    /// Writes a behaviour into the provider's settings, where every later provider process finds it; nil removes it.
    ///
    /// - Throws: `FileError` where the settings cannot be written.
    package static func store(_ behaviour: ServiceBehaviour?, on device: Device) throws {
        try settings(of: device).set(key, to: behaviour)
    }

    private static let key = DefaultsKey(
        "KeyShareServiceBehaviour", fallback: ServiceBehaviour(scenario: ""))

    private static func settings(of device: Device) throws -> GroupDefaults {
        GroupDefaults(try AppGroup(App.providerGroup, app: .provider, device: device))
    }
}
