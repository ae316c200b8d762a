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
        if output.json {
            try console.document(["identities": identities.map(HeldIdentityDocument.init)])
            return
        }
        var table = Table("TYPE", "SERIAL", "VALID FROM", "VALID TO", "SUBJECT", "LABEL")
        for identity in identities {
            table.append(
                identity.summary.type(.keySharing2025).rawValue, identity.summary.serialNumber,
                String(identity.certificate.notBefore.utcText.prefix(10)),
                String(identity.certificate.notAfter.utcText.prefix(10)),
                identity.certificate.subject.commonName ?? "\(identity.certificate.subject)",
                String(identity.summary.label.prefix(16)) + "\u{2026}")
        }
        try console.lines(table.text)
        console.note(
            identities.isEmpty ? "the keychain holds no identity" : "\(identities.count) identities")
    }
}

private struct HeldIdentityDocument: Encodable {
    let label: String
    let type: String
    let serial: String
    let subject: String
    let notBefore: Date
    let notAfter: Date

    init(_ identity: HeldIdentity) {
        label = identity.summary.label
        type = identity.summary.type(.keySharing2025).rawValue
        serial = identity.summary.serialNumber
        subject = "\(identity.certificate.subject)"
        notBefore = identity.certificate.notBefore
        notAfter = identity.certificate.notAfter
    }
}
