import Diagnostics
import ArgumentParser
import CommandSupport
import Foundation
import KeyShareConsumer
import KeySharing
import OpenSSL

struct ListImported: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the identities in the consumer's keychain.",
        discussion: """
            EXAMPLE:
              keyshare-consumer list --json
              keyshare-consumer list --person 'Dana'
            """)

    @OptionGroup var persons: PersonFilter
    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
        let console = output.console
        let held = try ConsumerStore(try device.openDevice()).identities()
        try persons.require(held.map(\.summary))
        let identities = held.map(\.summary).filter(persons.includes).map(IdentityDocument.init)
        try console.present(HeldIdentitiesDocument(identities: identities)) {
            try console.table(of: identities)
            console.note(
                identities.isEmpty
                    ? "the keychain contains no identities"
                    : counted(identities.count, "identity", "identities"))
        }
    }
}
