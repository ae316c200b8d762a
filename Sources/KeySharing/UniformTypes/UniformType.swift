/// A uniform type as declared in an app's `Info.plist`.
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
    /// The identifiers of the types that this type conforms to directly. Conformance is transitive.
    public let conformsTo: [String]
}
