import CommandSupport
import Foundation
import TestSupport
import Testing

@Suite("Items that browse enables for a type", .timeLimit(.minutes(10)))
struct BrowseTableTests {
    /// Implements docs/rules.md R2 independently of the provider, using only the form of the identifiers.
    private func isEnabled(_ contentType: String, for requested: String) -> Bool {
        let isCompanion = contentType.hasSuffix("-p12")
        let isFile = isCompanion || contentType == "purebred2025.rsa.pkcs-12"
        let isZip = contentType.hasPrefix("purebred2025.zip.")
        let isFolder = contentType.hasPrefix("purebred2025.select.") && !isCompanion
        switch requested {
        case "com.rsa.pkcs-12": return isFile
        case "public.zip-archive": return isZip
        case "public.folder": return isFolder
        case "public.data": return isFile || isZip
        default: return contentType == requested
        }
    }

    @Test("Browse enables exactly the items whose content type conforms to the requested type")
    func everyType() async throws {
        let simulation = try Simulation()
        try await simulation.provider(
            "provision", "--key", "p256", "--generations", "1", "--types",
            "encryption,signature,authentication,device")
        try await simulation.serve()
        let selectors = [
            "all", "all-user", "device", "signature", "encryption", "authentication", "no-filter",
        ]
        let types =
            [
                "purebred2025.rsa.pkcs-12", "com.rsa.pkcs-12", "public.zip-archive", "public.folder",
                "public.data",
            ]
            + selectors.flatMap {
                ["purebred2025.select.\($0)", "purebred2025.select.\($0)-p12", "purebred2025.zip.\($0)"]
            }
        let folders = ["root", "All User", "All", "PIV", "Signature", "Encryption", "Device", "Unfiltered"]
        for type in types {
            for container in folders {
                let run = try await simulation.consumer("browse", container, "--uti", type, "--json")
                let listing = try run.document(ItemListingDocument.self)
                #expect(listing.requested == [type])
                #expect(!listing.items.isEmpty)
                for item in listing.items {
                    #expect(
                        item.enabled == isEnabled(item.contentType, for: type),
                        "\(item.contentType) in \(container) for \(type)")
                }
            }
        }
    }

    @Test("A request without types uses the plain PKCS #12 type")
    func nothing() async throws {
        let simulation = try Simulation()
        try await simulation.serve()
        let listing = try await simulation.consumer("browse", "--json").document(ItemListingDocument.self)
        #expect(listing.requested == ["purebred2025.rsa.pkcs-12"])
        #expect(listing.mechanism == "2025")
        #expect(listing.container == "root")
    }

    @Test(
        "Types that cannot be requested are rejected with a hint",
        arguments: [
            (["purebred2025.select.all_user"], "use purebred2025.select.all-user"),
            (["purebred2025.select.no_filter-p12"], "use purebred2025.select.no-filter-p12"),
            (["purebred.zip.all_user"], "use purebred.zip.all-user"),
            (["purebred.select.all"], "--mechanism legacy"),
            (["purebred.select.all", "purebred2025.select.all"], "one mechanism"),
            (["purebred2025.zip.piv"], "browse --help"),
            (["nobody.declares.this"], "browse --help"),
        ])
    func refused(types: [String], hint: String) async throws {
        let simulation = try Simulation()
        for command in [["browse"], ["import", "PIV.zip"]] {
            let run = try await simulation.consumer(command + types.flatMap { ["--uti", $0] } + ["--json"])
            #expect(run.status == 64)
            #expect(run.errors.contains("hint: ") && run.errors.contains(hint), "\(run.errors)")
            #expect(try run.errorCode() != nil)
        }
    }
}
