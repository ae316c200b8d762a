internal import CertificateReading
internal import Diagnostics
internal import Foundation
internal import KeySharing
internal import OpenSSL
internal import TestCredentials

extension CredentialSet {
    /// Reads one entry of a person's list of credentials.
    ///
    /// - Throws: `ProvisioningError` with the position of the invalid value.
    init(_ value: YAMLNode) throws(ProvisioningError) {
        self.init(starts: .generations(1))
        let fields = try value.fields(
            of: "a credential",
            among: [
                "types", "generations", "starts", "recovered", "interval", "validity", "expires", "profile",
                "key", "policy-arc", "fault",
            ])
        profile =
            try fields.read("profile") { value throws(ProvisioningError) in
                try value.choice("a profile", among: CredentialProfile.names) { $0 }
            } ?? profile
        types = try fields.read("types") { value throws(ProvisioningError) in
            try Self.types(value, of: profile)
        }
        algorithm = try fields.read("key", Self.algorithm)
        policyArc = try fields.choice("policy-arc", "a policy arc") ?? policyArc
        interval = try fields.read("interval", Self.span) ?? interval
        validity = try fields.read("validity", Self.span)
        if let value = validity.flatMap({ _ in fields["validity"] }),
            validity?.longestDays ?? 0 > Self.longestDays
        {
            throw value.problem(expected: "an interval of at most 100 years")
        }
        expires = try fields.read("expires") { value throws(ProvisioningError) in try Moment(value) }
        try readStarts(fields)
    }

    /// Reads the types of a profile. Each type may occur once.
    private static func types(
        _ value: YAMLNode, of profile: String
    ) throws(ProvisioningError) -> [CredentialType] {
        let profiles = CredentialProfile.all.filter { $0.series == profile || $0.name == profile }
        let names = CredentialType.allCases.filter { type in profiles.contains { $0.has(type) } }
            .map(\.rawValue)
        var types: [CredentialType] = []
        for element in try value.oneOrMore("one type or more") {
            let type = try element.choice(
                "a type of the profile \(profile)", among: names, CredentialType.init(rawValue:))
            guard !types.contains(type) else {
                throw ProvisioningError(element.position, "\(type) occurs twice; expected it once")
            }
            types.append(type)
        }
        return types
    }

    /// Reads the name of a key algorithm.
    static func algorithm(_ value: YAMLNode) throws(ProvisioningError) -> KeyAlgorithm {
        try value.choice("a key")
    }

    private static func span(_ value: YAMLNode) throws(ProvisioningError) -> CalendarSpan {
        guard case .text(let text) = value.content, let span = CalendarSpan(text) else {
            throw value.problem(expected: "a time such as \u{201C}6 months\u{201D}")
        }
        return span
    }

    /// Reads the start dates of the credentials, as a number of generations or as times, and the number of additional
    /// recovered keys.
    private mutating func readStarts(_ fields: YAMLMapping) throws(ProvisioningError) {
        if let value = fields["starts"] {
            if let generations = fields["generations"] {
                throw ProvisioningError(
                    generations.position, "generations and starts are alternatives; expected one of the two")
            }
            var moments: [Moment] = []
            for element in try value.oneOrMore("one date or more") {
                moments.append(try Moment(element))
            }
            starts = .at(moments)
        }
        if let count = try fields.number("generations", 0...100) { starts = .generations(count) }
        if let value = fields["recovered"] {
            recovered = try value.number(1...100)
            guard types?.contains(.encryption) ?? true else {
                throw ProvisioningError(
                    value.position,
                    "only encryption keys can be recovered; expected encryption among the types")
            }
        }
        if case .generations(let count) = starts {
            if count == 0, types != [.encryption] || recovered == 0, let value = fields["generations"] {
                throw ProvisioningError(
                    value.position,
                    "zero generations require recovered keys, and encryption as the only type")
            }
            guard (count + recovered) * interval.longestDays <= Self.longestDays else {
                let value = fields["interval"] ?? fields["recovered"] ?? fields["generations"]
                throw ProvisioningError(
                    value?.position ?? .init(line: 1, column: 1),
                    "\(count + recovered) generations of \(interval) span more than a century",
                    remedy: .shorterInterval)
            }
        }
    }

    /// The maximum number of days in a century.
    fileprivate static let longestDays = CalendarMoment.longestDays
}

extension CredentialSet.Moment {
    /// Parses a date, `now`, `tomorrow`, or a relative time such as `3 years ago` or `in 2 months`.
    init(_ value: YAMLNode) throws(ProvisioningError) {
        guard case .text(let text) = value.content, let moment = CalendarMoment(text) else {
            throw value.problem(
                expected:
                    "a date, or a time such as \u{201C}3 years ago\u{201D} or \u{201C}in 2 months\u{201D}")
        }
        self = moment
    }
}

extension Scenario.Outcome {
    /// Reads the numbers of identities by mechanism, selection and type.
    init(_ value: YAMLNode) throws(ProvisioningError) {
        for (key, value) in try value.entries("a mapping by mechanism: 2025, legacy") {
            let mechanism: Mechanism = try key.choice("a mechanism")
            var selections: [IdentitySelector: [CredentialType: Int]] = [:]
            for (key, value) in try value.entries("a mapping by selection, such as all-user") {
                let selector: IdentitySelector = try key.choice("a selection")
                var counts: [CredentialType: Int] = [:]
                for (key, value) in try value.entries("a mapping of types to numbers of identities") {
                    counts[try key.choice("a type")] = try value.number(1...1_000_000)
                }
                selections[selector] = counts
            }
            counts[mechanism] = selections
        }
    }
}
