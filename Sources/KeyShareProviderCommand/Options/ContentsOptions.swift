import TestCredentials
import ArgumentParser
import CommandSupport
import Foundation
import KeyShareProvider
import KeySharing
import OpenSSL

/// The credentials that each person gets.
struct ContentsOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "What certificates hold: \(CredentialProfile.names.joined(separator: ", ")); dod is the one of "
                + "each generation's date. (default: dod)", valueName: "name"),
        completion: .list(CredentialProfile.names))
    var profile: String?

    @Option(
        help: ArgumentHelp(
            "Which types, separated by commas: encryption, signature, authentication, device (default: the "
                + "profile's).", valueName: "types"),
        completion: .credentialTypes, transform: ContentsOptions.types)
    var types: [CredentialType]?

    @Option(
        help: ArgumentHelp(
            "The key of every certificate: rsa2048, rsa3072, rsa4096, p256 or p384 (default: the profile's).",
            valueName: "key"),
        completion: .list(KeyAlgorithm.allCases.map(\.rawValue)), transform: ContentsOptions.algorithm)
    var key: KeyAlgorithm?

    @Option(help: ArgumentHelp("How many generations of each type. (default: 4)", valueName: "n"))
    var generations: Int?

    @Option(
        help: ArgumentHelp(
            "When the generations start, separated by commas, in place of --generations.", valueName: "dates"),
        transform: ContentsOptions.dates)
    var dates: [Date]?

    @Option(
        help: ArgumentHelp(
            "How many recovered encryption keys there are beside these, older still. (default: 0)",
            valueName: "n"))
    var recovered: Int?

    @Option(
        help: ArgumentHelp(
            "Which policies: test, or dod for those of real credentials. (default: test)", valueName: "arc"))
    var policyArc: PolicyArc?

    @Option(
        help: ArgumentHelp(
            "Where certificates say that the PKI answers, such as http://127.0.0.1:8080.", valueName: "url"))
    var pki: String?

    func validate() throws {
        guard (1...100).contains(generations ?? 1) else {
            throw ValidationError("--generations takes a number from 1 to 100")
        }
        guard (0...100).contains(recovered ?? 0) else {
            throw ValidationError("--recovered takes a number from 0 to 100")
        }
        guard dates == nil || generations == nil else {
            throw ValidationError("--dates stands in place of --generations; give one of them")
        }
        if let profile, !CredentialProfile.names.contains(profile) {
            throw ValidationError(
                "\u{201C}\(profile)\u{201D} is no profile; there are \(CredentialProfile.names.joined(separator: ", "))"
            )
        }
        if let pki {
            guard pki.hasPrefix("http://"), pki.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
                throw ValidationError("--pki takes an address that starts with http://")
            }
        }
    }

    /// The request for `count` persons, of whom `persons` are known.
    func request(for persons: [TestPerson], count: Int) -> ProvisioningRequest {
        var set = CredentialSet(
            starts: dates.map { .at($0.map(CredentialSet.Moment.at)) } ?? .generations(generations ?? 4))
        set.types = types
        set.recovered = recovered ?? 0
        set.profile = profile ?? set.profile
        set.algorithm = key
        set.policyArc = policyArc ?? set.policyArc
        var request = ProvisioningRequest(persons: persons, personCount: count, sets: [set])
        request.locations = locations
        return request
    }

    /// How the new certificates of a renewal differ from the ones that they replace.
    var changes: Renewal.Changes {
        var changes = Renewal.Changes()
        changes.profile = profile
        changes.policyArc = policyArc
        changes.algorithm = key
        changes.locations = pki == nil ? nil : locations
        return changes
    }

    /// The addresses that certificates name for revocation lists, issuers and OCSP.
    var locations: PKILocations { pki.map(PKILocations.init(base:)) ?? .example }

    /// Whether an option was given that contradicts `--scenario`.
    var areGiven: Bool { key != nil || areGivenBesideKey }

    /// Whether an option other than `--key` was given that contradicts `--scenario`.
    var areGivenBesideKey: Bool { profile != nil || types != nil || policyArc != nil || areGenerationsGiven }

    /// Whether an option was given for the number of credentials or their dates.
    var areGenerationsGiven: Bool { generations != nil || dates != nil || recovered != nil }

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

    static func dates(_ text: String) throws -> [Date] {
        let dates = try text.split(separator: ",").map { try ClockOptions.date(String($0)) }
        guard !dates.isEmpty, dates.count <= 100 else {
            throw ValidationError("--dates takes 1 to 100 dates")
        }
        return dates
    }
}

extension PolicyArc: ExpressibleByArgument {}
