import TestCredentials
import ArgumentParser
import CommandSupport
import Foundation
import KeyShareProvider
import KeySharing
import OpenSSL

struct Trust: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "trust",
        abstract: "Write the test PKI's CA certificates, for validation in other programs.",
        discussion: """
            Without --format, the extension of the file decides: .der and .cer are DER, .mobileconfig is a \
            configuration profile that makes an Apple device trust the authorities, and all others are PEM. A DER file \
            contains one certificate, so several are written to a folder.

            With --person, the command writes only the authorities above these persons' certificates. With --crl, it \
            writes the authorities' revocation lists instead of their certificates.

            EXAMPLE:
              keyshare-provider trust -o test-ca.pem
              keyshare-provider trust --root-only -o root.der
              keyshare-provider trust -o test-ca.mobileconfig
            """)

    /// The formats of certificates and lists.
    enum Format: String, CaseIterable, ExpressibleByArgument {
        case pem, der, mobileconfig

        /// Selects the format from the extension of a file.
        init(file: String?) {
            let name = file?.lowercased() ?? ""
            self =
                name.hasSuffix(".mobileconfig")
                ? .mobileconfig : [".der", ".cer"].contains(where: name.hasSuffix) ? .der : .pem
        }
    }

    @Option(
        help: ArgumentHelp(
            "The format of the certificates: pem, der or mobileconfig (default: by the file's extension, otherwise pem).",
            valueName: "format"))
    var format: Format?

    @Flag(help: "Omit the authorities below the roots.")
    var rootOnly = false

    @Flag(help: "Write the authorities' revocation lists, valid for thirty days from now or --at.")
    var crl = false

    @OptionGroup var persons: PersonFilter
    @OptionGroup var clock: ClockOptions
    @OptionGroup var destination: DestinationOptions
    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        if crl && output.json { throw ValidationError("--crl and --json cannot be combined") }
        if output.json, destination.output != nil {
            throw ValidationError("-o and --json cannot be combined")
        }
        if crl, written == .mobileconfig {
            throw ValidationError(
                "a configuration profile cannot contain revocation lists; --crl needs pem or der")
        }
    }

    /// The output format.
    private var written: Format { format ?? Format(file: destination.output) }

    func run() throws {
        let console = output.console
        try destination.requireFree()
        let store = try ProviderStore(try device.openDevice())
        var authorities = try store.authorityCertificates().filter { !rootOnly || $0.isSelfSigned }
        guard !authorities.isEmpty else {
            throw CommandFailure(
                .noSuchItem, "the provider has no test PKI", hint: "create one: keyshare-provider provision")
        }
        if persons.person != nil {
            let identities = try store.identities()
            try persons.require(identities)
            let above = try identities.filter(persons.includes).reduce(into: Set<String>()) {
                labels, identity in
                labels.formUnion(try store.chain(of: try store.certificate(identity.label)).map(\.label))
            }
            authorities.removeAll { !above.contains($0.label) }
            guard !authorities.isEmpty else {
                throw CommandFailure(
                    .noSuchItem,
                    "no authority of the provider issued the certificates of these persons",
                    hint: "omit --person to list every authority")
            }
        }
        if crl {
            let lists = try ProvisioningStore(store).revocationLists(at: clock.now).filter {
                authorities.contains($0.authority)
            }
            try write(
                lists.map { ($0.authority.authorityFileName("crl"), $0.list.der) },
                pem: lists.map(\.list.pem), console)
        } else {
            try console.present(AuthoritiesDocument(authorities)) {
                guard written != .mobileconfig else {
                    let profile = ConfigurationProfile(trusting: authorities)
                    try destination.write(try profile.plist(), console)
                    return Self.explainInstallation(of: authorities, console)
                }
                try write(
                    authorities.map { ($0.authorityFileName("cer"), $0.der) },
                    pem: authorities.map(\.annotatedPEM), console)
            }
        }
    }

    /// Prints three lines that explain how to make a phone trust the authorities in a profile.
    private static func explainInstallation(of authorities: [Certificate], _ console: Console) {
        let roots = authorities.filter(\.isSelfSigned).map { $0.subject.commonName ?? "\($0.subject)" }
        console.note(
            "1. Send the file to the phone (AirDrop, mail or a web page), open it, and install it: "
                + "Settings > General > VPN & Device Management > Downloaded Profile > Install.")
        console.note(
            "2. Enable full trust, or TLS still fails: Settings > General > About > Certificate Trust Settings > "
                + roots.joined(separator: ", "))
        console.note(
            "3. Remove the profile after the test: Settings > General > VPN & Device Management > Remove Profile."
        )
    }

    /// Writes certificates or lists: concatenated in PEM, or one file each in DER.
    private func write(_ files: [(name: String, bytes: [UInt8])], pem: [String], _ console: Console) throws {
        guard written == .der else {
            return try destination.write(Array(pem.joined(separator: "").utf8), console)
        }
        if files.count == 1 { return try destination.write(files[0].bytes, console, isBinary: true) }
        try destination.writeFolder(
            files, console, what: "a DER file holds one certificate or list, but \(files.count) were selected"
        ) {
            $0.hasSuffix(".cer") || $0.hasSuffix(".crl")
        }
    }
}
