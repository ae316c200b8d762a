import KeySharing
import Foundation
import OpenSSL
import PathValidation
import Synchronization

/// Generates authorities and certificates for path tests.
struct TestAuthority {
    /// 2024-12-03 00:00:00 UTC.
    static let start = Date(timeIntervalSince1970: 1_733_184_000)
    static let now = start + 86_400
    static let end = start + 3 * 365 * 86_400

    let issuer: CertificateIssuer

    var certificate: Certificate { issuer.certificate }
    var key: PrivateKey { issuer.privateKey }

    static func name(_ commonName: String) throws -> DistinguishedName {
        try DistinguishedName([.init("O", "Path Tests"), .init("CN", commonName)])
    }

    static func template(
        _ commonName: String, serial: [UInt8] = [1], isAuthority: Bool,
        _ change: (inout CertificateTemplate) throws -> Void = { _ in }
    ) throws -> CertificateTemplate {
        var template = CertificateTemplate(
            subject: try name(commonName), serialNumber: serial, notBefore: start, notAfter: end)
        template.basicConstraints = isAuthority ? .init(isCertificateAuthority: true) : nil
        template.keyUsage = isAuthority ? [.keyCertSign, .cRLSign] : .digitalSignature
        try change(&template)
        return template
    }

    /// A self-signed authority.
    static func root(
        _ commonName: String, key: PrivateKey? = nil,
        _ change: (inout CertificateTemplate) throws -> Void = { _ in }
    ) throws -> TestAuthority {
        let template = try template(commonName, isAuthority: true, change)
        return TestAuthority(
            issuer: try CertificateIssuer(
                selfSigned: template, privateKey: try key ?? PrivateKey.generate(.p256)))
    }

    /// An authority certified by this one.
    func authority(
        _ commonName: String, key: PrivateKey? = nil, serial: [UInt8] = [2],
        _ change: (inout CertificateTemplate) throws -> Void = { _ in }
    ) throws -> TestAuthority {
        let key = try key ?? PrivateKey.generate(.p256)
        let template = try Self.template(commonName, serial: serial, isAuthority: true, change)
        return TestAuthority(
            issuer: CertificateIssuer(certificate: try issuer.issue(template, to: key), privateKey: key))
    }

    /// An end entity's certificate. All of them share one key.
    func leaf(
        _ commonName: String = "User", serial: [UInt8] = [9],
        _ change: (inout CertificateTemplate) throws -> Void = { _ in }
    ) throws -> Certificate {
        try issuer.issue(
            Self.template(commonName, serial: serial, isAuthority: false, change), to: Self.leafKey)
    }

    /// A revocation list of this authority.
    func list(
        _ entries: [CertificateRevocationList.Entry] = [], number: [UInt8] = [1],
        thisUpdate: Date = start, nextUpdate: Date = end, _ extensions: [CertificateExtension] = []
    ) throws -> EncodedRevocationList {
        try EncodedRevocationList(
            der: issuer.revocationList(
                entries, thisUpdate: thisUpdate, nextUpdate: nextUpdate, number: number,
                extensions: extensions
            ).der)
    }

    static let leafKey: PrivateKey = {
        do { return try PrivateKey.generate(.p256) } catch { preconditionFailure("\(error)") }
    }()

    /// An entry for the certificate with this serial number.
    static func entry(_ serial: [UInt8], issuer: DistinguishedName? = nil) -> CertificateRevocationList.Entry
    {
        .init(serialNumber: serial, date: start, reason: 1, issuer: issuer)
    }
}

/// One validation, with all parameters that tests vary.
struct Trial {
    var trusted: [Certificate]
    var untrusted: [Certificate] = []
    var lists: [EncodedRevocationList] = []
    var responses: [StatusResponse] = []
    var allowsPartialChain = false
    var limits = PathLimits()
    var configure: (inout CertificateVerifier) -> Void = { _ in }

    var validator: PathValidator {
        var verifier = CertificateVerifier()
        configure(&verifier)
        let validator = PathValidator(
            verifier,
            pool: CertificatePool(
                trusted: trusted, untrusted: untrusted, allowsPartialChain: allowsPartialChain),
            revocation: RevocationPool(lists: lists, responses: responses))
        validator.limits = limits
        return validator
    }

    func validate(_ leaf: Certificate) -> PathValidation { validator.validate(leaf, at: TestAuthority.now) }

    /// The checks that failed or that are unsettled.
    func failures(_ leaf: Certificate) -> [Verification.Kind] {
        validate(leaf).verification.checks.filter { $0.outcome == .failed || $0.outcome == .unsettled }
            .map(\.kind)
    }
}

/// Extensions for which templates have no field.
enum EncodedExtension {
    /// requireExplicitPolicy: 0.
    static let explicitPolicy = CertificateExtension(
        oid: "2.5.29.36", isCritical: true, value: [0x30, 0x03, 0x80, 0x01, 0x00])
    /// An issuing distribution point of a list that contains other issuers' certificates.
    static let indirect = CertificateExtension(
        oid: "2.5.29.28", isCritical: true, value: [0x30, 0x03, 0x84, 0x01, 0xFF])
    /// An issuing distribution point for the reasons keyCompromise and cACompromise.
    static let compromises = CertificateExtension(
        oid: "2.5.29.28", isCritical: true, value: [0x30, 0x04, 0x83, 0x02, 0x05, 0x60])
    /// An issuing distribution point for all other reasons.
    static let otherReasons = CertificateExtension(
        oid: "2.5.29.28", isCritical: true, value: [0x30, 0x05, 0x83, 0x03, 0x07, 0x1F, 0x80])
    /// A delta indicator: the list contains the changes since list 1.
    static let delta = CertificateExtension(oid: "2.5.29.27", isCritical: true, value: [0x02, 0x01, 0x01])

    /// A freshest-list pointer, which refers to delta lists.
    static let freshest = CertificateExtension(
        oid: "2.5.29.46", value: sequence(sequence(pointName("http://x/d"))))

    /// id-pkix-ocsp-nocheck (RFC 6960 4.2.2.2.1).
    static let noCheck = CertificateExtension(oid: "1.3.6.1.5.5.7.48.1.5", value: [0x05, 0x00])

    /// A mapping of one policy to another. Both identifiers are a single octet below 2.16.840.1.101.3.2.1.48.
    static func mapping(_ issuer: UInt8, _ subject: UInt8) -> CertificateExtension {
        func object(_ last: UInt8) -> [UInt8] {
            [0x06, 0x0A, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x02, 0x01, 0x30, last]
        }
        let pair = sequence(object(issuer) + object(subject))
        return CertificateExtension(oid: "2.5.29.33", isCritical: true, value: sequence(pair))
    }

    /// A distribution point whose list another authority signs.
    static func listSigner(_ name: DistinguishedName) -> CertificateExtension {
        CertificateExtension(oid: "2.5.29.31", value: sequence(sequence(signer(name))))
    }

    /// A distribution point of a certificate.
    static func certificatePoint(_ url: String) -> CertificateExtension {
        CertificateExtension(oid: "2.5.29.31", value: sequence(sequence(pointName(url))))
    }

    /// An issuing distribution point.
    static func listPoint(_ url: String) -> CertificateExtension {
        CertificateExtension(oid: "2.5.29.28", isCritical: true, value: sequence(pointName(url)))
    }

    /// A distribution point with a URL whose list another authority signs.
    static func listSigner(_ name: DistinguishedName, at url: String) -> CertificateExtension {
        CertificateExtension(oid: "2.5.29.31", value: sequence(sequence(pointName(url) + signer(name))))
    }

    /// Two distribution points: one without a name, and one with a URL, each with another signer of lists.
    static func listSigners(
        _ name: DistinguishedName, and other: DistinguishedName, at url: String
    ) -> CertificateExtension {
        let points = sequence(signer(name)) + sequence(pointName(url) + signer(other))
        return CertificateExtension(oid: "2.5.29.31", value: sequence(points))
    }

    private static func signer(_ name: DistinguishedName) -> [UInt8] {
        let directory = [0xA4, UInt8(name.der.count)] + name.der
        return [0xA2, UInt8(directory.count)] + directory
    }

    /// An issuing distribution point of a list that contains other issuers' certificates.
    static func indirectPoint(_ url: String) -> CertificateExtension {
        let contents = pointName(url) + [0x84, 0x01, 0xFF]
        return CertificateExtension(oid: "2.5.29.28", isCritical: true, value: sequence(contents))
    }

    /// An issuing distribution point, named after an authority, of a list that contains other issuers' certificates.
    static func indirectPoint(_ name: DistinguishedName) -> CertificateExtension {
        let contents = pointName([0xA4, UInt8(name.der.count)] + name.der) + [0x84, 0x01, 0xFF]
        return CertificateExtension(oid: "2.5.29.28", isCritical: true, value: sequence(contents))
    }

    private static func pointName(_ url: String) -> [UInt8] {
        pointName([0x86, UInt8(url.utf8.count)] + Array(url.utf8))
    }

    private static func pointName(_ address: [UInt8]) -> [UInt8] {
        let full = [0xA0, UInt8(address.count)] + address
        return [0xA0, UInt8(full.count)] + full
    }

    private static func sequence(_ contents: [UInt8]) -> [UInt8] {
        [0x30] + (contents.count < 128 ? [] : [0x81]) + [UInt8(contents.count)] + contents
    }
}

/// A small seeded generator (SplitMix64), so that a failure can be reproduced.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}

/// A clock that advances by three seconds whenever it is read.
final class SteppingClock: Sendable {
    private let start: ContinuousClock.Instant
    private let reads = Mutex(0)

    init(_ start: ContinuousClock.Instant) { self.start = start }

    func next() -> ContinuousClock.Instant {
        reads.withLock {
            $0 += 1
            return start + .seconds(3 * $0)
        }
    }
}
