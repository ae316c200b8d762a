/// The declarations of uniform types, as property lists in the form of an app's `Info.plist` with the key
/// `UTExportedTypeDeclarations`.
///
/// The lists are compiled in, so the commands need no additional file. `UniformTypeRegistry` of the module
/// `KeySharing` reads them.
package enum UTTypeDeclarations {
    /// The system types to which the types of key sharing conform (docs/rules.md R2.5).
    package static let system: [UInt8] = PackageResources.SystemTypes_plist
    /// The 14 legacy types (docs/rules.md R2.2); the fifteenth, `com.rsa.pkcs-12`, is a system type.
    package static let legacy: [UInt8] = PackageResources.LegacyTypes_plist
    /// The 22 types of the 2025 mechanism (docs/rules.md R2.3).
    package static let keySharing2025: [UInt8] = PackageResources.KeySharing2025Types_plist
}
