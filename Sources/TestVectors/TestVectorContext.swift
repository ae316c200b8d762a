package import Foundation
internal import KeySharing
package import OpenSSL
package import SecretMemory
internal import Synchronization
package import TestCredentials
internal import ZipBundles

/// The inputs for generating test vectors, such as a test PKI, a person, a date and a source of randomness.
package struct TestVectorContext: Sendable {
    /// The PKI that issues certificates.
    package let authority: TestAuthority
    /// The holder of the certificates.
    package let person: TestPerson
    /// The time at which certificates are valid, unless the test vector defines another.
    package let date: Date
    /// The algorithm of generated keys, unless the test vector defines another.
    package let algorithm: KeyAlgorithm
    /// The password of files.
    package let password: SecretBytes
    /// The encryption profile of files, unless the test vector defines another.
    package let profile: PKCS12Profile
    /// The URLs of the PKI in the certificates.
    let locations: PKILocations
    /// The source of randomness for keys, signatures, serial numbers and salts.
    private(set) var source: RandomSource
    /// The source of the context from which this context was derived by `scoped(to:)`; nil in any other context.
    private var unscopedSource: RandomSource?
    private var log = IssuanceLog()
    private let shared = SharedIdentities()

    /// All certificates that were issued in this context, in the order of issuance.
    package var issued: [Certificate] { log.certificates.withLock { $0 } }

    /// Creates a context. Each test vector that is generated in it derives its own randomness from `source`.
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

    /// Creates a context with new authorities, whose keys are RSA.
    ///
    /// - Parameters:
    ///   - settings: The settings of the suite.
    ///   - algorithm: The algorithm of the credentials' keys.
    /// - Throws: `OpenSSLError` or `CertificateError` if the authorities cannot be created.
    init(_ settings: TestVectorSuite.Settings, algorithm: KeyAlgorithm = .p256) throws {
        let source = settings.source
        var random = source.child("person").generator()
        let drawn = TestPerson(using: &random)
        self.init(
            authority: try TestAuthority(
                algorithm: .rsa(bits: 2048), validity: TestVectorSuite.span(at: settings.date), from: source),
            person: settings.person ?? drawn, date: settings.date, algorithm: algorithm,
            password: SecretBytes(utf8: settings.password), profile: settings.profile, source: source)
    }

    /// Returns the context for one test vector, with its own randomness and an empty list of issued certificates.
    func scoped(to name: String) -> TestVectorContext {
        var context = self
        let source = unscopedSource ?? source
        context.unscopedSource = source
        // Do not rename `specimen` to match the type's name: the word is an input to the randomness of all fixtures.
        context.source = source.child("specimen \(name)")
        context.log = IssuanceLog()
        return context
    }

    /// Returns a period of three years that starts on the day before `date`, shifted by a number of years.
    ///
    /// - Parameter years: The number of years. Negative values shift into the past.
    func validity(shiftedBy years: Int = 0) -> Range<Date> {
        let start = Calendar.utc.adding(years: years, to: date.addingTimeInterval(-86_400))
        return start..<Calendar.utc.adding(years: 3, to: start)
    }

    /// Generates an identity as provisioning does, and applies `edit` to its certificate template.
    ///
    /// - Parameters:
    ///   - part: Distinguishes several identities of one test vector.
    ///   - issuer: The issuer of the certificate, or nil for the authority of the type.
    ///   - digest: The digest of the signature, or nil for the default.
    ///   - privateKey: The private key, or nil to generate one.
    ///   - edit: Changes the template before the certificate is issued.
    /// - Throws: `OpenSSLError` and `CertificateError` if OpenSSL fails.
    func identity(
        _ type: CredentialType = .signature, part: String = "identity", algorithm: KeyAlgorithm? = nil,
        person: TestPerson? = nil, validity: Range<Date>? = nil, issuer: CertificateIssuer? = nil,
        digest: SignatureDigest? = nil, with privateKey: PrivateKey? = nil,
        edit: (inout CertificateTemplate) throws -> Void = { _ in }
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
            for: person ?? self.person, serialNumber: SerialNumber.random(using: &random), below: authority,
            in: locations, using: &random)
        try edit(&template)
        let key = try privateKey ?? self.key(part, algorithm)
        let issuer = issuer ?? authority[spec.issuer]
        let certificate = try issuer.issue(
            template, to: key, digest: digest, seed: source.child("signature").seed)
        log.certificates.withLock { $0.append(certificate) }
        return TestIdentity(certificate: certificate, privateKey: key)
    }

    /// Returns an identity that several test vectors share, because generating its key takes a long time. It is
    /// generated on first use. Its randomness depends only on `name` and the source of the whole context.
    ///
    /// - Throws: The errors of `make`.
    func sharedIdentity(
        _ name: String, _ make: (TestVectorContext) throws -> TestIdentity
    ) throws -> TestIdentity {
        try shared.identity(name) { try make(scoped(to: name)) }
    }

    /// Generates the key with this name. The same name always produces the same key.
    ///
    /// - Throws: `OpenSSLError` if the key cannot be generated.
    func key(_ name: String, _ algorithm: KeyAlgorithm? = nil) throws -> PrivateKey {
        try PrivateKey.generate(algorithm ?? self.algorithm, seed: source.child(name).child("key").seed)
    }

    /// Generates a second random person.
    func otherPerson() -> TestPerson {
        var random = source.child("other person").generator()
        return TestPerson(using: &random)
    }

    /// Creates a PKCS #12 file with one identity, as a provider would export it.
    ///
    /// - Throws: `PKCS12Error` or `OpenSSLError` if the file cannot be created.
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

    /// Creates a PKCS #12 file from the bags of a builder.
    ///
    /// - Throws: `OpenSSLError` if the file cannot be created.
    func file(_ assembly: PKCS12FileBuilder, password: SecretBytes? = nil) throws -> [UInt8] {
        var random = source.child("assembly").generator()
        return try assembly.file(password: password ?? self.password) { random.octets($0) }
    }

    /// Creates one PKCS #12 file with several identities.
    ///
    /// - Throws: `OpenSSLError` if the file cannot be created.
    func file(_ identities: [TestIdentity]) throws -> [UInt8] {
        var assembly = PKCS12FileBuilder(profile)
        for identity in identities {
            assembly.add(identity.certificate, identity.privateKey, friendlyName: "Test")
        }
        return try file(assembly)
    }

    /// Creates a zip archive. The entries' modification time is the date of the context.
    ///
    /// - Throws: `ZipError` if the archive cannot be created.
    func archive(_ entries: [(name: String, bytes: [UInt8])]) throws -> [UInt8] {
        try ZipBundle.create(entries, modified: date)
    }
}

/// The certificates that were issued in one context. Copies of a context share their log.
private final class IssuanceLog: Sendable {
    let certificates = Mutex<[Certificate]>([])
}

/// The identities that several test vectors share. Copies of a context use the same instance.
private final class SharedIdentities: Sendable {
    private let made = Mutex<[String: TestIdentity]>([:])

    /// Returns the identity with this name. While one identity is generated, concurrent callers wait, because each
    /// generation occupies a core for seconds.
    func identity(_ name: String, make: () throws -> TestIdentity) throws -> TestIdentity {
        try made.withLock { made in
            if let identity = made[name] { return identity }
            let identity = try make()
            made[name] = identity
            return identity
        }
    }
}
