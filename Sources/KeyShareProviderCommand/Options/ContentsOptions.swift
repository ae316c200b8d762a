import ArgumentParser
import CertificateReading
import CommandSupport
import Foundation
import KeyShareProvider
import KeySharing
import OpenSSL
import TestCredentials
import TestVectors

/// The credentials that each person receives.
struct ContentsOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The certificate profile: \(CredentialProfile.names.joined(separator: ", ")); dod is the profile for "
                + "the date of each generation. (default: dod)", valueName: "name"),
        completion: .list(CredentialProfile.names))
    var profile: String?

    @Option(
        help: ArgumentHelp(
            "The types, separated by commas: encryption, signature, authentication, device (default: the "
                + "profile's).", valueName: "types"),
        completion: .credentialTypes, transform: ContentsOptions.types)
    var types: [CredentialType]?

    @Option(
        help: ArgumentHelp(
            "The key of every certificate: rsa2048, rsa3072, rsa4096, p256 or p384 (default: the profile's).",
            valueName: "key"),
        completion: .list(KeyAlgorithm.allCases.map(\.rawValue)), transform: ContentsOptions.algorithm)
    var key: KeyAlgorithm?

    @Option(help: ArgumentHelp("The number of generations of each type. (default: 4)", valueName: "n"))
    var generations: Int?

    @Option(
        help: ArgumentHelp(
            "Instead of --generations: their start dates, separated by commas: \(CalendarMoment.forms).",
            valueName: "dates"),
        transform: ContentsOptions.dates)
    var dates: [CalendarMoment]?

    @Option(
        help: ArgumentHelp(
            "The expiration date of the newest generation of each type, in the form of --dates; relative dates count from --at.",
            valueName: "date"),
        transform: ClockOptions.moment)
    var expires: CalendarMoment?

    @Option(
        help: ArgumentHelp(
            "The time for which each certificate is valid, such as \u{201C}18 months\u{201D} (default: the "
                + "profile's).", valueName: "time"),
        transform: ContentsOptions.span)
    var validity: CalendarSpan?

    @Option(
        help: ArgumentHelp(
            "Generate only this many keys and share them among the identities: fast, but different identities have the "
                + "same key. For load tests only.", valueName: "n"))
    var keyPool: Int?

    @Option(
        help: ArgumentHelp(
            "The number of additional, older recovered encryption keys. (default: 0)",
            valueName: "n"))
    var recovered: Int?

    @Option(
        help: ArgumentHelp(
            "The policies: test, or dod as in real credentials. (default: test)", valueName: "arc"))
    var policyArc: PolicyArc?

    @Option(
        help: ArgumentHelp(
            "The base URL of the PKI in certificates, such as http://127.0.0.1:8080.", valueName: "url"))
    var pki: String?

    func validate() throws {
        guard (1...100).contains(generations ?? 1) else {
            throw ValidationError("--generations must be a number from 1 to 100")
        }
        guard (0...100).contains(recovered ?? 0) else {
            throw ValidationError("--recovered must be a number from 0 to 100")
        }
        guard (1...100_000).contains(keyPool ?? 1) else {
            throw ValidationError("--key-pool must be a number from 1 to 100000")
        }
        guard dates == nil || generations == nil else {
            throw ValidationError("--dates and --generations cannot be combined")
        }
        if let profile, !CredentialProfile.names.contains(profile) {
            throw ValidationError(
                "\u{201C}\(profile)\u{201D} is not a profile; use one of \(CredentialProfile.names.joined(separator: ", "))"
            )
        }
        if let pki {
            guard pki.hasPrefix("http://"), pki.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
                throw ValidationError("--pki requires an address that starts with http://")
            }
        }
    }

    /// Returns the request for `count` persons. `persons` is empty if the options describe no person.
    func request(for persons: [TestPerson], count: Int) -> ProvisioningRequest {
        var set = CredentialSet(
            starts: dates.map { .at($0) } ?? .generations(generations ?? 4))
        set.types = types
        set.recovered = recovered ?? 0
        set.validity = validity
        set.expires = expires
        set.profile = profile ?? set.profile
        set.algorithm = key
        set.policyArc = policyArc ?? set.policyArc
        var request = ProvisioningRequest(persons: persons, personCount: count, sets: [set])
        request.locations = locations
        request.keyPool = keyPool
        return request
    }

    /// The differences between the new certificates of a renewal and their predecessors.
    var changes: Renewal.Changes {
        var changes = Renewal.Changes()
        changes.profile = profile
        changes.policyArc = policyArc
        changes.algorithm = key
        changes.locations = pki == nil ? nil : locations
        return changes
    }

    /// The URLs in certificates for revocation lists, issuers and OCSP.
    var locations: PKILocations { pki.map(PKILocations.init(base:)) ?? .example }

    /// Whether an option that contradicts `--scenario` was given.
    var areGiven: Bool { key != nil || areGivenExceptKey }

    /// Whether an option other than `--key` that contradicts `--scenario` was given.
    var areGivenExceptKey: Bool { profile != nil || types != nil || policyArc != nil || areGenerationsGiven }

    /// Whether an option for the number of credentials or their dates was given.
    var areGenerationsGiven: Bool {
        generations != nil || dates != nil || recovered != nil || expires != nil || validity != nil
            || keyPool != nil
    }

    static func types(_ text: String) throws -> [CredentialType] {
        var types: [CredentialType] = []
        for name in text.split(separator: ",").map(String.init) {
            guard let type = CredentialType(rawValue: name), type != .unknown, type != .multi else {
                throw ValidationError(
                    "\u{201C}\(name)\u{201D} is not one of encryption, signature, authentication, device")
            }
            if !types.contains(type) { types.append(type) }
        }
        guard !types.isEmpty else { throw ValidationError("--types requires at least one type") }
        return types
    }

    static func algorithm(_ text: String) throws -> KeyAlgorithm {
        guard let algorithm = KeyAlgorithm(rawValue: text) else {
            throw ValidationError(
                "\u{201C}\(text)\u{201D} is not one of rsa2048, rsa3072, rsa4096, p256, p384")
        }
        return algorithm
    }

    static func span(_ text: String) throws -> CalendarSpan {
        guard let span = CalendarSpan(text), span.longestDays <= CalendarMoment.longestDays else {
            throw ValidationError(
                "\u{201C}\(text)\u{201D} is not a time of at most 100 years such as \u{201C}18 months\u{201D}"
            )
        }
        return span
    }

    static func dates(_ text: String) throws -> [CalendarMoment] {
        let dates = try text.split(separator: ",").map { try ClockOptions.moment(String($0)) }
        guard !dates.isEmpty, dates.count <= 100 else {
            throw ValidationError("--dates requires 1 to 100 dates")
        }
        return dates
    }
}

extension PolicyArc: ExpressibleByArgument {}
