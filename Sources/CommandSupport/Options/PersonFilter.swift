package import ArgumentParser
package import KeySharing

/// The persons whose identities a command takes.
package struct PersonFilter: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "Only whose common name, EDIPI or e-mail address contains this.", valueName: "text"))
    package var person: String?

    package init() {}

    package func validate() throws {
        if person == "" {
            throw ValidationError("--person takes a part of a name, an EDIPI or an e-mail address")
        }
    }

    /// Whether the command takes the identity; without the option it takes every one (docs/rules.md R7.22).
    package func includes(_ identity: IdentitySummary) -> Bool {
        guard let person else { return true }
        return identity.details?.names(person: person) == true
    }

    /// Makes sure that somebody is left where persons were asked for.
    ///
    /// - Throws: `CommandFailure` (9) where the filter leaves none of `identities`.
    package func require(_ identities: some Collection<IdentitySummary>) throws(CommandFailure) {
        guard let person, !identities.contains(where: includes) else { return }
        throw CommandFailure(
            .noSuchItem, "nobody's common name, EDIPI or e-mail address contains \u{201C}\(person)\u{201D}",
            hint: "leave --person away to see everybody")
    }
}
