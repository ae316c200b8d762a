/// The groups by which test vectors are selected. A test vector may be in several groups.
package enum TestVectorGroup: String, Sendable, Hashable, Codable, CaseIterable {
    /// Valid PKCS #12 files of every kind that a provider returns, and valid files as other programs write them.
    case formats
    /// Defective, hostile or unusual credentials and files.
    case faults
    /// Archives, valid and hostile.
    case archives
    /// Credentials whose expected outcome depends on the consumer's claim.
    case policy
    /// A running provider with a fault. These test vectors have no file.
    case service
    /// Signed and encrypted messages, for mail programs.
    case messages
}

/// The checks that a consumer claims to make. Each claim includes the previous ones. For messages, see
/// ``MessageVector``.
package enum TestVectorClaim: String, Sendable, Hashable, Codable, CaseIterable {
    /// The file can be decrypted with its password.
    case parse
    /// The file contains identities: keys with their certificates.
    case identity
    /// The certificates' paths lead to a trust anchor, are valid at the date and for the purpose of the key, and
    /// contain no revoked certificate.
    case path
}

/// The expected outcome of a test vector.
package struct TestVectorOutcome: Sendable, Hashable, Codable {
    /// Whether the consumer accepts the file.
    package enum Answer: String, Sendable, Hashable, Codable, CaseIterable {
        case accept
        /// The consumer accepts some identities and reports that it rejects the others.
        case acceptSome = "accept-some"
        case refuse
        /// Both accepting and rejecting are defensible, because standards and programs differ.
        case either
    }

    /// Whether the consumer is expected to accept the file.
    package let answer: Answer
    /// The expected number of identities. Nil if the consumer does not claim to find identities, or if the file is
    /// rejected.
    package let identities: Int?
    /// The number of identities in the file, valid or not. Nil unless only some of them are accepted.
    package let of: Int?

    /// Creates an outcome.
    package init(_ answer: Answer, identities: Int? = nil, of: Int? = nil) {
        self.answer = answer
        self.identities = identities
        self.of = of
    }

    /// The consumer rejects the file.
    package static let refuse = TestVectorOutcome(.refuse)
}

extension TestVector {
    /// The expected outcome for a correct consumer with this claim.
    ///
    /// The outcome is derived from the exit codes of this package's own consumer, which makes all checks, and is then
    /// adapted to the claim.
    package func outcome(for claim: TestVectorClaim) -> TestVectorOutcome {
        if mayBeRefused { return TestVectorOutcome(.either, identities: expectation.identities) }
        switch expectation.importing {
        case 0, 6:
            guard claim == .path, expectation.verifying == 7 else {
                return TestVectorOutcome(.accept, identities: expectation.identities)
            }
            return expectation.identities == 1
                ? .refuse : TestVectorOutcome(.acceptSome, identities: 1, of: expectation.identities)
        case 7, 9:
            // The file itself is valid. A consumer that only opens files accepts it, and a consumer that needs a key
            // with its certificate rejects it.
            guard claim != .parse || hasNoCertificateToParse else { return TestVectorOutcome(.either) }
            return expectation.identities == 0
                ? .refuse
                : TestVectorOutcome(.acceptSome, identities: expectation.identities, of: entries)
        default:
            return expectation.identities == 0
                ? .refuse : TestVectorOutcome(.acceptSome, identities: expectation.identities, of: entries)
        }
    }

    /// Whether a consumer may report that the password is wrong, because the defect has the same effect as a wrong
    /// password.
    package var mayBlamePassword: Bool { expectation.importing == 3 }

    /// The groups that the test vector belongs to, in the order of their declaration.
    package var groups: [TestVectorGroup] {
        let isPolicy = outcome(for: .parse) != outcome(for: .path)
        return TestVectorGroup.allCases.filter { $0 == .policy ? isPolicy : kinds.contains($0) }
    }

    /// Whether the file's only certificate is unreadable, so that the file contains nothing that a consumer could
    /// accept.
    private var hasNoCertificateToParse: Bool { name == "damaged-certificate" }

    /// The number of identities that the file or archive would contain if all were valid.
    private var entries: Int { name == "zip-broken-entry" ? 3 : 2 }
}
