import ArgumentParser
import CertificateReading
import CommandSupport
import Diagnostics
import Foundation
import KeyShareProvider
import KeySharing
import OpenSSL

struct ListItems: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the items that the provider publishes.",
        discussion: """
            EXAMPLE:
              keyshare-provider list Encryption
              keyshare-provider list --person 'Dana'
            """)

    @Argument(help: "A folder, such as Encryption.", completion: .containers)
    var container = Item.root

    @Option(
        help: ArgumentHelp(
            "The single files in the root: all, or recent for only the most recent, as in the sample app.",
            valueName: "contents"))
    var root: RootContents = .all

    @OptionGroup var request: MechanismOptions

    @OptionGroup var persons: PersonFilter
    @OptionGroup var clock: ClockOptions
    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        if request.mechanism == .legacy, ItemLookup.container(container) != Item.root {
            throw ValidationError("a legacy list has no folders")
        }
    }

    func run() throws {
        let console = output.console
        let store = try ProviderStore(try device.openDevice())
        let snapshot = try ProviderCatalogue(store, root: root).snapshot()
        try persons.require(try store.heldIdentities())
        let container = ItemLookup.container(container)
        let items =
            request.mechanism == .legacy
            ? LegacyListing(
                snapshot.identities, request: try TypeRequest(request.uti, under: .legacy), now: clock.now
            ).rows
            : try ItemListing(snapshot, now: clock.now).page(of: container, after: nil, limit: .max).items
        let identities = snapshot.identities.reduce(into: [:]) { $0[$1.label] = $1 }
        let chosen = items.filter { item in
            persons.person == nil || item.label.flatMap { identities[$0] }.map(persons.includes) == true
        }
        let rows = chosen.map { ItemListingDocument.Row($0, of: identities) }
        let document = ItemListingDocument(mechanism: request.mechanism, container: container, items: rows)
        let unpublished = try TokenStore(store).unpublished().count { registration in
            persons.person == nil || persons.includes(IdentitySummary(registration.certificate))
        }
        try console.present(document) {
            try console.table(of: rows)
            if unpublished > 0, container == Item.root {
                let words = counted(unpublished, "token-only identity is", "token-only identities are")
                console.note("\(words) not listed here; see keyshare-provider token list")
            }
        }
    }
}

extension RootContents: ExpressibleByArgument {}
