package import SecretMemory
internal import Foundation
package import OpenSSL

/// Key material and PKCS #12 files for tests, created in memory. They have one iteration and constant salts, so that a
/// wrong password always fails in the same way.
package enum PKCS12Samples {
    /// The password of every file, unless a test specifies another one.
    package static let password = SecretBytes(utf8: "password")
    /// An identity with the common name "First".
    package static let first = Identity("First")
    /// An identity with the common name "Second".
    package static let second = Identity("Second")

    /// A P-256 key with a self-signed certificate.
    package struct Identity: Sendable {
        /// The private key of the identity.
        package let key: PrivateKey
        /// The certificate of the identity.
        package let certificate: Certificate

        /// Creates a key and a certificate for the common name `name`.
        package init(_ name: String) {
            do {
                key = try .generate(.p256)
                let template = CertificateTemplate(
                    subject: try DistinguishedName([.init("CN", name)]), serialNumber: [1],
                    notBefore: Date(timeIntervalSince1970: 1_700_000_000),
                    notAfter: Date(timeIntervalSince1970: 1_900_000_000))
                certificate = try CertificateIssuer(selfSigned: template, privateKey: key).certificate
            } catch {
                preconditionFailure("no test identity: \(error)")
            }
        }
    }

    /// The file that `PKCS12.create` writes for the identity `first`.
    package static func written(
        _ profile: PKCS12Profile = PKCS12Profile.modern.iterations(1), password: SecretBytes = password,
        friendlyName: String? = "A name", chain: [Certificate] = []
    ) throws -> [UInt8] {
        try PKCS12.create(
            privateKey: first.key, certificate: first.certificate, chain: chain, friendlyName: friendlyName,
            password: password, profile: profile)
    }

    /// The kinds of MAC that a file can have.
    package enum MAC: Sendable {
        /// No MAC.
        case none
        /// A MAC of one iteration.
        case valid
        /// A MAC of one iteration that claims another count.
        case claiming(Int)
    }

    /// Creates a complete file from these safes (ContentInfo), optionally followed by octets that do not belong there.
    package static func file(
        _ safes: [[UInt8]], mac: MAC = .valid, password: SecretBytes = password, version: Int = 3,
        trailing: [UInt8] = []
    ) throws -> [UInt8] {
        var builder = builder
        let message = try PKCS12FileBuilder.authenticatedSafe(safes) + trailing
        switch mac {
        case .none: builder.profile = PKCS12Profile(.noMAC)
        case .valid: break
        case .claiming(let count): builder.claimedIterations = count
        }
        let code = try builder.authenticate(message, password: password, random: constant)
        return try PKCS12FileBuilder.file(message, mac: code, version: version)
    }

    /// Creates a safe with unencrypted bags.
    package static func safe(_ bags: [[UInt8]]) throws -> [UInt8] {
        try PKCS12FileBuilder.safe(contents(bags))
    }

    /// Creates a safe whose bags are encrypted with one iteration.
    package static func encryptedSafe(
        _ bags: [[UInt8]], password: SecretBytes = password
    ) throws -> [UInt8] {
        try encryptedSafe(encrypt(SecretBytes(contents(bags)), password: password))
    }

    /// Creates a safe with an already encrypted layer.
    package static func encryptedSafe(_ layer: EncryptedLayer) throws -> [UInt8] {
        try PKCS12FileBuilder.encryptedSafe(layer)
    }

    /// Encodes these bags as SafeContents.
    package static func contents(_ bags: [[UInt8]]) throws -> [UInt8] {
        try PKCS12FileBuilder.safeContents(bags)
    }

    /// Creates a bag with a certificate.
    package static func bag(
        certificate: Certificate, _ attributes: PKCS12FileBuilder.Attributes = .init()
    ) throws -> [UInt8] {
        try PKCS12FileBuilder.certificateBag(certificate.der, attributes)
    }

    /// Creates a bag with a key that is encrypted with one iteration.
    package static func bag(
        key: PrivateKey, _ attributes: PKCS12FileBuilder.Attributes = .init(),
        password: SecretBytes = password
    ) throws -> [UInt8] {
        try bag(key: encrypt(key.pkcs8(), password: password), attributes)
    }

    /// Creates a bag with an already encrypted key.
    package static func bag(
        key: EncryptedLayer, _ attributes: PKCS12FileBuilder.Attributes = .init()
    ) throws -> [UInt8] {
        try PKCS12FileBuilder.shroudedKeyBag(key, attributes)
    }

    /// Creates a bag of any type. The value and the attributes are in DER.
    package static func bag(
        _ type: String, value: [UInt8], attributes: [UInt8] = []
    ) throws -> [UInt8] {
        try PKCS12FileBuilder.bag(type, value: value, attributes: attributes)
    }

    /// Encrypts a layer under PBES2 with one iteration. `iterations` is the count that the layer states instead, or
    /// nil.
    package static func encrypt(
        _ plaintext: SecretBytes, _ encryption: PKCS12Profile.Encryption = .pbes2(),
        password: SecretBytes = password, claiming iterations: Int? = nil
    ) throws -> EncryptedLayer {
        try builder.encrypt(
            plaintext, encryption, password: password, claimedIterations: iterations, random: constant)
    }

    /// Changes a layer of AES-256 so that it contains the identifier of AES-128 and the key length of 32 octets, as NSS
    /// before 3.30 wrote it.
    package static func mislabelled(
        _ layer: EncryptedLayer, as identifier: String = OID.aes128CBC, keyLength: UInt8 = 32
    ) throws -> EncryptedLayer {
        // The salt of 16 octets and the count of one iteration precede the function of PBKDF2.
        func replaced(_ bytes: [UInt8], _ old: [UInt8], by new: [UInt8]) -> [UInt8] {
            var bytes = bytes
            if let range = bytes.firstRange(of: old) { bytes.replaceSubrange(range, with: new) }
            return bytes
        }
        let last: UInt8 = identifier == OID.aes128CBC ? 2 : identifier == OID.aes256CBC ? 42 : 22
        var algorithm = layer.algorithm
        let arc: [UInt8] = [0x60, 0x86, 0x48, 1, 0x65, 3, 4, 1]
        algorithm = replaced(algorithm, arc + [42], by: arc + [last])
        let salt = [0x04, 16] + [UInt8](repeating: 7, count: 16)
        algorithm = replaced(algorithm, salt + [2, 1, 1], by: salt + [2, 1, 1, 2, 1, keyLength])
        // Every SEQUENCE around the parameters of PBKDF2 grows by the three octets of the key length.
        var position = 0
        for _ in 0..<4 {
            guard algorithm[position] == 0x30 else { preconditionFailure("no PBES2 algorithm") }
            algorithm[position + 1] += 3
            position += 2
            if algorithm[position] == 0x06 { position += 2 + Int(algorithm[position + 1]) }
        }
        return EncryptedLayer(algorithm: algorithm, ciphertext: layer.ciphertext)
    }

    /// Creates a layer of 64 octets that claims to be encrypted under `algorithm`, the DER of an AlgorithmIdentifier.
    package static func layer(algorithm: [UInt8]) -> EncryptedLayer {
        EncryptedLayer(algorithm: algorithm, ciphertext: [UInt8](repeating: 5, count: 64))
    }

    private static var builder: PKCS12FileBuilder { PKCS12FileBuilder(.modern.iterations(1)) }

    /// Returns a constant salt or initialisation vector.
    private static func constant(_ count: Int) -> [UInt8] { [UInt8](repeating: 7, count: count) }
}
