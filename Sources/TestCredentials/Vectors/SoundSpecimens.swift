internal import Foundation
internal import KeySharing
internal import OpenSSL

/// Specimens that nothing is wrong with.
extension Specimen {
    /// Every type under every profile of protection and with each kind of key, a bundle, and archives.
    static let sound: [Specimen] = types + keys + bundles

    private static let types: [Specimen] = userTypes.flatMap { type in
        PKCS12Profile.Name.allCases.filter { $0 != .noMAC }.map { profile in
            var specimen = Specimen(
                "\(type.rawValue)-\(profile.rawValue)",
                "An identity of type \(type.rawValue) in a file of the profile \(profile.rawValue).",
                "imports it", .accepted()
            ) { shop in
                .file(
                    try shop.file(
                        try shop.identity(type, algorithm: .rsa(bits: 2048)),
                        profile: PKCS12Profile(profile)))
            }
            specimen.isUnderEmptyPassword = profile == .emptyPassword
            return specimen
        }
    }

    private static let keys: [Specimen] = userTypes.flatMap { type in
        KeyAlgorithm.allCases.filter { $0 != .rsa(bits: 2048) && (type == .encryption || $0 == .p256) }.map {
            algorithm in
            Specimen(
                "\(type.rawValue)-\(algorithm.rawValue)",
                "An identity of type \(type.rawValue) with a key \(algorithm.rawValue).",
                "imports it", .accepted()
            ) { shop in .identities([try shop.identity(type, algorithm: algorithm)]) }
        }
    }

    private static let bundles: [Specimen] = [
        Specimen(
            "with-chain", "The file carries the issuers of its certificate.", "imports one identity",
            .accepted()
        ) { shop in
            var identity = try shop.identity()
            identity.chain = [shop.authority[.email].certificate, shop.authority[.root].certificate]
            return .identities([identity])
        },
        Specimen("all-types", "An archive of one identity of each type.", "imports all four", .accepted(4)) {
            shop in
            .file(
                try shop.archive(
                    try userTypes.map { type in
                        (
                            "\(type.filenamePrefix)_1.p12",
                            try shop.file(try shop.identity(type, part: type.rawValue))
                        )
                    }), suffix: "zip")
        },
        Specimen(
            "recovered-keys", "An archive of four generations of encryption keys, three of them expired.",
            "imports all four, because old mail needs old keys, and finds one of them valid",
            .accepted(4, verifying: 7)
        ) { shop in
            .file(
                try shop.archive(
                    try (0..<4).map { generation in
                        let identity = try shop.identity(
                            .encryption, part: "generation \(generation)",
                            validity: shop.validity(shiftedBy: -3 * generation))
                        return ("encryption_\(generation).p12", try shop.file(identity))
                    }), suffix: "zip")
        },
    ]

    private static let userTypes: [CredentialType] = [.signature, .encryption, .authentication, .device]
}
