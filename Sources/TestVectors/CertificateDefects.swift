internal import CertificateReading
internal import Foundation
internal import KeySharing
internal import OpenSSL
internal import TestCredentials

/// Test vectors with a valid file and a defective certificate.
package enum CertificateDefects {
    /// All test vectors with a defective certificate. A keychain can store each of them.
    package static let all = validity + usage + names + encoding

    /// Test vectors with an invalid date or chain.
    private static let validity: [TestVector] = [
        fault(
            "expired", "The certificate's validity ended a year ago.",
            "imports it, because old mail needs old keys, and reports at verification that it has expired"
        ) { context in try context.identity(validity: context.validity(shiftedBy: -4)) },
        fault(
            "not-yet-valid", "The certificate's validity starts in a year.",
            "imports it and reports at verification that it is not yet valid"
        ) { context in try context.identity(validity: context.validity(shiftedBy: 1)) },
        fault(
            "reversed-validity", "The certificate's validity ends before it starts.",
            "imports it and finds that it is never valid"
        ) { context in
            try context.identity {
                ($0.notBefore, $0.notAfter) = ($0.notAfter, $0.notBefore.addingTimeInterval(-86_400))
            }
        },
        TestVector(
            "revoked", "The certificate is on its issuer's revocation list.",
            "reports this at verification if it has the list", .accepted(verifying: 7)
        ) { context in .identities([try context.identity()], isRevoked: true) },
        fault(
            "untrusted-root", "The certificate's chain ends at another root with the same name.",
            "compares keys and not names: verification finds no trusted chain"
        ) { context in
            let other = try TestAuthority(
                algorithm: context.algorithm, validity: context.validity(), number: context.authority.number,
                from: context.source.child("other PKI"))
            return try context.identity(issuer: other[.email])
        },
        fault(
            "missing-intermediate",
            "The certificate's issuer is neither in the file nor among the trusted authorities.",
            "reports that the chain cannot be built, and downloads nothing without being asked"
        ) { context in
            try context.identity(issuer: try subordinate(of: .email, in: context, named: "Test Hidden CA 1"))
        },
        fault(
            "expired-issuer", "The certificate is valid, but its issuer's certificate has expired.",
            "checks the validity of the whole chain"
        ) { context in
            let issuer = try subordinate(
                of: .root, in: context, named: "Test Old CA 1", validity: context.validity(shiftedBy: -4))
            var identity = try context.identity(issuer: issuer)
            identity.chain = [issuer.certificate]
            return identity
        },
        fault(
            "issued-by-user", "The certificate was issued by another user's certificate.",
            "does not accept a certificate as an authority if it is not marked as one"
        ) { context in
            let user = try context.identity(part: "issuing user")
            var identity = try context.identity(
                issuer: CertificateIssuer(certificate: user.certificate, privateKey: user.privateKey))
            identity.chain = [user.certificate]
            return identity
        },
        fault(
            "self-signed", "The certificate is its own issuer.",
            "imports it but does not trust it"
        ) { context in
            let key = try context.key("identity")
            let model = try context.identity().certificate
            var template = CertificateTemplate(
                subject: model.subject, serialNumber: model.serialNumber, notBefore: model.notBefore,
                notAfter: model.notAfter)
            template.keyUsage = model.keyUsage
            let issuer = try CertificateIssuer(
                selfSigned: template, privateKey: key, seed: context.source.child("own signature").seed)
            return TestIdentity(certificate: issuer.certificate, privateKey: key)
        },
        fault(
            "broken-signature", "One bit of the certificate's signature is flipped.",
            "verifies the signature and not only the names"
        ) { context in
            let identity = try context.identity()
            var der = identity.certificate.der
            der[der.count - 1] ^= 1
            return TestIdentity(certificate: try Certificate(der: der), privateKey: identity.privateKey)
        },
    ]

    /// Test vectors with a wrong key usage or purpose, an unknown critical extension, or weak cryptography.
    private static let usage: [TestVector] = [
        TestVector(
            "wrong-key-usage", "The key usage of the certificate permits only signing certificates.",
            "classifies it as unknown and not as a signature certificate, and reports at verification "
                + "that this use is an authority's", .notA("signature", verifying: 7)
        ) { context in .identities([try context.identity { $0.keyUsage = .keyCertSign }]) },
        TestVector(
            "no-key-usage", "The certificate has no key usage.",
            "classifies it as unknown, and a legacy consumer as device", .notA("signature")
        ) { context in .identities([try context.identity { $0.keyUsage = nil }]) },
        TestVector(
            "signs-and-enciphers", "The key usage permits both signing and key encipherment.",
            "classifies it as device, and a legacy consumer as a separate type",
            .notA("signature", verifying: 7)
        ) { context in
            .identities([try context.identity { $0.keyUsage = [.digitalSignature, .keyEncipherment] }])
        },
        fault(
            "wrong-extended-key-usage",
            "The only extended key usage of the signature certificate is server authentication.",
            "compares the purposes with the type and reports that e-mail protection is missing"
        ) { context in try context.identity { $0.extendedKeyUsage = ["1.3.6.1.5.5.7.3.1"] } },
        fault(
            "unknown-critical-extension", "The certificate has an unknown critical extension.",
            "does not trust it, as RFC 5280 requires"
        ) { context in
            try context.identity {
                $0.extensions = [.init(oid: "2.16.840.1.101.3.2.1.48.99", isCritical: true, value: [5, 0])]
            }
        },
        fault(
            "weak-rsa-1024", "The key is a 1,024-bit RSA key.",
            "reports at verification that the key is too short"
        ) { context in try context.identity(algorithm: .rsa(bits: 1024)) },
        fault(
            "sha1-signature", "The certificate is signed with SHA-1.",
            "reports at verification that the signature's digest is too weak"
        ) { context in try context.identity(digest: .sha1) },
    ]

    /// Test vectors with invalid names.
    private static let names: [TestVector] = [
        TestVector(
            "piv-with-email", "The PIV authentication certificate contains an e-mail address.",
            "classifies it as signature, because the rules check that name first",
            .notA("authentication", verifying: 7)
        ) { context in
            .identities([
                try context.identity(.authentication) {
                    $0.subjectAlternativeNames.insert(.rfc822Name(context.person.emailAddress), at: 0)
                }
            ])
        },
        TestVector(
            "upn-missing", "The PIV authentication certificate has no user principal name.",
            "classifies it as device, and a legacy consumer as authentication",
            .notA("authentication")
        ) { context in
            .identities([
                try context.identity(.authentication) { template in
                    template.subjectAlternativeNames.removeAll {
                        if case .otherName(GeneralName.userPrincipalNameType, _) = $0 { true } else { false }
                    }
                }
            ])
        },
        odd(
            .damagedFASCN,
            "fascn-bad-check", "The check character of the FASC-N is wrong.",
            "reports the octets as damaged and shows no number from them"
        ) { context in
            try context.identity(.authentication) { template in
                template.subjectAlternativeNames = template.subjectAlternativeNames.map { name in
                    guard case .otherName(GeneralName.fascnType, .octetString(var octets)) = name else {
                        return name
                    }
                    octets[24] ^= 0x1E
                    return .otherName(type: GeneralName.fascnType, value: .octetString(octets))
                }
            }
        },
        odd(
            .foreignFASCN,
            "fascn-other-person", "The FASC-N is another person's.",
            "reports that the names of the certificate disagree"
        ) { context in
            let other = try context.identity(.authentication, part: "other", person: context.otherPerson())
            return try context.identity(.authentication) { template in
                template.subjectAlternativeNames = template.subjectAlternativeNames.map { name in
                    guard case .otherName(GeneralName.fascnType, _) = name else { return name }
                    return other.certificate.subjectAlternativeNames.first {
                        if case .otherName(GeneralName.fascnType, _) = $0 { true } else { false }
                    } ?? name
                }
            }
        },
        odd(
            .foreignPrincipalName,
            "upn-other-person", "The user principal name is another person's.",
            "reports that the names of the certificate disagree"
        ) { context in
            try context.identity {
                $0.subjectAlternativeNames = [
                    .rfc822Name(context.person.emailAddress),
                    .userPrincipalName("\(context.otherPerson().edipi)@mil"),
                ]
            }
        },
    ]

    /// Test vectors with unusual but well-formed serial numbers and sizes.
    private static let encoding: [TestVector] = [
        odd(
            .serialNotPositive, "negative-serial", "The serial number is negative.",
            "handles it without failing, and reports it"
        ) {
            context in try context.identity { $0.isSerialNegative = true }
        },
        odd(
            .serialTooLong,
            "long-serial", "The serial number has 21 octets, one more than RFC 5280 allows.",
            "does not truncate it, and reports it"
        ) { context in try context.identity { $0.serialNumber += [1, 2, 3, 4, 5] } },
        odd(
            .serialNotPositive, "zero-serial", "The serial number is zero.",
            "uses 00 in the file name, and reports it"
        ) { context in
            try context.identity { $0.serialNumber = [0] }
        },
        TestVector(
            "duplicate-serial", "Two certificates of one issuer have the same serial number.",
            "keeps both, because it identifies certificates by their digest", .accepted(2)
        ) { context in
            .identities([
                try context.identity(part: "first") { $0.serialNumber = [0x04, 0x8F] },
                try context.identity(part: "second") { $0.serialNumber = [0x04, 0x8F] },
            ])
        },
        TestVector(
            "large-certificate", "The certificate is larger than 16 KiB.",
            "reads the whole file and not only 16 KiB of it", .accepted()
        ) { context in
            .identities([
                try context.identity {
                    $0.extensions = [
                        .init(
                            oid: "2.16.840.1.101.3.2.1.48.98",
                            value: [0x04, 0x82, 0x44, 0x00] + [UInt8](repeating: 0x2A, count: 0x4400))
                    ]
                }
            ])
        },
    ]

    /// Creates a test vector whose identity can be imported but fails verification.
    private static func fault(
        _ name: String, _ summary: String, _ expectedBehaviour: String,
        make: @escaping @Sendable (TestVectorContext) throws -> TestIdentity
    ) -> TestVector {
        TestVector(name, summary, expectedBehaviour, .accepted(verifying: 7)) { .identities([try make($0)]) }
    }

    /// Creates a test vector whose identity can be imported and verified, but has a finding.
    private static func odd(
        _ finding: CertificateFinding.Code, _ name: String, _ summary: String, _ expectedBehaviour: String,
        make: @escaping @Sendable (TestVectorContext) throws -> TestIdentity
    ) -> TestVector {
        TestVector(name, summary, expectedBehaviour, .accepted(findings: [finding])) {
            .identities([try make($0)])
        }
    }

    /// Creates a new issuing authority below an authority of the PKI.
    private static func subordinate(
        of role: TestAuthorityRole, in context: TestVectorContext, named name: String,
        validity: Range<Date>? = nil
    ) throws -> CertificateIssuer {
        let source = context.source.child(name)
        var random = source.generator()
        let validity = validity ?? context.validity()
        var template = CertificateTemplate(
            subject: try TestNames.subject(name), serialNumber: SerialNumber.random(using: &random),
            notBefore: validity.lowerBound, notAfter: validity.upperBound)
        template.basicConstraints = .init(isCertificateAuthority: true)
        template.keyUsage = [.keyCertSign, .cRLSign]
        template.policies = [TestNames.anyPolicy]
        let key = try context.key(name)
        return CertificateIssuer(
            certificate: try context.authority[role].issue(
                template, to: key, seed: source.child("signature").seed),
            privateKey: key)
    }
}
