internal import Foundation
internal import KeySharing
internal import OpenSSL
internal import TestCredentials

extension TestVector {
    /// The test vectors without a defect: every type with every encryption profile and each kind of key, files with
    /// several certificates, archives, and files as other programs write them.
    static let sound: [TestVector] =
        (types + keys + chains + profiles + WriterOddities.all).map { $0.inGroups([.formats]) }
        + archives.map { $0.inGroups([.archives]) }

    private static let types: [TestVector] = userTypes.flatMap { type in
        PKCS12Profile.Name.allCases.filter { $0 != .noMAC }.map { profile in
            var vector = TestVector(
                "\(type.rawValue)-\(profile.rawValue)",
                "An identity of type \(type.rawValue) in a file of the profile \(profile.rawValue).",
                "imports it", .accepted()
            ) { context in
                .file(
                    try context.file(
                        try context.identity(type, algorithm: .rsa(bits: 2048)),
                        profile: PKCS12Profile(profile)))
            }
            if profile == .emptyPassword { vector.password = .text("") }
            return vector
        }
    }

    private static let keys: [TestVector] = userTypes.flatMap { type in
        KeyAlgorithm.allCases.filter { $0 != .rsa(bits: 2048) && (type == .encryption || $0 == .p256) }.map {
            algorithm in
            TestVector(
                "\(type.rawValue)-\(algorithm.rawValue)",
                "An identity of type \(type.rawValue) with a key \(algorithm.rawValue).",
                "imports it", .accepted()
            ) { context in .identities([try context.identity(type, algorithm: algorithm)]) }
        }
    }

    /// An encryption identity with each kind of key except 2,048-bit RSA, in each profile except the default.
    private static let profiles: [TestVector] = KeyAlgorithm.allCases.filter { $0 != .rsa(bits: 2048) }
        .flatMap {
            algorithm in
            PKCS12Profile.Name.allCases.filter { $0 != .noMAC && $0 != .modern }.map { profile in
                var vector = TestVector(
                    "encryption-\(algorithm.rawValue)-\(profile.rawValue)",
                    "An identity with a key \(algorithm.rawValue) in a file of the profile \(profile.rawValue).",
                    "imports it", .accepted()
                ) { context in
                    let identity = try context.sharedIdentity("formats \(algorithm.rawValue)") {
                        try $0.identity(.encryption, algorithm: algorithm)
                    }
                    return .file(try context.file(identity, profile: PKCS12Profile(profile)))
                }
                if profile == .emptyPassword { vector.password = .text("") }
                return vector
            }
        }

    private static let chains: [TestVector] = [
        TestVector(
            "with-chain", "The file contains the issuers of its certificate.", "imports one identity",
            .accepted()
        ) { context in
            var identity = try context.identity()
            identity.chain = [context.authority[.email].certificate, context.authority[.root].certificate]
            return .identities([identity])
        }
    ]

    private static let archives: [TestVector] = [
        TestVector("all-types", "An archive of one identity of each type.", "imports all four", .accepted(4))
        {
            context in
            .file(
                try context.archive(
                    try userTypes.map { type in
                        (
                            "\(type.filenamePrefix)_1.p12",
                            try context.file(try context.identity(type, part: type.rawValue))
                        )
                    }))
        },
        TestVector(
            "recovered-keys", "An archive of four generations of encryption keys, three of them expired.",
            "imports all four, because old mail needs old keys, and finds one of them valid",
            .accepted(4, verifying: 7)
        ) { context in
            .file(
                try context.archive(
                    try (0..<4).map { generation in
                        let identity = try context.identity(
                            .encryption, part: "generation \(generation)",
                            validity: context.validity(shiftedBy: -3 * generation))
                        return ("encryption_\(generation).p12", try context.file(identity))
                    }))
        },
    ]

    private static let userTypes: [CredentialType] = [.signature, .encryption, .authentication, .device]
}
