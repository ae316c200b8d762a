import ArgumentParser
import CommandSupport
import Foundation
import KeyShareProvider
import KeySharing

struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List the items as the provider publishes them.",
        discussion: """
            EXAMPLE:
              keyshare-provider list Encryption
            """)

    @Argument(help: "A folder, such as Encryption (default: the root).")
    var container = Item.root

    @Option(
        help: ArgumentHelp(
            "Which single files the root shows: all, or the recent ones, as the sample app does.",
            valueName: "contents"))
    var root: RootContents = .all

    @Option(
        help: ArgumentHelp("The mechanism of key sharing: 2025 or legacy.", valueName: "mechanism"))
    var mechanism: Mechanism = .keySharing2025

    @Option(
        name: .long,
        help: ArgumentHelp(
            "With legacy: what a consumer would ask for; may be given several times.", valueName: "type"))
    var uti: [String] = []

    @OptionGroup var clock: ClockOptions
    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        if mechanism == .legacy, container != Item.root {
            throw ValidationError("a legacy list has no folders")
        }
        if mechanism == .keySharing2025, !uti.isEmpty {
            throw ValidationError(
                "a 2025 provider lists everything and never sees types; --uti goes with legacy")
        }
    }

    func run() throws {
        let console = output.console
        let store = try ProviderStore(try device.openDevice())
        let snapshot = try ProviderCatalogue(store, root: root).snapshot()
        let items =
            mechanism == .legacy
            ? LegacyListing(
                snapshot.identities, request: try TypeRequest(uti, mechanism: .legacy), now: clock.now
            ).rows
            : try ItemListing(snapshot, now: clock.now).page(of: container, after: nil, limit: .max).items
        let rows = items.map { ItemListingDocument.Row($0) }
        let document = ItemListingDocument(mechanism: mechanism, container: container, items: rows)
        try console.present(document) {
            try console.table(of: rows)
        }
    }
}

extension RootContents: ExpressibleByArgument {}
