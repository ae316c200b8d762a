package import ArgumentParser
package import KeySharing

/// The persons whose identities a command includes.
package struct PersonFilter: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "Select persons by name (\u{201C}First Last\u{201D} or \u{201C}Last, First\u{201D}), EDIPI or e-mail "
                + "address, or by a part of these.", valueName: "text"))
    package var person: String?

    package init() {}

    package func validate() throws {
        if person == "" {
            throw ValidationError("--person requires a part of a name, an EDIPI or an e-mail address")
        }
    }

    /// Returns whether the command includes the identity. Without the option, every identity is included (docs/rules.md
    /// R7.22).
    package func includes(_ identity: IdentitySummary) -> Bool {
        guard let person else { return true }
        return identity.details?.names(person: person) == true
    }

    /// Checks that the filter includes at least one identity.
    ///
    /// - Throws: `CommandFailure` (9) if the filter excludes all `identities`.
    package func require(_ identities: some Collection<IdentitySummary>) throws(CommandFailure) {
        guard let person, !identities.contains(where: includes) else { return }
        let people = Set(identities.compactMap { $0.details?.commonName }).sorted()
        let known =
            people.isEmpty
            ? "no identity has a common name"
            : "the \(people.count == 1 ? "only person is" : "people are") \(Self.list(people))"
        throw CommandFailure(
            .noSuchItem,
            "no common name, EDIPI or e-mail address contains \u{201C}\(person)\u{201D}; \(known)",
            hint: people.isEmpty ? nil : "omit --person to include every person")
    }

    /// The first names of a list, and the number of all others.
    private static func list(_ names: [String]) -> String {
        let more = names.count - mostNames
        return names.prefix(mostNames).joined(separator: ", ") + (more > 0 ? " and \(more) more" : "")
    }

    /// The number of names in an error.
    private static let mostNames = 10
}
