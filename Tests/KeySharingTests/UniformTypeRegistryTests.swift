@testable import KeySharing
import Testing
import UTTypes

@Suite("The registry of uniform types", .timeLimit(.minutes(10)))
struct UniformTypeRegistryTests {
    let registry = UniformTypeRegistry.standard

    @Test("The registry reads every compiled-in list without an error")
    func compiledInListsAreWellFormed() throws {
        let read = try UniformTypeRegistry(propertyLists: [
            UTTypeDeclarations.system, UTTypeDeclarations.legacy, UTTypeDeclarations.keySharing2025,
        ])
        #expect(read.types == registry.types)
        #expect(registry.types.keys.filter { $0.hasPrefix("purebred2025.") }.count == 22)
        #expect(registry.types.keys.filter { $0.hasPrefix("purebred.") }.count == 14)
    }

    @Test("Every declared type conforms only to declared types")
    func conformanceLeadsNowhereUndeclared() {
        for type in registry.types.values {
            for parent in type.conformsTo {
                #expect(registry.types[parent] != nil, "\(type.identifier) conforms to \(parent)")
            }
        }
    }

    @Test(
        "Conformance is reflexive and transitive",
        arguments: [
            ("purebred2025.rsa.pkcs-12", "com.rsa.pkcs-12", true),
            ("purebred2025.rsa.pkcs-12", "public.data", true),
            ("purebred2025.rsa.pkcs-12", "public.item", true),
            ("purebred2025.rsa.pkcs-12", "public.folder", false),
            ("purebred2025.select.all", "public.folder", true),
            ("purebred2025.select.all", "public.directory", true),
            ("purebred2025.select.all", "public.data", false),
            ("purebred2025.select.all-p12", "com.rsa.pkcs-12", true),
            ("purebred2025.select.all-p12", "purebred2025.rsa.pkcs-12", false),
            ("purebred2025.zip.authentication", "public.zip-archive", true),
            ("purebred2025.zip.authentication", "com.pkware.zip-archive", true),
            ("purebred2025.zip.authentication", "public.archive", true),
            ("purebred2025.zip.authentication", "public.data", true),
            ("purebred.select.all", "public.data", true),
            ("purebred.zip.all", "public.data", true),
            ("purebred.zip.all", "public.zip-archive", false),
            ("com.rsa.pkcs-12", "com.rsa.pkcs-12", true),
            ("com.rsa.pkcs-12", "purebred2025.rsa.pkcs-12", false),
            ("nobody.declares.this", "nobody.declares.this", false),
        ])
    func conformance(identifier: String, other: String, expected: Bool) {
        #expect(registry.conforms(identifier, to: other) == expected)
    }

    @Test(
        "A type has the description that users see",
        arguments: [
            ("purebred2025.rsa.pkcs-12", "X.509 Certificate"),
            ("purebred2025.select.all-user-p12", "X.509 Certificate for User"),
            ("purebred.select.authentication", "X.509 PIV Certificate"),
            ("purebred2025.zip.no-filter", "Archive of X.509 Certificates"),
            ("purebred.zip.device", "Archive of X.509 Device Certificates"),
        ])
    func descriptions(identifier: String, expected: String) throws {
        #expect(try registry.type(identifier).description == expected)
    }

    @Test(
        "The registry rejects a spelling with an underscore, and the error contains the correct spelling",
        arguments: [
            ("purebred.select.all_user", "purebred.select.all-user"),
            ("purebred.zip.no_filter", "purebred.zip.no-filter"),
            ("purebred2025.select.no_filter", "purebred2025.select.no-filter"),
            ("purebred2025.select.all_user-p12", "purebred2025.select.all-user-p12"),
            ("purebred2025.zip.all_user", "purebred2025.zip.all-user"),
        ])
    func deprecated(identifier: String, modern: String) {
        #expect(throws: RequestError(.deprecatedSpelling(use: modern), identifier)) {
            try registry.type(identifier)
        }
    }

    @Test(
        "The registry rejects a type that is not declared",
        arguments: [
            "purebred2025.zip.piv", "purebred.select.all-p12", "purebred.select.all_user-p12", "", "_",
        ])
    func unknown(identifier: String) {
        #expect(throws: RequestError(.undeclaredType, identifier)) { try registry.type(identifier) }
    }

    @Test("The registry rejects lists that cannot be read or that declare a type twice")
    func malformed() {
        for lists in [
            [Array("no plist".utf8)], [[]], [UTTypeDeclarations.system, UTTypeDeclarations.system],
        ] {
            #expect(throws: RequestError(.malformedDeclarations, "")) {
                try UniformTypeRegistry(propertyLists: lists)
            }
        }
    }
}
