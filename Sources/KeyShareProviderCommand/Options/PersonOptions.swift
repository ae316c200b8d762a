import Diagnostics
import TestCredentials
import ArgumentParser
import CommandSupport
import KeyShareProvider

/// The persons who receive credentials.
struct PersonOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The person: \u{201C}First Last\u{201D}, \u{201C}LAST, FIRST MIDDLE\u{201D} or "
                + "LAST.FIRST.MIDDLE.EDIPI (default: a random name).",
            valueName: "name"))
    var person: String?

    @Option(help: ArgumentHelp("The person's identifier, ten digits.", valueName: "digits"))
    var edipi: String?

    @Option(help: ArgumentHelp("The person's e-mail address.", valueName: "address"))
    var email: String?

    @Option(
        help: ArgumentHelp(
            "The category of the person's organization in a FASC-N, one digit.", valueName: "digit"))
    var category: String?

    @Option(help: ArgumentHelp("The person's organization in a FASC-N, four digits.", valueName: "digits"))
    var organization: String?

    @Option(
        help: ArgumentHelp(
            "The person's Windows account, S-1-5-21-\u{2026}, in certificates that have a principal name.",
            valueName: "sid"))
    var sid: String?

    @Option(
        help: ArgumentHelp(
            "CSV with a header line, or JSON or YAML: persons with name, edipi, email, agency, category, "
                + "organization, association, sid; - is standard input.", valueName: "file"),
        completion: .file())
    var persons: String?

    @Option(help: ArgumentHelp("The number of persons. (default: 1)", valueName: "n"))
    var count: Int?

    func validate() throws {
        guard (1...1_000_000).contains(count ?? 1) else {
            throw ValidationError("--count must be a number from 1 to 1000000")
        }
        let isOne = person != nil || edipi != nil || email != nil || sid != nil
        guard !isOne || count ?? 1 == 1 else {
            throw ValidationError(
                "--person, --edipi, --email and --sid describe one person; they cannot be combined with --count"
            )
        }
        guard persons == nil || (!isOne && count ?? 1 == 1) else {
            throw ValidationError(
                "--persons cannot be combined with --person, --edipi, --email, --sid or --count")
        }
    }

    /// Returns the persons that the options describe. Missing values are random.
    ///
    /// - Parameter seed: The seed of the run; nil for a random run.
    /// - Throws: `CommandFailure` if the file cannot be read, `ProvisioningError` if a description is invalid.
    func persons(seed: UInt64?) throws -> [TestPerson] {
        if let persons {
            let descriptions = try PersonDescription.list(
                try InputFile.read(persons, limit: PersonDescription.largestFile),
                source: persons == "-" ? "standard input" : persons)
            return try PersonDescription.persons(descriptions, seed: seed)
        }
        let parts = [person, edipi, email, category, organization, sid]
        guard parts.contains(where: { $0 != nil }) else { return [] }
        var description = PersonDescription()
        description.name = person
        description.edipi = edipi
        description.email = email
        description.category = category
        description.organization = organization
        description.sid = sid
        return try PersonDescription.persons(Array(repeating: description, count: count ?? 1), seed: seed)
    }

    /// Whether one of the options was given.
    var areGiven: Bool {
        persons != nil || person != nil || edipi != nil || email != nil || sid != nil || category != nil
            || organization != nil || count != nil
    }
}
