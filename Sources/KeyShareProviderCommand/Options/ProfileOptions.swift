package import ArgumentParser
package import OpenSSL

/// The algorithms and names of exported PKCS #12 files.
package struct ProfileOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The PKCS #12 profile of the files: \(Self.names.joined(separator: ", ")). (default: modern)",
            valueName: "profile"),
        completion: .list(Self.names))
    package var profile: String?

    @Option(help: ArgumentHelp("Key derivation iterations (default: the profile's).", valueName: "n"))
    package var iterations: Int?

    @Flag(help: "Add the authorities' certificates to each file.")
    package var chain = false

    @Option(
        help: ArgumentHelp(
            "The friendly name of the key and the certificate (default: SKP in 2025, the subject in legacy).",
            valueName: "name"))
    package var friendlyName: String?

    package init() {}

    package func validate() throws {
        if let profile, PKCS12Profile.Name(rawValue: profile) == nil {
            throw ValidationError(
                "\u{201C}\(profile)\u{201D} is not a profile; use one of \(Self.names.joined(separator: ", "))"
            )
        }
        if let friendlyName, friendlyName.unicodeScalars.count > PKCS12Limits.standard.friendlyName {
            throw ValidationError(
                "--friendly-name is longer than \(PKCS12Limits.standard.friendlyName) characters")
        }
        if let iterations, !(1...PKCS12Limits.standard.iterations).contains(iterations) {
            throw ValidationError(
                "--iterations must be a number from 1 to \(PKCS12Limits.standard.iterations)")
        }
    }

    /// Returns the profile that these options describe.
    ///
    /// - Parameters:
    ///   - usual: The default profile.
    ///   - usualIterations: The default number of iterations; nil for the profile's own number.
    ///   - usuallyChain: Whether to include the chain by default.
    package func selected(
        usual: PKCS12Profile.Name = .modern, iterations usualIterations: Int? = nil,
        chain usuallyChain: Bool = false
    ) -> PKCS12Profile {
        let named = PKCS12Profile(profile.flatMap(PKCS12Profile.Name.init(rawValue:)) ?? usual)
        var selected = (iterations ?? usualIterations).map(named.iterations) ?? named
        selected.includesChain = chain || usuallyChain
        return selected
    }

    private static let names = PKCS12Profile.Name.allCases.map(\.rawValue)
}
