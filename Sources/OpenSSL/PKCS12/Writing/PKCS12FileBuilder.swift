package import SecretMemory
internal import SwiftASN1

/// Any bags under one password, as they come: test files that no writer would make on purpose.
///
/// The certificates stand in one safe, the keys in another, encrypted as the profile `modern` does. Nothing is
/// judged: a key need not be its certificate's, and there may be none of either.
package struct PKCS12FileBuilder: Sendable {
    /// The names on a bag.
    package struct Attributes: Sendable, Hashable {
        package var friendlyName: String?
        /// What ties a key to its certificate.
        package var localKeyID: [UInt8]?

        package init(friendlyName: String? = nil, localKeyID: [UInt8]? = nil) {
            self.friendlyName = friendlyName
            self.localKeyID = localKeyID
        }
    }

    /// The certificates: DER by rights, though any octets will do.
    package var certificates: [(der: [UInt8], attributes: Attributes)] = []
    package var keys: [(key: PrivateKey, attributes: Attributes)] = []
    /// What stands where keys should, behind them: a PrivateKeyInfo by rights, though any octets will do.
    package var keyOctets: [(octets: [UInt8], attributes: Attributes)] = []
    /// Whether there is a MAC.
    package var hasMAC = true
    /// What the MAC's iteration count says in place of the truth; nil for the truth.
    package var claimedIterations: Int?

    /// An empty assembly.
    package init() {}

    /// Adds a certificate with its key, or with any other key, tied by the certificate's digest.
    package mutating func add(_ certificate: Certificate, _ key: PrivateKey, friendlyName: String?) {
        let attributes = Attributes(
            friendlyName: friendlyName, localKeyID: Digest.sha1(certificate.der))
        certificates.append((certificate.der, attributes))
        keys.append((key, attributes))
    }

    /// The file, DER.
    ///
    /// - Parameter random: as for `PKCS12.create`.
    /// - Throws: `PKCS12Error` for a password that is no UTF-8, and whatever the library refuses.
    package func file(
        password: SecretBytes, random: (Int) throws(OpenSSLError) -> [UInt8] = PKCS12.systemRandom
    ) throws -> [UInt8] {
        let certificateBags = try ASN1.encoded { coder in
            try coder.sequence { safe in
                for entry in certificates {
                    try safe.appendCertificateBag(entry.der, BagAttributeSet(entry.attributes))
                }
            }
        }
        let certificateLayer = try encrypt(SecretBytes(certificateBags), password, random)
        let plainKeys =
            try keys.map { (try $0.key.pkcs8(), $0.attributes) }
            + keyOctets.map { (SecretBytes($0.octets), $0.attributes) }
        let keyLayers = try plainKeys.map { (try encrypt($0.0, password, random), $0.1) }
        let content = try ASN1.encoded { coder in
            try coder.sequence { safes in
                if !certificates.isEmpty { try safes.appendEncryptedData(certificateLayer) }
                if keyLayers.isEmpty { return }
                try safes.appendData(
                    try ASN1.encoded { coder in
                        try coder.sequence { safe in
                            for (layer, attributes) in keyLayers {
                                try safe.appendShroudedKeyBag(layer, BagAttributeSet(attributes))
                            }
                        }
                    })
            }
        }
        let mac = hasMAC ? try authenticate(content, password, random) : []
        return try ASN1.encoded { coder in
            try coder.sequence { pfx in
                try pfx.serialize(3)
                try pfx.appendData(content)
                pfx.serializeRawBytes(mac)
            }
        }
    }

    /// PKCS #8 of a DSA key of odd numbers of so many bits, whose public half takes long to compute.
    ///
    /// - Parameter oid: the algorithm; those of Diffie-Hellman have like parameters.
    /// - Throws: nothing that a dotted identifier does not cause.
    package static func dsaKey(
        modulus: Int, exponent: Int, oid: String = "1.2.840.10040.4.1"
    ) throws -> [UInt8] {
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

    private static let iterations = 2048

    private func encrypt(
        _ plaintext: SecretBytes, _ password: SecretBytes, _ random: (Int) throws(OpenSSLError) -> [UInt8]
    ) throws -> EncryptedLayer {
        let scheme = try ASN1.encoded {
            try $0.appendPBES2(try random(16), Self.iterations, vector: try random(16))
        }
        let parsed = try EncryptionScheme(BER.parse(scheme), limits: .standard, at: "new file")
        let (key, vector) = try parsed.keyMaterial(password: password, limits: .standard)
        let ciphertext = try CipherOperation(parsed.cipher, key: key, vector: vector).encrypt(plaintext)
        return EncryptedLayer(algorithm: scheme, ciphertext: ciphertext)
    }

    /// MacData (RFC 7292, 4).
    private func authenticate(
        _ content: [UInt8], _ password: SecretBytes, _ random: (Int) throws(OpenSSLError) -> [UInt8]
    ) throws -> [UInt8] {
        guard let wide = password.transcodedToUTF16() else {
            throw PKCS12Error.malformed("the password", expected: "UTF-8")
        }
        let salt = try random(16)
        let key = try KeyDerivation.pkcs12(
            .integrityKey, password: wide, salt: salt, iterations: Self.iterations, digest: "SHA256",
            count: 32, context: .standard)
        let code = try HMAC.authenticate(content, key: key, digest: "SHA256", context: .standard)
        return try ASN1.encoded { coder in
            try coder.sequence { data in
                try data.sequence { digest in
                    try digest.sequence { try $0.null(after: "2.16.840.1.101.3.4.2.1") }
                    try digest.octets(unsafe code.withUnsafeBytes { unsafe Array($0) })
                }
                try data.octets(salt)
                try data.serialize(claimedIterations ?? Self.iterations)
            }
        }
    }
}

extension BagAttributeSet {
    fileprivate init(_ attributes: PKCS12FileBuilder.Attributes) {
        self.init(friendlyName: attributes.friendlyName, localKeyID: attributes.localKeyID)
    }
}
