internal import Diagnostics
package import SecretMemory
package import Foundation
internal import KeySharing
package import OpenSSL
internal import Synchronization
internal import ZipBundles

/// What a test vector is made with: a test PKI, a person, a moment and a source of randomness.
package struct TestVectorContext: Sendable {
    /// The PKI that issues certificates.
    package let authority: TestAuthority
    /// The person that certificates are made out to.
    package let person: TestPerson
    /// The moment at which certificates are valid, unless a test vector says otherwise.
    package let date: Date
    /// The algorithm of keys.
    package let algorithm: KeyAlgorithm
    /// The password of files.
    package let password: SecretBytes
    /// How files are protected, unless a test vector says otherwise.
    package let profile: PKCS12Profile
    /// Where certificates say that the PKI answers.
    let locations: PKILocations
    /// Where keys, signatures, serial numbers and salts come from.
    private(set) var source: RandomSource
    /// The source of the context that this one was scoped from; nil in a context that is not scoped.
    private var unscopedSource: RandomSource?
    private var log = IssuanceLog()
    private let shared = SharedIdentities()

    /// Every certificate that was issued in this context, in the order of issuance.
    package var issued: [Certificate] { log.certificates.withLock { $0 } }

    /// A context; test vectors made in it differ in their randomness.
    package init(
        authority: TestAuthority, person: TestPerson, date: Date, algorithm: KeyAlgorithm,
        password: SecretBytes, profile: PKCS12Profile = .modern, locations: PKILocations = .example,
        source: RandomSource
    ) {
        self.authority = authority
        self.person = person
        self.date = date
        self.algorithm = algorithm
        self.password = password
        self.profile = profile
        self.locations = locations
        self.source = source
    }

    /// The context of one test vector: with randomness of its own, and with nothing issued yet.
    func scoped(to name: String) -> TestVectorContext {
        var context = self
        let source = unscopedSource ?? source
        context.unscopedSource = source
        // The word is older than the type's name; another one would change every fixture.
        context.source = source.child("specimen \(name)")
        context.log = IssuanceLog()
        return context
    }

    /// Three years from the day before `date`, or from so many years later.
    ///
    /// - Parameter years: negative for earlier.
    func validity(shiftedBy years: Int = 0) -> Range<Date> {
        let start = Calendar.utc.adding(years: years, to: date.addingTimeInterval(-86_400))
        return start..<Calendar.utc.adding(years: 3, to: start)
    }

    /// Makes an identity as provisioning does, except for what `edit` changes.
    ///
    /// - Parameters:
    ///   - part: tells several identities of one test vector apart.
    ///   - issuer: signs the certificate; nil for the authority of the type.
    ///   - digest: the digest of the signature; nil for the usual one.
    ///   - edit: changes the template before the certificate is issued.
    /// - Throws: `OpenSSLError` and `CertificateError` where OpenSSL refuses.
    func identity(
        _ type: CredentialType = .signature, part: String = "identity", algorithm: KeyAlgorithm? = nil,
        person: TestPerson? = nil, validity: Range<Date>? = nil, issuer: CertificateIssuer? = nil,
        digest: SignatureDigest? = nil, edit: (inout CertificateTemplate) throws -> Void = { _ in }
    ) throws -> TestIdentity {
        let source = source.child(part)
        var random = source.generator()
        let algorithm = algorithm ?? self.algorithm
        let validity = validity ?? self.validity()
        guard let profile = CredentialProfile.named(CredentialSet.usualProfile, at: validity.lowerBound)
        else {
            throw ProvisioningError(.noSuchProfile, "there is no profile \(CredentialSet.usualProfile)")
        }
        let spec = CredentialSpec(type: type, profile: profile, algorithm: algorithm, validity: validity)
        var template = try spec.template(
            for: person ?? self.person, below: authority, in: locations, using: &random)
        try edit(&template)
        let key = try self.key(part, algorithm)
        let issuer = issuer ?? authority[spec.issuer]
        let certificate = try issuer.issue(
            template, to: key, digest: digest, seed: source.child("signature").seed)
        log.certificates.withLock { $0.append(certificate) }
        return TestIdentity(certificate: certificate, privateKey: key)
    }

    /// An identity that several test vectors have in common, because its key takes long to make; made on first use,
    /// with randomness that depends on nothing but `name` and the source of the whole context.
    ///
    /// - Throws: what `make` throws.
    func sharedIdentity(
        _ name: String, _ make: (TestVectorContext) throws -> TestIdentity
    ) throws -> TestIdentity {
        try shared.identity(name) { try make(scoped(to: name)) }
    }

    /// Makes the key of a name, which is always the same for one name.
    ///
    /// - Throws: `OpenSSLError` where the key cannot be made.
    func key(_ name: String, _ algorithm: KeyAlgorithm? = nil) throws -> PrivateKey {
        try PrivateKey.generate(algorithm ?? self.algorithm, seed: source.child(name).child("key").seed)
    }

    /// Draws another person.
    func otherPerson() -> TestPerson {
        var random = source.child("other person").generator()
        return TestPerson(using: &random)
    }

    /// Makes the PKCS #12 file of one identity, as a provider would hand it over.
    ///
    /// - Throws: `PKCS12Error` or `OpenSSLError` where the file cannot be made.
    func file(
        _ identity: TestIdentity, friendlyName: String? = "Test", profile: PKCS12Profile? = nil,
        password: SecretBytes? = nil
    ) throws -> [UInt8] {
        var random = source.child("file \(identity.certificate.label)").generator()
        return try PKCS12.create(
            privateKey: identity.privateKey, certificate: identity.certificate, chain: identity.chain,
            friendlyName: friendlyName, password: password ?? self.password,
            profile: profile ?? self.profile
        ) { random.octets($0) }
    }

    /// Makes a PKCS #12 file of any bags.
    ///
    /// - Throws: `OpenSSLError` where the file cannot be made.
    func file(_ assembly: PKCS12FileBuilder, password: SecretBytes? = nil) throws -> [UInt8] {
        var random = source.child("assembly").generator()
        return try assembly.file(password: password ?? self.password) { random.octets($0) }
    }

    /// Makes one PKCS #12 file of several identities.
    ///
    /// - Throws: `OpenSSLError` where the file cannot be made.
    func file(_ identities: [TestIdentity]) throws -> [UInt8] {
        var assembly = PKCS12FileBuilder(profile)
        for identity in identities {
            assembly.add(identity.certificate, identity.privateKey, friendlyName: "Test")
        }
        return try file(assembly)
    }

    /// Makes an archive of files, whose entries have the date of the context.
    ///
    /// - Throws: `ZipError` where the archive cannot be made.
    func archive(_ entries: [(name: String, bytes: [UInt8])]) throws -> [UInt8] {
        try ZipBundle.create(entries, modified: date)
    }
}

/// The certificates that were issued in one context. Copies of a context share their log.
private final class IssuanceLog: Sendable {
    let certificates = Mutex<[Certificate]>([])
}

/// The identities that several test vectors have in common. Copies of a context share them.
private final class SharedIdentities: Sendable {
    private let made = Mutex<[String: TestIdentity]>([:])

    /// The identity of a name. Whoever asks while another one is made waits: each takes a core for seconds.
    func identity(_ name: String, make: () throws -> TestIdentity) throws -> TestIdentity {
        try made.withLock { made in
            if let identity = made[name] { return identity }
            let identity = try make()
            made[name] = identity
            return identity
        }
    }
}
