/// How a provider is to serve as far as a scenario says, in JSON; what is usual is left out.
package struct ServiceBehaviourDocument: Codable, Sendable {
    /// The name of the scenario.
    package let scenario: String
    /// What the root shows of single files.
    package let root: String?
    /// The name of the fault of the service.
    package let fault: String?
    /// How long a legacy password stays on the pasteboard, in seconds.
    package let pasteboardExpiry: Double?
    /// The profile of PKCS #12 files.
    package let profile: String?
    /// The iterations of key derivations.
    package let iterations: Int?
    /// Whether files hold the certificates of the authorities.
    package let chain: Bool?
    /// The friendly name of keys and certificates.
    package let friendlyName: String?

    /// Describes a behaviour by its parts.
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
