package import KeySharing

/// A public sample app of Purebred that bundles test credentials, with the names of its files and their password.
///
/// Exporting under these names lets a developer build the app with credentials that have not expired. The names are in
/// the apps' sources: `ContentView.swift` of SampleKeyProvider2025, `ViewController.m` of SampleKeyProvider, and
/// `ViewController.m` of CtkProvider.
package enum SampleApp: String, Sendable, CaseIterable {
    /// The provider of key sharing 2025.
    case sampleKeyProvider2025 = "sample-key-provider-2025"
    /// The provider of legacy key sharing.
    case sampleKeyProvider = "sample-key-provider"
    /// The provider of a persistent token.
    case ctkProvider = "ctk-provider"

    /// The password in the app's source code. It protects nothing.
    package static let password = "password"

    /// The files of each type in the app bundle, with the oldest generation first.
    package var files: [(type: CredentialType, names: [String])] {
        switch self {
        case .sampleKeyProvider2025:
            [
                (.encryption, "EmailEncrPlusCitizen"), (.signature, "EmailSignPlusCitizen"),
                (.authentication, "PIVAuthPlusSCL"),
            ].map { type, profile in
                (
                    type: type,
                    names: ["20181103", "20211103", "20241203", "20271203"].map {
                        "TESTRECOVERY.5557779001871871_ca\(profile)UserCert2048_\($0)000000Z.p12"
                    }
                )
            }
        case .sampleKeyProvider:
            [
                (
                    type: .encryption,
                    names: [
                        "7274cce984739eaf22d8dB577a323a4daa4e55ef.p12",
                        "37f1cca56ad3d10fd35337f2803c7793d22d1099.p12",
                        "9a69ba0e332da182a8d718750168135a55acdded.p12",
                        "bb2Fda1bdcd9f61fe367d7711708316d35ea5b61.p12",
                    ]
                ),
                (
                    type: .signature,
                    names: [
                        "f63e304424f65258ed3f0b25b2ba74f88e431e82.p12",
                        "fed9960aead5f8b1afc9498bb44b3d2016a6a596.p12",
                        "678b5b37e83a3f70623a33a8450316e7eb0450fc.p12",
                        "974a6Fd70bba0f77fc2bf9fb192cee4391575173.p12",
                    ]
                ),
            ]
        case .ctkProvider:
            [
                (type: .signature, names: ["signature.p12"]),
                (type: .authentication, names: ["authentication.p12"]),
                (type: .encryption, names: ["decryption.p12"]),
            ]
        }
    }

    /// Instructions for installing the files, one sentence each.
    package var instructions: [String] {
        switch self {
        case .sampleKeyProvider2025:
            [
                "Replace the twelve files of the same names next to SampleKeyProvider2025.xcodeproj.",
                "Build the app, clear its key chain, and tap “Import sample PKCS #12 files”.",
            ]
        case .sampleKeyProvider:
            [
                "Replace the eight files of the same names in the folder SampleKeyProvider of the project.",
                "Build the app, clear its key chain, and import the sample PKCS #12 files.",
            ]
        case .ctkProvider:
            [
                "Replace the three files of the same names next to CtkProvider.xcodeproj.",
                "Build the app, and tap “Add Signature Token”, “Add Authentication Token” and “Add Decryption Token”.",
            ]
        }
    }

    /// The files of one person for the app, or the reason why no person can be chosen.
    package enum Choice: Sendable {
        /// The file names of the identities, one for each identity.
        case files([(name: String, identity: IdentitySummary)])
        /// No person has enough identities. The value contains the required number of each type.
        case notEnough([(type: CredentialType, count: Int)])
        /// Several persons have enough identities. Their common names are in ascending order.
        case severalPersons([String])
    }

    /// Chooses one person's newest identities for the app's files. Exactly one person must have enough identities of
    /// each type.
    package func choose(from identities: some Sequence<IdentitySummary>) -> Choice {
        let persons = Dictionary(grouping: identities) { $0.details?.commonName ?? "" }
        let complete = persons.compactMapValues {
            identities -> [(name: String, identity: IdentitySummary)]? in
            var chosen: [(name: String, identity: IdentitySummary)] = []
            for (type, names) in files {
                let newest = SortedIdentities(identities, under: .keySharing2025).identities
                    .filter { $0.type(under: .keySharing2025) == type }.prefix(names.count)
                guard newest.count == names.count else { return nil }
                chosen += zip(names, newest.reversed()).map { (name: $0, identity: $1) }
            }
            return chosen
        }
        guard let person = complete.first else {
            return .notEnough(files.map { (type: $0.type, count: $0.names.count) })
        }
        return complete.count == 1 ? .files(person.value) : .severalPersons(complete.keys.sorted())
    }
}
