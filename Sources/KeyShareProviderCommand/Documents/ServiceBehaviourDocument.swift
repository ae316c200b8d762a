internal import KeyShareProvider
internal import OpenSSL

/// The provider's behaviour in a scenario, in JSON. Default values are omitted.
package struct ServiceBehaviourDocument: Codable, Sendable {
    /// The name of the scenario.
    package let scenario: String
    /// The single files that the root shows.
    package let root: String?
    /// The name of the service's fault.
    package let fault: String?
    /// The lifetime of a legacy password on the pasteboard, in seconds.
    package let pasteboardExpiry: Double?
    /// The profile of PKCS #12 files.
    package let profile: String?
    /// The iterations of key derivations.
    package let iterations: Int?
    /// Whether files include the certificates of the authorities.
    package let chain: Bool?
    /// The friendly name of keys and certificates.
    package let friendlyName: String?

    /// Creates a behaviour.
    package init(
        scenario: String, root: String?, fault: String?, pasteboardExpiry: Double?, profile: String?,
        iterations: Int?, chain: Bool?, friendlyName: String?
    ) {
        self.scenario = scenario
        self.root = root
        self.fault = fault
        self.pasteboardExpiry = pasteboardExpiry
        self.profile = profile
        self.iterations = iterations
        self.chain = chain
        self.friendlyName = friendlyName
    }
}

extension ServiceBehaviourDocument {
    /// Creates the JSON form of a behaviour.
    init(_ behaviour: ServiceBehaviour) {
        self.init(
            scenario: behaviour.scenario, root: behaviour.root?.rawValue, fault: behaviour.fault?.rawValue,
            pasteboardExpiry: behaviour.pasteboardExpiry, profile: behaviour.profile?.rawValue,
            iterations: behaviour.iterations, chain: behaviour.chain, friendlyName: behaviour.friendlyName)
    }
}
