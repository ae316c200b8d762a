package import SecretMemory
package import Foundation
internal import KeySharing
package import OpenSSL
internal import Synchronization
internal import ZipBundles

/// Where specimens are made: a test PKI, a person, a moment and a source of randomness.
package struct Workshop: Sendable {
    package let authority: TestAuthority
    package let person: TestPerson
    package let date: Date
    package let algorithm: KeyAlgorithm
    /// The password of the files.
    package let password: SecretBytes
    let locations: PKILocations
    private(set) var source: RandomSource
    private let log = IssuingLog()

    /// Every certificate that was issued here or on a bench, in no order.
    package var issued: [Certificate] { log.certificates.withLock { $0 } }

    package init(
        authority: TestAuthority, person: TestPerson, date: Date, algorithm: KeyAlgorithm,
        password: SecretBytes, locations: PKILocations = .example, source: RandomSource
    ) {
        self.authority = authority
        self.person = person
        self.date = date
        self.algorithm = algorithm
        self.password = password
        self.locations = locations
        self.source = source
    }

    /// The same with the randomness of one specimen.
    package func bench(for name: String) -> Workshop {
        var bench = self
        bench.source = source.child("specimen \(name)")
        return bench
    }

    /// Three years from the day before `date`, so many years earlier or later.
    func validity(shiftedBy years: Int = 0) -> Range<Date> {
        let start = Calendar.utc.adding(years: years, to: date.addingTimeInterval(-86_400))
        return start..<Calendar.utc.adding(years: 3, to: start)
    }

    /// Makes an identity as provisioning does, but for what `edit` changes.
    ///
    /// - Parameters:
    ///   - part: tells several identities of one specimen apart.
    ///   - issuer: who signs; nil for the authority of the type.
    ///   - digest: the signature's; nil for the usual one.
    func identity(
        _ type: CredentialType = .signature, part: String = "identity", algorithm: KeyAlgorithm? = nil,
        person: TestPerson? = nil, validity: Range<Date>? = nil, issuer: CertificateIssuer? = nil,
        digest: SignatureDigest? = nil, edit: (inout CertificateTemplate) throws -> Void = { _ in }
    ) throws -> TestIdentity {
        let source = source.child(part)
        var random = source.generator()
        let algorithm = algorithm ?? self.algorithm
        let validity = validity ?? self.validity()
        guard let profile = CredentialProfile.named("dod", at: validity.lowerBound) else {
            throw ProvisioningError(.noSuchProfile, "there is no profile dod")
        }
        let plan = IdentityPlan(
            person: person ?? self.person, type: type, profile: profile, algorithm: algorithm,
            validity: validity, locations: locations)
        var template = try plan.template(below: authority, using: &random)
        try edit(&template)
        let key = try self.key(part, algorithm)
        let issuer = issuer ?? authority[plan.issuer]
        let certificate = try issuer.issue(
            template, to: key, digest: digest, seed: source.child("signature").seed)
        log.certificates.withLock { $0.append(certificate) }
        return TestIdentity(certificate: certificate, privateKey: key)
    }

    /// A key by name.
    func key(_ name: String, _ algorithm: KeyAlgorithm? = nil) throws -> PrivateKey {
        try PrivateKey.generate(algorithm ?? self.algorithm, seed: source.child(name).child("key").seed)
    }

    /// Another person, of the same workshop.
    func otherPerson() -> TestPerson {
        var random = source.child("other person").generator()
        return TestPerson(using: &random)
    }

    /// The file of one identity, as a provider would hand it over.
    func file(
        _ identity: TestIdentity, friendlyName: String? = "Test", profile: PKCS12Profile = .modern,
        password: SecretBytes? = nil
    ) throws -> [UInt8] {
        var random = source.child("file \(identity.certificate.label)").generator()
        return try PKCS12.create(
            privateKey: identity.privateKey, certificate: identity.certificate, chain: identity.chain,
            friendlyName: friendlyName, password: password ?? self.password, profile: profile
        ) { random.octets($0) }
    }

    /// The file of any bags.
    func file(_ assembly: PKCS12FileBuilder, password: SecretBytes? = nil) throws -> [UInt8] {
        var random = source.child("assembly").generator()
        return try assembly.file(password: password ?? self.password) { random.octets($0) }
    }

    /// One file of several identities.
    func file(_ identities: [TestIdentity]) throws -> [UInt8] {
        var assembly = PKCS12FileBuilder()
        for identity in identities {
            assembly.add(identity.certificate, identity.privateKey, friendlyName: "Test")
        }
        return try file(assembly)
    }

    /// An archive of files, dated like everything else here.
    func archive(_ entries: [(name: String, bytes: [UInt8])]) throws -> [UInt8] {
        try ZipBundle.create(entries, modified: date)
    }

    /// What a product is as bytes: a file as it is, identities as one file.
    package func bytes(of product: Specimen.Product) throws -> (bytes: [UInt8], suffix: String) {
        switch product {
        case .file(let bytes, let suffix): (bytes, suffix)
        case .identities(let identities, _):
            if let identity = identities.first, identities.count == 1 {
                (try file(identity), "p12")
            } else {
                (try file(identities), "p12")
            }
        }
    }
}

/// The certificates that a workshop's benches have issued; specimens are made at the same time.
private final class IssuingLog: Sendable {
    let certificates = Mutex<[Certificate]>([])
}
