import Diagnostics
import ArgumentParser
import CommandSupport
import Foundation
import KeyShareConsumer
import KeySharing
import OpenSSL

struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "List the identities in the consumer's keychain.",
        discussion: """
            EXAMPLE:
              keyshare-consumer list --json
            """)

    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
        let console = output.console
        let identities = try ConsumerStore(try device.openDevice()).identities()
        try console.present(
            HeldIdentitiesDocument(identities: identities.map { .init($0.certificate, $0.summary) })
        ) {
            var table = Table("TYPE", "SERIAL", "VALID FROM", "VALID TO", "SUBJECT", "LABEL")
            for identity in identities {
                table.append(
                    identity.summary.type(.keySharing2025).rawValue, identity.summary.serialNumber,
                    identity.certificate.notBefore.dayText, identity.certificate.notAfter.dayText,
                    identity.certificate.subject.commonName ?? "\(identity.certificate.subject)",
                    identity.summary.label.abbreviated)
            }
            try console.lines(table.text)
            console.note(
                identities.isEmpty
                    ? "the keychain holds no identity" : counted(identities.count, "identity", "identities"))
        }
    }
}
