/// The uniform type declarations of key sharing and the system types they conform to, as the bytes of
/// property lists in the form of an app's `Info.plist` (`UTExportedTypeDeclarations`).
///
/// They are compiled in, so that a command needs no file beside it. `UniformTypes` reads them.
package enum UTTypeDeclarations {
    /// The system's own types, as far as key sharing stands on them.
    package static let system: [UInt8] = PackageResources.SystemTypes_plist
    /// The fourteen types of the legacy mechanism; the fifteenth, `com.rsa.pkcs-12`, is the system's.
    package static let legacy: [UInt8] = PackageResources.LegacyTypes_plist
    /// The twenty-two types of the 2025 mechanism.
    package static let keySharing2025: [UInt8] = PackageResources.KeySharing2025Types_plist
}
