import CertificateReading
import KeyShareProtocol
import KeyShareWire
import Foundation
import KeySharing
import OpenSSL
import StandardExtensions
import Testing

@testable import KeyShareProvider

@Suite("The 2025 provider's listing", .timeLimit(.minutes(10)))
struct ItemListingTests {
    private let now = Date(timeIntervalSince1970: 1_800_000_000)

    private func identity(_ usage: KeyUsage, _ year: Int, _ name: String = "", principal: Bool = false)
        -> IdentitySummary
    {
        let label = Digest.sha256(Array("\(usage.rawValue) \(year) \(name)".utf8)).upperHex
        return IdentitySummary(
            label: label, serialNumber: String(label.prefix(4)),
            notBefore: Date(timeIntervalSince1970: Double(year - 1970) * 31_557_600),
            facts: CertificateFacts(keyUsage: usage, hasUTF8OtherName: principal))
    }

    private var sample: [IdentitySummary] {
        [2015, 2018, 2021, 2024].flatMap { year in
            [
                identity(.keyEncipherment, year), identity([.digitalSignature, .nonRepudiation], year),
                identity(.digitalSignature, year, principal: true),
            ]
        }
    }

    private func listing(_ identities: [IdentitySummary], root: RootContents = .all) -> ItemListing {
        ItemListing(CatalogueSnapshot(generation: 7, identities: identities, root: root), now: now)
    }

    @Test("The root lists files, then folders, then zips")
    func rootOrder() throws {
        let items = try listing(sample).page(of: "root", after: nil, limit: .max).items
        let (files, folders, zips) = (items[..<12], items[12..<19], items[19...])
        #expect(files.allSatisfy { $0.kind == .pkcs12 })
        #expect(folders.allSatisfy { $0.kind == .folder })
        #expect(zips.allSatisfy { $0.kind == .zip })
        #expect(
            folders.map(\.filename)
                == ["All User", "All", "PIV", "Signature", "Encryption", "Device", "Unfiltered"])
        #expect(zips.map(\.identifier) == folders.map { "\($0.identifier).zip" })
        #expect(items.allSatisfy { $0.parent == "root" })
    }

    @Test("The folders contain the expected numbers of the sample's twelve identities")
    func folderCounts() throws {
        let listing = listing(sample)
        let counts = try IdentitySelector.allCases.map {
            try listing.page(of: $0.folderName, after: nil, limit: .max).items.count
        }
        #expect(counts == [6, 6, 1, 1, 4, 0, 12])
    }

    @Test("Every listed item can be looked up")
    func lookUpAgrees() throws {
        for root in RootContents.allCases {
            let listing = listing(sample, root: root)
            for container in ["root"] + IdentitySelector.allCases.map(\.folderName) {
                for item in try listing.page(of: container, after: nil, limit: .max).items {
                    #expect(try listing.item(item.identifier) == item)
                }
            }
        }
    }

    @Test("An identity is not found in a folder that it does not belong to")
    func lookUpRefuses() throws {
        let listing = listing(sample)
        let older = sample[1].label
        #expect(throws: ProviderFailure(.notAvailable, "")) { try listing.item("Signature.\(older)") }
        #expect(throws: ProviderFailure(.notAvailable, "")) { try listing.item("Device.\(older)") }
        #expect(throws: ProviderFailure(.notAvailable, "")) { try listing.item("nothing") }
        #expect(throws: ProviderFailure(.notAvailable, "")) {
            try listing.page(of: "Nobody", after: nil, limit: 1)
        }
    }

    @Test(
        "The root lists all identities, or the most recent of each type",
        arguments: [(RootContents.all, 12), (.recent, 6)])
    func recentRoot(root: RootContents, expected: Int) throws {
        let items = try listing(sample, root: root).page(of: "root", after: nil, limit: .max).items
        #expect(items.filter { $0.kind == .pkcs12 }.count == expected)
    }

    @Test(
        "The pages of a list together contain the whole list, for every page size",
        arguments: [1, 2, 5, 11, 12, 13, 25, 26, 27])
    func paging(limit: Int) throws {
        let listing = listing(sample)
        let whole = try listing.page(of: "root", after: nil, limit: .max)
        var items: [Item] = []
        var cursor: String?
        repeat {
            let page = try listing.page(of: "root", after: cursor, limit: limit)
            #expect(page.items.count <= limit)
            items += page.items
            cursor = page.nextCursor
        } while cursor != nil
        #expect(items == whole.items)
    }

    @Test(
        "An expired or malformed cursor is rejected",
        arguments: ["6:3", "7:99", "7:-1", "x", "", "7:3:1"])
    func badCursor(cursor: String) {
        #expect(throws: ProviderFailure(.notAvailable, "")) {
            try listing(sample).page(of: "root", after: cursor, limit: 5)
        }
    }

    @Test("Files have the dates of their certificates, and zips the time of the request")
    func dates() throws {
        let items = try listing(sample).page(of: "root", after: nil, limit: .max).items
        #expect(items[0].created == sample.map(\.notBefore).max())
        #expect(items.filter { $0.kind == .zip }.allSatisfy { $0.created == now })
    }

    @Test("Files in a folder have the folder's companion type")
    func contentTypes() throws {
        let listing = listing(sample)
        for selector in IdentitySelector.allCases {
            let items = try listing.page(of: selector.folderName, after: nil, limit: .max).items
            #expect(items.allSatisfy { $0.contentType == "purebred2025.select.\(selector.rawValue)-p12" })
            #expect(try listing.item(selector.zipName).contentType == "purebred2025.zip.\(selector.rawValue)")
        }
    }

    @Test("An item is found by its identifier anywhere, and by its file name at the root first")
    func find() async throws {
        let listing = listing(sample)
        let newest = sample[10]
        #expect(try await listing.find(newest.filename(under: .keySharing2025)).identifier == newest.label)
        #expect(try await listing.find("Signature.\(newest.label)").parent == "Signature")
        await #expect(throws: RequestError(.noSuchItem, "")) { try await listing.find("nothing.p12") }
        let recent = self.listing(sample, root: .recent)
        let older = sample[1].filename(under: .keySharing2025)
        #expect(try await recent.find(older).parent == "Unfiltered")
        await #expect(throws: RequestError(.ambiguousName, "")) {
            try await self.listing(
                [identity(.keyEncipherment, 2020, "a"), identity(.keyEncipherment, 2020, "b")].map {
                    IdentitySummary(
                        label: $0.label, serialNumber: "01", notBefore: $0.notBefore, facts: $0.facts)
                }
            ).find("encryption_01.p12")
        }
    }
}
