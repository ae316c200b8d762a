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
            "What the root shows of single files: all, or recent as the sample app has it.",
            valueName: "contents"))
    var root: RootContents = .all

    @OptionGroup var clock: ClockOptions
    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
        let console = output.console
        let store = try ProviderStore(try device.openDevice())
        let listing = Listing(try Catalogue(store, root: root).snapshot(), now: clock.now)
        let items = try listing.page(of: container, after: nil, limit: .max).items
        let rows = items.map { ItemListingDocument.Row($0) }
        if output.json {
            try console.document(
                ItemListingDocument(mechanism: .keySharing2025, container: container, items: rows))
        } else {
            try console.table(of: rows)
        }
    }
}

extension RootContents: ExpressibleByArgument {}
