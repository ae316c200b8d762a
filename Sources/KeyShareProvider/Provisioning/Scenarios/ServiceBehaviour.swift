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
    /// Reads how files are protected.
    mutating func readEncoder(_ value: MarkedValue) throws(ScenarioProblem) {
        let fields = try value.fields(
            of: "an encoder", among: ["profile", "iterations", "chain", "friendly-name"])
        let limits = PKCS12Limits.standard
        profile = try fields.choice("profile", "a profile of PKCS #12")
        iterations = try fields.number("iterations", 1...limits.iterations)
        chain = try fields["chain"]?.flag()
        friendlyName = try fields.read("friendly-name") { value throws(ScenarioProblem) in
            let expected = "a name of at most \(limits.friendlyName) characters"
            let name = try value.line(expected)
            guard name.unicodeScalars.count <= limits.friendlyName else {
                throw value.problem(expected: expected)
            }
            return name
        }
    }

    /// Reads what the service does.
    mutating func readService(_ value: MarkedValue) throws(ScenarioProblem) {
        let fields = try value.fields(of: "a service", among: ["fault", "root", "pasteboard-expiry"])
        fault = try fields.choice("fault", "a fault of the service")
        root = try fields.choice("root", "the contents of the root")
        pasteboardExpiry = try fields.number("pasteboard-expiry", 0...86_400).map(Double.init)
    }
}

extension ServiceBehaviour {
    /// What the scenario that was provisioned last says; nil where none was, or the key chain was cleared.
    ///
    /// - Throws: `DeviceError` where the provider's settings cannot be read.
    package static func stored(on device: Device) throws(DeviceError) -> ServiceBehaviour? {
        let (behaviour, source) = try settings(of: device).look(up: key)
        return source == .stored ? behaviour : nil
    }

    /// Keeps a behaviour in the provider's settings, for every later `serve`; nil forgets it.
    ///
    /// - Throws: `DeviceError`.
    package static func store(_ behaviour: ServiceBehaviour?, on device: Device) throws {
        try settings(of: device).set(key, to: behaviour)
    }

    private static let key = DefaultsKey(
        "KeyShareServiceBehaviour", fallback: ServiceBehaviour(scenario: ""))

    private static func settings(of device: Device) throws(DeviceError) -> GroupDefaults {
        let group = App.provider.entitlements.applicationGroups[0]
        return GroupDefaults(try AppGroup(group, app: .provider, device: device))
    }
}
