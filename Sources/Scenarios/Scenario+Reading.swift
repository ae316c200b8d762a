internal import Diagnostics
internal import Foundation
internal import KeyShareProvider
internal import KeySharing
internal import OpenSSL
package import TestCredentials
internal import TestVectors

extension Scenario {
    /// The maximum size of a scenario file, in bytes. A thousand persons with names fit.
    package static let largestFile = 1 << 20
    /// The maximum number of values in a scenario.
    package static let largestValueCount = 10_000

    /// Parses a scenario from a YAML document.
    ///
    /// - Parameters:
    ///   - bytes: The YAML document.
    ///   - name: The name of the scenario.
    ///   - source: The name of the file, for errors.
    /// - Throws: `ProvisioningError`: `.malformedScenario` with file, line, column and the expected contents.
    package init(yaml bytes: [UInt8], name: String, source: String) throws(ProvisioningError) {
        do throws(ProvisioningError) {
            try self.init(
                try YAMLNode(text: bytes, of: "a scenario", most: Self.largestValueCount), name: name)
        } catch {
            throw error.located(in: source, as: .malformedScenario)
        }
    }

    private init(_ value: YAMLNode, name: String) throws(ProvisioningError) {
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
    init(_ value: YAMLNode) throws(ProvisioningError) {
        let fields = try value.fields(
            of: "a person", among: PersonDescription.keys + ["count", "credentials"])
        count = try fields.number("count", 1...1_000_000) ?? 1
        for key in ["name", "edipi", "email"] where count > 1 {
            guard let value = fields[key] else { continue }
            throw ProvisioningError(
                value.position, "\(key) describes one person and cannot be combined with count")
        }
        description = try PersonDescription(fields)
        var credentials: [CredentialSet] = []
        var defects: [Scenario.Defect] = []
        for value in try fields.required("credentials").list("a list of credentials") {
            if value.hasFault {
                defects.append(try Scenario.Defect(value))
            } else {
                credentials.append(try CredentialSet(value))
            }
        }
        self.credentials = credentials
        self.defects = defects
    }
}

extension Scenario.Defect {
    init(_ value: YAMLNode) throws(ProvisioningError) {
        let fields = try value.fields(of: "a fault", among: ["fault", "key"])
        let name = try fields.required("fault")
        let known = CertificateDefects.all
        if case .text(let text) = name.content, TestVector.defective(named: text) != nil,
            !known.contains(where: { $0.name == text })
        {
            throw ProvisioningError(
                name.position,
                "the fault \u{201C}\(text)\u{201D} concerns whole files, so a keychain cannot contain it",
                remedy: .fileOfTestVector(text))
        }
        vector = try name.choice("a fault", among: known.map(\.name)) { text in
            known.first { $0.name == text }
        }
        algorithm = try fields.read("key", CredentialSet.algorithm) ?? .rsa(bits: 2048)
    }
}

extension YAMLNode {
    fileprivate var hasFault: Bool {
        guard case .mapping(let entries) = content else { return false }
        return entries.contains { if case .text("fault") = $0.key.content { true } else { false } }
    }
}
