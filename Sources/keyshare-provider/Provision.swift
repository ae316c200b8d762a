import ArgumentParser
import CommandSupport
import Foundation
import KeyShareProvider
import KeySharing
import OpenSSL

struct Provision: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Make a test PKI and identities like the DoD's in the provider's key chain.",
        discussion: """
            The newest generation of each type starts the day before now (or --at), each older one three years \
            earlier, and each is valid for three years. The authorities of an earlier run are used again.

            EXAMPLE:
              keyshare-provider provision --person "Dana Example" --types signature,encryption
            """)

    @Option(help: ArgumentHelp("How many generations of each type.", valueName: "n"))
    var generations = 4

    @Option(
        help: ArgumentHelp(
            "Which types, separated by commas: encryption, signature, authentication, device.",
            valueName: "types"),
        transform: Provision.types)
    var types: [CredentialType] = [.encryption, .signature, .authentication]

    @Option(
        help: ArgumentHelp(
            "The key of every certificate: rsa2048, rsa3072, rsa4096, p256 or p384.", valueName: "key"),
        transform: Provision.algorithm)
    var key: KeyAlgorithm = .rsa(bits: 2048)

    @Option(
        help: ArgumentHelp(
            "Whose credentials: \u{201C}First Last\u{201D} or LAST.FIRST.MIDDLE.EDIPI (default: a random name).",
            valueName: "name"))
    var person: String?

    @Option(help: ArgumentHelp("How many persons.", valueName: "n"))
    var count = 1

    @OptionGroup var clock: ClockOptions
    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard (1...100).contains(generations) else {
            throw ValidationError("--generations takes a number from 1 to 100")
        }
        guard (1...1_000_000).contains(count) else {
            throw ValidationError("--count takes a number from 1 to 1000000")
        }
        guard person == nil || count == 1 else {
            throw ValidationError("--person names one person; it goes without --count")
        }
    }

    func run() async throws {
        let console = output.console
        var random = SystemRandomNumberGenerator()
        var persons: [TestPerson] = []
        if let person {
            guard let named = TestPerson(name: person, using: &random) else {
                throw CommandFailure(
                    .usage, "\u{201C}\(person)\u{201D} is no person's name",
                    hint: "write First Last, or LAST.FIRST.MIDDLE with ten digits behind it if you like")
            }
            persons = [named]
        } else {
            persons = (0..<count).map { _ in TestPerson(using: &random) }
        }
        let request = ProvisioningRequest(
            persons: persons, types: types, generations: generations, algorithm: key, date: clock.now)
        let store = try ProviderStore(try device.openDevice())
        let made = try await Provisioner(store).run(request, from: .system) { done in
            console.progress("\(done) of \(request.count) identities")
        }
        console.progress(nil)
        if output.json {
            try console.document(Document(identities: made.map(Document.Identity.init)))
        } else {
            var table = Table("TYPE", "VALID FROM", "SERIAL", "LABEL")
            for identity in made {
                table.append(
                    identity.type(.keySharing2025).rawValue, String(identity.notBefore.utcText.prefix(10)),
                    identity.serialNumber, String(identity.label.prefix(16)) + "\u{2026}")
            }
            try console.lines(table.text)
            let names = persons.count == 1 ? persons[0].commonName : "\(persons.count) persons"
            console.note("made \(counted(made.count, "identity", "identities")) for \(names)")
        }
    }

    static func types(_ text: String) throws -> [CredentialType] {
        var types: [CredentialType] = []
        for name in text.split(separator: ",").map(String.init) {
            guard let type = CredentialType(rawValue: name), type != .unknown, type != .multi else {
                throw ValidationError(
                    "\u{201C}\(name)\u{201D} is none of encryption, signature, authentication, device")
            }
            if !types.contains(type) { types.append(type) }
        }
        guard !types.isEmpty else { throw ValidationError("--types names no type") }
        return types
    }

    static func algorithm(_ text: String) throws -> KeyAlgorithm {
        guard let algorithm = KeyAlgorithm(rawValue: text) else {
            throw ValidationError("\u{201C}\(text)\u{201D} is none of rsa2048, rsa3072, rsa4096, p256, p384")
        }
        return algorithm
    }

    private struct Document: Encodable {
        struct Identity: Encodable {
            let label: String
            let type: String
            let serial: String
            let notBefore: Date

            init(_ identity: IdentitySummary) {
                label = identity.label
                type = identity.type(.keySharing2025).rawValue
                serial = identity.serialNumber
                notBefore = identity.notBefore
            }
        }

        let identities: [Identity]
    }
}
