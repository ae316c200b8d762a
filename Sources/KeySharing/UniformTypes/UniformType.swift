/// A declared uniform type, as the `Info.plist` of an app declares it.
///
/// ```swift
/// let type = try UniformTypeRegistry.standard.type("purebred2025.select.signature")
/// let description = type.description  // "X.509 Signature Certificate"
/// ```
public struct UniformType: Sendable, Hashable {
    /// The identifier, such as `com.rsa.pkcs-12`.
    public let identifier: String
    /// The description for users, such as `X.509 Signature Certificate`.
    public let description: String
    /// The identifiers that the type conforms to directly; conformance goes on from each of them.
    public let conformsTo: [String]
}
