import ArgumentParser
import CommandSupport
import Foundation
import KeyShareProvider
import OpenSSL

struct Trust: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Write the test PKI's CA certificates in PEM, for validation elsewhere.",
        discussion: """
            EXAMPLE:
              keyshare-provider trust -o test-ca.pem
            """)

    @OptionGroup var destination: DestinationOptions
    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
        let console = output.console
        let certificates = try ProviderStore(try device.openDevice()).authorityCertificates()
        guard !certificates.isEmpty else {
            throw CommandFailure(
                .noSuchItem, "the provider has no test PKI", hint: "keyshare-provider provision makes one")
        }
        if output.json {
            try console.document(
                Document(
                    certificates: certificates.map {
                        .init(subject: "\($0.subject)", label: $0.label, pem: $0.pem)
                    }))
        } else {
            try destination.write(Array(certificates.map(\.pem).joined().utf8), console)
        }
    }

    private struct Document: Encodable {
        struct Certificate: Encodable {
            let subject: String
            let label: String
            let pem: String
        }

        let certificates: [Certificate]
    }
}
