internal import Foundation
internal import KeySharing
internal import OpenSSL

extension Scenario {
    /// Reads a scenario from a YAML text.
    ///
    /// - Parameters:
    ///   - name: what the scenario is called.
    ///   - source: the file's name, for errors.
    /// - Throws: `malformedScenario` with file, line, column and what was expected.
    package init(yaml bytes: [UInt8], name: String, source: String) throws(ProvisioningError) {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw ScenarioProblem(
                .init(line: bytes.linesUpToBrokenText, column: 1), "expected text in UTF-8"
            ).error(in: source)
        }
        do throws(ScenarioProblem) {
            // Some editors put a byte order mark in front, which is no part of the text.
            let isMarked = text.unicodeScalars.first == "\u{FEFF}"
            let unmarked = isMarked ? String(text.unicodeScalars.dropFirst()) : text
            try self.init(try MarkedValue(yaml: unmarked), name: name)
        } catch {
            throw error.error(in: source)
        }
    }

    private init(_ value: MarkedValue, name: String) throws(ScenarioProblem) {
        let fields = try value.fields(
            of: "a scenario", among: ["description", "persons", "encoder", "service", "outcome"])
        self.name = name
        description = try fields.required("description").line("one sentence about the scenario")
        var persons: [Persons] = []
        for value in try fields.required("persons").list("a list of persons") {
            persons.append(try Persons(value))
        }
        self.persons = persons
        var service = ServiceBehaviour(scenario: name)
        if let value = fields["encoder"] { try service.readEncoder(value) }
        if let value = fields["service"] { try service.readService(value) }
        self.service = service
        outcome = try fields.read("outcome", Outcome.init)
    }
}

extension Scenario.Persons {
    private typealias Field = WritableKeyPath<PersonDescription, String?> & Sendable

    private static let descriptionKeys: [(name: String, field: any Field)] = [
        ("name", \.name), ("edipi", \.edipi), ("email", \.email), ("agency", \.agency),
        ("category", \.category), ("organization", \.organization), ("association", \.association),
        ("sid", \.sid),
    ]

    init(_ value: MarkedValue) throws(ScenarioProblem) {
        let keys = Self.descriptionKeys
        let fields = try value.fields(
            of: "a person", among: keys.map(\.name) + ["count", "credentials"])
        count = try fields.number("count", 1...1_000_000) ?? 1
        var description = PersonDescription()
        for key in keys {
            guard let value = fields[key.name] else { continue }
            let text = try value.line("a text")
            // Each by itself, so that what is wrong with it is said of its own line.
            var single = PersonDescription()
            single[keyPath: key.field] = text
            do throws(ProvisioningError) {
                var unused = Seed("").generator()
                _ = try single.person(using: &unused)
            } catch {
                throw ScenarioProblem(value.mark, error.reason)
            }
            if count > 1, ["name", "edipi", "email"].contains(key.name) {
                throw ScenarioProblem(value.mark, "\(key.name) is one person's; expected none beside count")
            }
            description[keyPath: key.field] = text
        }
        self.description = description
        var credentials: [Scenario.Credentials] = []
        var faults: [Scenario.Fault] = []
        for value in try fields.required("credentials").list("a list of credentials") {
            if value.hasFault {
                faults.append(try Scenario.Fault(value))
            } else {
                credentials.append(try Scenario.Credentials(value))
            }
        }
        self.credentials = credentials
        self.faults = faults
    }
}

extension Scenario.Fault {
    init(_ value: MarkedValue) throws(ScenarioProblem) {
        let fields = try value.fields(of: "a fault", among: ["fault", "key"])
        let name = try fields.required("fault")
        let known = Specimen.certificateFaults
        if case .text(let text) = name.content, Specimen.fault(named: text) != nil,
            !known.contains(where: { $0.name == text })
        {
            throw ScenarioProblem(
                name.mark, "\u{201C}\(text)\u{201D} is a fault of files, which a key chain cannot hold",
                hint: "keyshare-provider provision --fault \(text) -o FILE makes it")
        }
        specimen = try name.choice("a fault", among: known.map(\.name)) { text in
            known.first { $0.name == text }
        }
        algorithm = try fields.read("key", Scenario.Credentials.algorithm) ?? .rsa(bits: 2048)
    }
}

extension MarkedValue {
    fileprivate var hasFault: Bool {
        guard case .mapping(let entries) = content else { return false }
        return entries.contains { if case .text("fault") = $0.key.content { true } else { false } }
    }
}

extension [UInt8] {
    /// The number of the line that holds the first octets that are no UTF-8.
    fileprivate var linesUpToBrokenText: Int {
        for (index, line) in split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .enumerated()
        where String(validating: line, as: UTF8.self) == nil {
            return index + 1
        }
        return 1
    }
}
