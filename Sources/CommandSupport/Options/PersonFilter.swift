package import ArgumentParser
package import KeySharing

/// The persons whose identities a command includes.
package struct PersonFilter: ParsableArguments {
    @Option(
        name: .long,
        help: ArgumentHelp(
            "Select persons whose common name, EDIPI or e-mail address contains this.", valueName: "text"))
    package var person: String?

    package init() {}

    package func validate() throws {
        if person == "" {
            throw ValidationError("--person needs a part of a name, an EDIPI or an e-mail address")
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
        throw CommandFailure(
            .noSuchItem, "no common name, EDIPI or e-mail address contains \u{201C}\(person)\u{201D}",
            hint: "omit --person to include every person")
    }
}
