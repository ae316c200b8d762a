/// A declared uniform type: what an app's `Info.plist` says about it.
public struct UniformType: Sendable, Hashable {
    /// Its identifier, such as `com.rsa.pkcs-12`.
    public let identifier: String
    /// What a user reads, such as `X.509 Signature Certificate`.
    public let description: String
    /// The identifiers it conforms to directly; conformance goes on from each of them.
    public let conformsTo: [String]
}
