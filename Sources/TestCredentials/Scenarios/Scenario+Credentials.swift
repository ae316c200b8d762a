internal import CertificateReading
internal import Foundation
internal import KeySharing
internal import OpenSSL

extension Scenario.Credentials {
    init(_ value: MarkedValue) throws(ScenarioProblem) {
        let fields = try value.fields(
            of: "a credential",
            among: [
                "types", "generations", "starts", "recovered", "interval", "profile", "key", "policy-arc",
                "fault",
            ])
        profile =
            try fields.read("profile") { value throws(ScenarioProblem) in
                try value.choice("a profile", among: CredentialProfile.names) { $0 }
            } ?? profile
        types = try fields.read("types") { value throws(ScenarioProblem) in
            try Self.types(value, of: profile)
        }
        algorithm = try fields.read("key", Self.algorithm)
        policyArc = try fields.choice("policy-arc", "a policy arc") ?? policyArc
        interval = try fields.read("interval", Self.interval) ?? interval
        try readStarts(fields)
    }

    /// The types of a profile, each once.
    private static func types(
        _ value: MarkedValue, of profile: String
    ) throws(ScenarioProblem) -> [CredentialType] {
        let profiles = CredentialProfile.all.filter { $0.series == profile || $0.name == profile }
        let names = CredentialType.allCases.filter { type in profiles.contains { $0.has(type) } }
            .map(\.rawValue)
        var types: [CredentialType] = []
        for element in try value.oneOrMore("one type or more") {
            let type = try element.choice(
                "a type of the profile \(profile)", among: names, CredentialType.init(rawValue:))
            guard !types.contains(type) else {
                throw ScenarioProblem(element.mark, "\(type) is there twice; expected it once")
            }
            types.append(type)
        }
        return types
    }

    static func algorithm(_ value: MarkedValue) throws(ScenarioProblem) -> KeyAlgorithm {
        try value.choice("a key")
    }

    private static func interval(_ value: MarkedValue) throws(ScenarioProblem) -> CalendarSpan {
        guard case .text(let text) = value.content, let span = CalendarSpan(text) else {
            throw value.problem(expected: "a time such as \u{201C}6 months\u{201D}")
        }
        return span
    }

    /// When they start: so many generations, or at given moments; and what was recovered beside them.
    private mutating func readStarts(_ fields: MarkedValue.Fields) throws(ScenarioProblem) {
        if let value = fields["starts"] {
            if let generations = fields["generations"] {
                throw ScenarioProblem(
                    generations.mark, "generations stands beside starts; expected one of the two")
            }
            var moments: [Scenario.Moment] = []
            for element in try value.oneOrMore("one moment or more") {
                moments.append(try Scenario.Moment(element))
            }
            starts = .at(moments)
        }
        if let count = try fields.number("generations", 0...100) { starts = .generations(count) }
        if let value = fields["recovered"] {
            recovered = try value.number(1...100)
            guard types?.contains(.encryption) ?? true else {
                throw ScenarioProblem(
                    value.mark, "only encryption keys are recovered; expected encryption among the types")
            }
        }
        if case .generations(let count) = starts {
            if count == 0, types != [.encryption] || recovered == 0, let value = fields["generations"] {
                throw ScenarioProblem(
                    value.mark,
                    "no generation leaves nothing; expected recovered keys and the type encryption alone")
            }
            guard (count + recovered) * interval.longestDays <= Self.longestDays else {
                let value = fields["interval"] ?? fields["recovered"] ?? fields["generations"]
                throw ScenarioProblem(
                    value?.mark ?? .init(line: 1, column: 1),
                    "\(count + recovered) generations of \(interval) lead back more than a century",
                    hint: "a shorter interval, such as 6 months")
            }
        }
    }

    /// A century, and what its leap years add at most.
    fileprivate static let longestDays = 100 * 366
}

extension Scenario.Moment {
    init(_ value: MarkedValue) throws(ScenarioProblem) {
        let expected = "a date, or a time such as \u{201C}3 years ago\u{201D} or \u{201C}in 2 months\u{201D}"
        guard case .text(let text) = value.content else { throw value.problem(expected: expected) }
        let span: CalendarSpan?
        if let date = CertificateDate.date(text), CertificateDate.supported.contains(date) {
            self = .at(date.wholeSeconds)
            return
        } else if text == "now" {
            span = CalendarSpan(0, .day)
        } else if text.hasSuffix(" ago") {
            span = CalendarSpan(String(text.dropLast(4))).map { CalendarSpan(-$0.count, $0.unit) }
        } else {
            span = text.hasPrefix("in ") ? CalendarSpan(String(text.dropFirst(3))) : nil
        }
        guard let span, abs(span.longestDays) <= Scenario.Credentials.longestDays else {
            throw value.problem(expected: expected)
        }
        self = .after(span)
    }

    /// The moment, counted from `now`.
    func date(from now: Date) -> Date {
        switch self {
        case .at(let date): date
        case .after(let span): span.added(to: now.wholeSeconds)
        }
    }
}

extension Scenario.Outcome {
    init(_ value: MarkedValue) throws(ScenarioProblem) {
        for (key, value) in try value.entries("a mapping by mechanism: 2025, legacy") {
            let mechanism: Mechanism = try key.choice("a mechanism")
            var selections: [Selector: [CredentialType: Int]] = [:]
            for (key, value) in try value.entries("a mapping by selection, such as all-user") {
                let selector: Selector = try key.choice("a selection")
                var counts: [CredentialType: Int] = [:]
                for (key, value) in try value.entries("how many there are of each type") {
                    counts[try key.choice("a type")] = try value.number(1...1_000_000)
                }
                selections[selector] = counts
            }
            counts[mechanism] = selections
        }
    }
}
