internal import CertificateReading
internal import OpenSSL

extension PersonDescription {
    private typealias Field = WritableKeyPath<PersonDescription, String?> & Sendable

    private static let fields: [(name: String, field: any Field)] = [
        ("name", \.name), ("edipi", \.edipi), ("email", \.email), ("agency", \.agency),
        ("category", \.category), ("organization", \.organization), ("association", \.association),
        ("sid", \.sid),
    ]

    /// The keys that describe a person.
    static var keys: [String] { fields.map(\.name) }

    /// Takes what these fields say of a person.
    init(_ fields: MarkedValue.Fields) throws(ScenarioProblem) {
        self.init()
        for key in Self.fields {
            guard let value = fields[key.name] else { continue }
            self[keyPath: key.field] = try value.line("a text")
            // Each with those in front of it, so that what is wrong with it is said of its own line.
            do throws(ProvisioningError) {
                var unused = Seed("").generator()
                _ = try person(using: &unused)
            } catch {
                throw ScenarioProblem(value.mark, error.reason)
            }
        }
    }

    /// Reads persons from a JSON text, or a YAML one: one, or a list of them.
    ///
    /// - Parameter source: the file's name, for errors.
    /// - Throws: `malformedPerson` with file, line, column and what was expected.
    package static func list(
        _ bytes: [UInt8], source: String
    ) throws(ProvisioningError) -> [PersonDescription] {
        do throws(ScenarioProblem) {
            // A million persons with a few fields each.
            let text = try MarkedValue(text: bytes, of: "a person", most: 10_000_000)
            var persons: [PersonDescription] = []
            var identifiers: Set<String> = []
            for value in try text.oneOrMore("a person, or a list of them") {
                let person = try PersonDescription(try value.fields(of: "a person", among: keys))
                let identifier = person.edipi ?? person.name.flatMap { CommonName($0).edipi }
                if let identifier, !identifiers.insert(identifier).inserted {
                    throw ScenarioProblem(value.mark, "a person in front of this has the EDIPI \(identifier)")
                }
                persons.append(person)
            }
            return persons
        } catch {
            throw error.error(.malformedPerson, in: source)
        }
    }
}
