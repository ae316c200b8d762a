import TestCredentials
import ArgumentParser
import CommandSupport
import Foundation
import KeyShareProvider
import OpenSSL

struct Trust: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Write the test PKI's CA certificates in PEM, for validation elsewhere.",
        discussion: """
            With --crl it writes the authorities' revocation lists in place of their certificates.

            EXAMPLE:
              keyshare-provider trust -o test-ca.pem
            """)

    @Flag(help: "Write the authorities' revocation lists, good for thirty days from now or --at.")
    var crl = false

    @OptionGroup var clock: ClockOptions
    @OptionGroup var destination: DestinationOptions
    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        if crl && output.json { throw ValidationError("--crl goes without --json") }
        if output.json, destination.output != nil { throw ValidationError("-o goes without --json") }
    }

    func run() throws {
        let console = output.console
        let store = try ProviderStore(try device.openDevice())
        let certificates = try store.authorityCertificates()
        guard !certificates.isEmpty else {
            throw CommandFailure(
                .noSuchItem, "the provider has no test PKI", hint: "keyshare-provider provision makes one")
        }
        if crl {
            try destination.write(
                Array(try store.revocationLists(at: clock.now).map(\.pem).joined().utf8), console)
        } else {
            try console.present(AuthoritiesDocument(certificates)) {
                try destination.write(Array(certificates.map(\.pem).joined().utf8), console)
            }
        }
    }
}
