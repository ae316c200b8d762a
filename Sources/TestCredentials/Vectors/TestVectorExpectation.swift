/// What test vectors are about; the groups in which they are asked for. A test vector may be in several.
package enum TestVectorGroup: String, Sendable, Hashable, Codable, CaseIterable {
    /// Sound PKCS #12 files of every kind that a provider hands out, and with the oddities of other writers.
    case formats
    /// Credentials and files that are broken, hostile or odd.
    case faults
    /// Archives, sound and hostile.
    case archives
    /// Credentials of which more is expected the more a consumer claims to check.
    case policy
    /// A provider on a socket, at fault; there is no file of it.
    case service
}

/// What a consumer claims to check; each claim includes those before it.
package enum TestVectorClaim: String, Sendable, Hashable, Codable, CaseIterable {
    /// That a file opens under its password.
    case parse
    /// That it holds identities: keys with the certificates that belong to them.
    case identity
    /// That the certificates' paths lead to a trust anchor, at the date and for the use, and that none is revoked.
    case path
}

/// What a correct consumer makes of a test vector.
package struct TestVectorOutcome: Sendable, Hashable, Codable {
    /// Whether it takes what it is given.
    package enum Answer: String, Sendable, Hashable, Codable, CaseIterable {
        case accept
        /// It takes a part, and says that it does not take the rest.
        case acceptSome = "accept-some"
        case refuse
    }

    /// Whether it takes what it is given.
    package let answer: Answer
    /// How many identities it gets; nil where it does not claim to find any, and nothing is taken.
    package let identities: Int?
    /// How many there would be if all were sound; nil but for a part.
    package let of: Int?

    /// An outcome by its parts.
    package init(_ answer: Answer, identities: Int? = nil, of: Int? = nil) {
        self.answer = answer
        self.identities = identities
        self.of = of
    }

    /// It refuses.
    package static let refuse = TestVectorOutcome(.refuse)
}

extension TestVector {
    /// What a correct consumer makes of the test vector that claims to check so much.
    ///
    /// It follows from the exit codes of this package's own consumer, which are more than others can be asked for, but
    /// for what depends on the claim.
    package func outcome(for claim: TestVectorClaim) -> TestVectorOutcome {
        switch expectation.importing {
        case 0, 6:
            guard claim == .path, expectation.verifying == 7 else {
                return TestVectorOutcome(.accept, identities: expectation.identities)
            }
            return expectation.identities == 1
                ? .refuse : TestVectorOutcome(.acceptSome, identities: 1, of: expectation.identities)
        case 7, 9:
            // What is decrypted and decoded is sound; only the identities are not.
            guard claim != .parse || hasNoCertificateToParse else { return TestVectorOutcome(.accept) }
            return expectation.identities == 0
                ? .refuse
                : TestVectorOutcome(.acceptSome, identities: expectation.identities, of: entries)
        default:
            return expectation.identities == 0
                ? .refuse : TestVectorOutcome(.acceptSome, identities: expectation.identities, of: entries)
        }
    }

    /// Whether a consumer may say that the password is wrong: nothing in the file tells a wrong password from damage.
    package var mayBlamePassword: Bool { expectation.importing == 3 }

    /// The groups of the test vector.
    package var groups: [TestVectorGroup] {
        let isPolicy = outcome(for: .parse) != outcome(for: .path)
        return TestVectorGroup.allCases.filter { $0 == .policy ? isPolicy : kinds.contains($0) }
    }

    /// A file whose certificate no parser can read: there is nothing sound in it to accept.
    private var hasNoCertificateToParse: Bool { name == "damaged-certificate" }

    /// How many identities a file or archive would hold if all of it were sound.
    private var entries: Int { name == "zip-broken-entry" ? 3 : 2 }
}
