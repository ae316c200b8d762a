/// A declared uniform type: what an app's `Info.plist` says about it.
package struct UniformType: Sendable, Hashable {
    /// Its identifier, such as `com.rsa.pkcs-12`.
    package let identifier: String
    /// What a user reads, such as `X.509 Signature Certificate`.
    package let description: String
    /// The identifiers it conforms to directly; conformance goes on from each of them.
    package let conformsTo: [String]
}
