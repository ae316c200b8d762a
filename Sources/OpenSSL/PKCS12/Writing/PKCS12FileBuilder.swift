package import SecretMemory
internal import SwiftASN1

/// Builds valid and defective PKCS #12 files.
///
/// `PKCS12.create` builds valid files. Test vectors and tests use the builder for defective ones: a key that does not
/// match its certificate, arbitrary octets instead of a key, a false iteration count. The builder checks nothing.
///
/// `file` writes one safe with all certificates, encrypted unless the profile leaves it in the clear, and one safe with
/// all keys, each encrypted separately. For any other layout, combine the static functions, which create everything
/// from a bag to a whole file, with `encrypt` and `authenticate`, which create encrypted layers and the MAC.
package struct PKCS12FileBuilder: Sendable {
    /// The attributes to write on a bag.
    package struct Attributes: Sendable, Hashable {
        /// The readable name; nil for no name.
        package var friendlyName: String?
        /// The octets that link a key to its certificate; nil if there are none.
        package var localKeyID: [UInt8]?

        /// Creates attributes for one bag.
        package init(friendlyName: String? = nil, localKeyID: [UInt8]? = nil) {
            self.friendlyName = friendlyName
            self.localKeyID = localKeyID
        }
    }

    /// The encryption, the MAC and their iterations.
    package var profile: PKCS12Profile
    /// The certificates: DER in a valid file, otherwise any octets.
    package var certificates: [(der: [UInt8], attributes: Attributes)] = []
    /// The private keys.
    package var keys: [(key: PrivateKey, attributes: Attributes)] = []
    /// Octets to encrypt and write like private keys, after `keys`. A reader expects each to be a PrivateKeyInfo.
    package var keyOctets: [(octets: [UInt8], attributes: Attributes)] = []
    /// A false iteration count to write into the MAC; nil writes the true one.
    package var claimedIterations: Int?
    /// Whether the file has no password, which differs from the empty one (RFC 7292, B.1). If true, the given password
    /// is ignored.
    package var isWithoutPassword = false

    /// Creates a builder of a file without certificates and keys.
    package init(_ profile: PKCS12Profile = .modern) {
        self.profile = profile
    }

    /// Adds a certificate and a key, linked by the SHA-1 of the certificate. The key need not match the certificate.
    package mutating func add(_ certificate: Certificate, _ key: PrivateKey, friendlyName: String?) {
        let attributes = Attributes(
            friendlyName: friendlyName, localKeyID: Digest.sha1(certificate.der))
        certificates.append((certificate.der, attributes))
        keys.append((key, attributes))
    }

    /// Returns the file in DER.
    ///
    /// - Parameters:
    ///   - password: The password in UTF-8; ignored if the profile uses the empty password.
    ///   - random: Returns the given number of random octets. It is called for the safe with the certificates (even if
    ///     there are no certificates and the safe is omitted), then for each key, and then for the MAC. It is not
    ///     called for an unencrypted safe.
    /// - Throws: `PKCS12Error` for a password that is not UTF-8 or too many iterations, `OpenSSLError` if OpenSSL lacks
    ///   an algorithm.
    package func file(
        password: SecretBytes, random: (Int) throws(OpenSSLError) -> [UInt8] = PKCS12.systemRandom
    ) throws -> [UInt8] {
        let certificateBags = try certificates.map {
            try Self.certificateBag($0.der, $0.attributes)
        }
        let certificateContents = try Self.safeContents(certificateBags)
        let certificateSafe =
            if let encryption = profile.certificateEncryption {
                try Self.encryptedSafe(
                    encrypt(
                        SecretBytes(certificateContents), encryption, password: password, random: random))
            } else {
                try Self.safe(certificateContents)
            }
        let keyBags =
            try keys.map { ($0.attributes, try $0.key.pkcs8()) }
            + keyOctets.map { ($0.attributes, SecretBytes($0.octets)) }
        let shroudedKeyBags = try keyBags.map { attributes, info in
            try Self.shroudedKeyBag(
                encrypt(info, profile.keyEncryption, password: password, random: random), attributes)
        }
        var safes: [[UInt8]] = []
        if !certificates.isEmpty { safes.append(certificateSafe) }
        if !shroudedKeyBags.isEmpty { safes.append(try Self.safe(Self.safeContents(shroudedKeyBags))) }
        let authenticatedSafe = try Self.authenticatedSafe(safes)
        let mac = try authenticate(authenticatedSafe, password: password, random: random)
        return try Self.file(authenticatedSafe, mac: mac)
    }
}

/// An encrypted layer: the octets and their encryption algorithm.
package struct EncryptedLayer: Sendable {
    /// The DER of the AlgorithmIdentifier.
    package let algorithm: [UInt8]
    /// The encrypted octets.
    package let ciphertext: [UInt8]

    /// Creates a layer from its parts. They are not checked, so a test can write contradictory parts.
    package init(algorithm: [UInt8], ciphertext: [UInt8]) {
        self.algorithm = algorithm
        self.ciphertext = ciphertext
    }
}

/// A MAC over the AuthenticatedSafe, with the parameters that a reader needs to compute it.
package struct AuthenticationCode: Sendable {
    /// The DER of the AlgorithmIdentifier.
    package let algorithm: [UInt8]
    /// The octets of the MAC.
    package let value: [UInt8]
    /// The salt in the MacData.
    package let salt: [UInt8]
    /// The iteration count in the MacData; 1, the default, is not written.
    package let iterations: Int

    /// Creates a MAC from its parts. They are not checked, so a test can write contradictory parts.
    package init(algorithm: [UInt8], value: [UInt8], salt: [UInt8], iterations: Int) {
        self.algorithm = algorithm
        self.value = value
        self.salt = salt
        self.iterations = iterations
    }
}

// The layers and the MAC of a file.
extension PKCS12FileBuilder {
    /// Encrypts one layer with the profile's iterations.
    ///
    /// - Parameters:
    ///   - plaintext: The octets of SafeContents or of a PrivateKeyInfo.
    ///   - encryption: The scheme.
    ///   - password: The password: in UTF-8 for a scheme of RFC 7292, otherwise any octets.
    ///   - claimedIterations: A false iteration count to write; nil writes the true one.
    ///   - random: Returns the given number of random octets, for the salt and then for the initialization vector.
    /// - Throws: `PKCS12Error` for a password that is not UTF-8 or too many iterations, `OpenSSLError` if OpenSSL lacks
    ///   an algorithm.
    package func encrypt(
        _ plaintext: SecretBytes, _ encryption: PKCS12Profile.Encryption, password: SecretBytes,
        claimedIterations: Int? = nil, random: (Int) throws(OpenSSLError) -> [UInt8] = PKCS12.systemRandom
    ) throws -> EncryptedLayer {
        let salt: [UInt8]
        var vector: [UInt8] = []
        switch encryption {
        case .pbes1: salt = try random(8)
        case .pbes2:
            salt = try random(16)
            vector = try random(16)
        }
        func algorithm(_ iterations: Int) throws -> [UInt8] {
            try ASN1.encoded { coder in
                switch encryption {
                case .pbes1(let scheme): try coder.appendPBES1(scheme, salt, iterations)
                case .pbes2(let cipher, let function):
                    try coder.appendPBES2(salt, iterations, function: function, cipher, vector: vector)
                }
            }
        }
        // The reader's own parser derives the key, so reader and writer always agree.
        let scheme = try EncryptionScheme(
            BER.parse(try algorithm(profile.iterations)), limits: .standard, at: "new file")
        let (key, derivedVector) = try scheme.keyMaterial(
            password: scheme.family == .wide ? utf16(password) : octets(password), limits: .standard)
        return EncryptedLayer(
            algorithm: try algorithm(claimedIterations ?? profile.iterations),
            ciphertext: try CipherOperation(scheme.cipher, key: key, vector: derivedVector).encrypt(plaintext)
        )
    }

    /// Computes the MAC that the profile specifies. Returns nil if the profile has no MAC.
    ///
    /// - Parameters:
    ///   - message: The AuthenticatedSafe.
    ///   - password: The password in UTF-8.
    ///   - random: Returns the given number of random octets, for the salt.
    /// - Throws: `PKCS12Error` for a password that is not UTF-8, `OpenSSLError` if OpenSSL lacks an algorithm.
    package func authenticate(
        _ message: [UInt8], password: SecretBytes,
        random: (Int) throws(OpenSSLError) -> [UInt8] = PKCS12.systemRandom
    ) throws -> AuthenticationCode? {
        guard let mac = profile.mac else { return nil }
        let iterations = profile.macIterations
        switch mac {
        case .pkcs12(let digest, let identifier, let size, let saltLength):
            let salt = try random(saltLength)
            let key = try KeyDerivation.pkcs12(
                .integrityKey, password: utf16(password), salt: salt, iterations: iterations,
                digest: digest, count: size, context: .standard)
            return AuthenticationCode(
                algorithm: try ASN1.encoded { coder in try coder.sequence { try $0.null(after: identifier) }
                },
                value: try Self.hmac(message, key: key, digest: digest), salt: salt,
                iterations: claimedIterations ?? iterations)
        case .pbmac1:
            let salt = try random(16)
            let key = try KeyDerivation.pbkdf2(
                password: octets(password), salt: salt, iterations: iterations, digest: "SHA256", count: 32,
                context: .standard)
            // Readers ignore the salt and the count of the MacData itself. These are the values in the examples of RFC
            // 9579.
            return AuthenticationCode(
                algorithm: try ASN1.encoded {
                    try $0.appendPBMAC1(salt, claimedIterations ?? iterations, keyLength: 32)
                },
                value: try Self.hmac(message, key: key, digest: "SHA256"), salt: Array("NOT USED".utf8),
                iterations: 1)
        }
    }

    /// Returns the password in the form for the derivations of RFC 8018: its octets, or no octets if the profile uses
    /// the empty password or the file has no password.
    private func octets(_ password: SecretBytes) -> SecretBytes {
        profile.usesEmptyPassword || isWithoutPassword ? SecretBytes([]) : password
    }

    /// Returns the password as a BMPString with a terminator (RFC 7292, B.1), or no octets if the file has no password.
    private func utf16(_ password: SecretBytes) throws(PKCS12Error) -> SecretBytes {
        let password = octets(password)
        guard !isWithoutPassword else { return password }
        guard let wide = password.transcodedToUTF16() else {
            throw .malformed("the password", expected: "UTF-8")
        }
        return wide
    }

    private static func hmac(
        _ message: [UInt8], key: SecretBytes, digest: String
    ) throws(OpenSSLError) -> [UInt8] {
        let code = try HMAC.authenticate(message, key: key, digest: digest, context: .standard)
        return unsafe code.withUnsafeBytes { unsafe Array($0) }
    }
}

// The pieces of a file in DER. Each function throws only if an object identifier does not consist of dotted numbers.
extension PKCS12FileBuilder {
    /// A certBag with an X.509 certificate.
    package static func certificateBag(_ der: [UInt8], _ attributes: Attributes = .init()) throws -> [UInt8] {
        try ASN1.encoded { try $0.appendCertificateBag(der, attributes) }
    }

    /// A pkcs8ShroudedKeyBag.
    package static func shroudedKeyBag(
        _ key: EncryptedLayer, _ attributes: Attributes = .init()
    ) throws -> [UInt8] {
        try ASN1.encoded { try $0.appendShroudedKeyBag(key, attributes) }
    }

    /// A bag of any type.
    ///
    /// - Parameters:
    ///   - type: The bag's type, a dotted identifier.
    ///   - value: The DER of the value.
    ///   - attributes: The DER of the attributes, a SET; empty for no attributes.
    package static func bag(
        _ type: String, value: [UInt8], attributes: [UInt8] = []
    ) throws -> [UInt8] {
        try ASN1.encoded { coder in
            try coder.sequence { bag in
                try bag.objectIdentifier(type)
                try bag.explicit(0) { $0.serializeRawBytes(value) }
                bag.serializeRawBytes(attributes)
            }
        }
    }

    /// SafeContents: the plaintext of a safe with these bags.
    package static func safeContents(_ bags: [[UInt8]]) throws -> [UInt8] { try sequence(bags) }

    /// A safe in the clear (ContentInfo with Data).
    package static func safe(_ contents: [UInt8]) throws -> [UInt8] {
        try ASN1.encoded { try $0.appendData(contents) }
    }

    /// An encrypted safe (ContentInfo with EncryptedData).
    package static func encryptedSafe(_ layer: EncryptedLayer) throws -> [UInt8] {
        try ASN1.encoded { try $0.appendEncryptedData(layer) }
    }

    /// An AuthenticatedSafe of these safes: the message of the MAC.
    package static func authenticatedSafe(_ safes: [[UInt8]]) throws -> [UInt8] { try sequence(safes) }

    /// A whole file (PFX).
    ///
    /// - Parameters:
    ///   - authenticatedSafe: The AuthenticatedSafe.
    ///   - mac: The MAC; nil for no MAC.
    ///   - version: The version; readers expect 3.
    package static func file(
        _ authenticatedSafe: [UInt8], mac: AuthenticationCode?, version: Int = 3
    ) throws -> [UInt8] {
        try ASN1.encoded { coder in
            try coder.sequence { pfx in
                try pfx.serialize(version)
                try pfx.appendData(authenticatedSafe)
                if let mac { try pfx.appendMACData(mac) }
            }
        }
    }

    /// Returns a PrivateKeyInfo (RFC 5208, 5) with a DSA key whose numbers are so large that computing the public half
    /// is slow.
    ///
    /// - Parameters:
    ///   - modulus: The size of the prime p, in bits.
    ///   - exponent: The size of the private number, in bits.
    ///   - oid: The algorithm, a dotted identifier. Diffie-Hellman algorithms also have parameters of this form.
    package static func dsaKey(modulus: Int, exponent: Int, oid: String = OID.dsa) throws -> [UInt8] {
        func integer(_ octets: [UInt8], _ coder: inout DER.Serializer) {
            // A zero octet keeps the number positive.
            coder.appendPrimitiveNode(identifier: .integer) { $0 += [0] + octets }
        }
        func number(_ bits: Int) -> [UInt8] { [0xC1] + [UInt8](repeating: 0x55, count: bits / 8 - 1) }
        return try ASN1.encoded { coder in
            try coder.sequence { info in
                try info.serialize(0)
                try info.sequence { algorithm in
                    try algorithm.objectIdentifier(oid)
                    algorithm.appendConstructedNode(identifier: .sequence) { parameters in
                        integer(number(modulus), &parameters)
                        integer(number(256), &parameters)
                        integer(number(modulus - 8), &parameters)
                    }
                }
                try info.octets(ASN1.encoded { integer(number(exponent), &$0) })
            }
        }
    }

    /// Converts a file to BER like that of streaming writers: the outer structures have indefinite length, and the
    /// AuthenticatedSafe is split into pieces (X.690, 8.1.3.6 and 8.7.3). The MAC remains valid because it covers the
    /// contents of the pieces.
    ///
    /// - Parameter file: A file in DER.
    /// - Throws: An error of swift-asn1 if `file` is not DER.
    package static func indefiniteLength(_ file: [UInt8]) throws -> [UInt8] {
        func children(_ node: ASN1Node) -> [ASN1Node] {
            if case .constructed(let children) = node.content { Array(children) } else { [] }
        }
        func open(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] { [tag, 0x80] + content + [0, 0] }
        let fields = children(try DER.parse(file))
        guard fields.count >= 2, let info = Optional(children(fields[1])), info.count == 2,
            let content = children(info[1]).first
        else { return file }
        let octets = try ASN1OctetString(derEncoded: content).bytes
        let pieces = try stride(from: octets.startIndex, to: octets.endIndex, by: 1_000).map { start in
            try ASN1.encoded { try $0.octets(Array(octets[start..<min(start + 1_000, octets.endIndex)])) }
        }
        // DER.Serializer does not write indefinite lengths: a tag, 80, the content and two zero octets. The tags are
        // those of SEQUENCE, [0] and the constructed OCTET STRING.
        let data = open(0x30, info[0].encodedBytes + open(0xA0, open(0x24, pieces.flatMap(\.self))))
        return open(0x30, fields[0].encodedBytes + data + fields.dropFirst(2).flatMap(\.encodedBytes))
    }

    private static func sequence(_ elements: [[UInt8]]) throws -> [UInt8] {
        try ASN1.encoded { coder in
            try coder.sequence { for element in elements { $0.serializeRawBytes(element) } }
        }
    }
}
