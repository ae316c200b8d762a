package import SecretMemory
internal import COpenSSL
internal import SwiftASN1

extension PKCS12 {
    /// Writes a file that holds one identity: the key in one safe, its certificate and `chain` in another.
    ///
    /// Key and certificate carry the friendly name, and as localKeyID the certificate's SHA-1, as OpenSSL
    /// writes it. What is written opens again with `read` under the same password.
    ///
    /// - Parameters:
    ///   - privateKey: The key.
    ///   - certificate: Its certificate.
    ///   - chain: Further certificates, in the order in which they are to stand; written where the profile
    ///     includes them.
    ///   - friendlyName: The name on key and certificate; nil for none.
    ///   - password: The password, UTF-8; it may be empty. A profile that uses the empty one ignores it.
    ///   - profile: Encryption, MAC, iterations, and whether the chain is written.
    ///   - random: Fills a buffer with so many random octets, for salts and vectors; by default OpenSSL's
    ///     random source.
    /// - Returns: The file, DER.
    /// - Throws: `keyMismatch` where the certificate is for another key, `refused` for a count of iterations
    ///   past `PKCS12Limits.standard` or a zero byte in the password, `malformed` for a password that is no
    ///   UTF-8, `unsupportedAlgorithm` where OpenSSL lacks something.
    package static func create(
        privateKey: PrivateKey, certificate: Certificate, chain: [Certificate] = [], friendlyName: String?,
        password: SecretBytes, profile: PKCS12Profile,
        random: (Int) throws(OpenSSLError) -> [UInt8] = systemRandom
    ) throws(PKCS12Error) -> [UInt8] {
        guard privateKey.matches(certificate) else { throw PKCS12Error(.keyMismatch) }
        let writer = try PKCS12Writer(profile, password: password)
        do {
            return try writer.write(
                privateKey: privateKey, certificate: certificate, chain: chain, friendlyName: friendlyName,
                random: random)
        } catch let error as PKCS12Error {
            throw error
        } catch {
            throw PKCS12Error(
                .unsupportedAlgorithm(oid: "", name: profile.name.rawValue),
                reason: "the file could not be written", cause: error as? OpenSSLError)
        }
    }

    /// Octets from OpenSSL's random source.
    package static func systemRandom(_ count: Int) throws(OpenSSLError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        guard unsafe RAND_bytes(&bytes, CInt(count)) == 1 else { throw .draining("reading random octets") }
        return bytes
    }
}

/// Writes files of one profile under one password.
private struct PKCS12Writer {
    private let profile: PKCS12Profile
    /// The password as RFC 7292 derivations take it, and as RFC 8018's do.
    private let wide: SecretBytes
    private let octets: SecretBytes

    init(_ profile: PKCS12Profile, password: SecretBytes) throws(PKCS12Error) {
        let counts = 1...PKCS12Limits.standard.iterations
        guard counts ~= profile.iterations, counts ~= profile.macIterations else {
            throw .refused(.iterations)
        }
        let password = profile.usesEmptyPassword ? SecretBytes([]) : password
        guard !password.hasZeroByte else { throw .refused(.passwordWithZeroByte) }
        guard let wide = password.transcodedToUTF16() else {
            throw .malformed("the password", expected: "UTF-8")
        }
        self.profile = profile
        self.wide = wide
        octets = password
    }

    func write(
        privateKey: PrivateKey, certificate: Certificate, chain: [Certificate], friendlyName: String?,
        random: (Int) throws(OpenSSLError) -> [UInt8]
    ) throws -> [UInt8] {
        let attributes = BagAttributeSet(
            friendlyName: friendlyName, localKeyID: Digest.sha1(certificate.der))
        let certificates = try ASN1.encoded { coder in
            try coder.sequence { safe in
                try safe.appendCertificateBag(certificate.der, attributes)
                for certificate in profile.includesChain ? chain : [] {
                    try safe.appendCertificateBag(certificate.der, BagAttributeSet())
                }
            }
        }
        let certificateSafe = try encrypt(
            SecretBytes(certificates), profile.certificateEncryption, random: random)
        let key = try encrypt(privateKey.pkcs8(), profile.keyEncryption, random: random)
        let keySafe = try ASN1.encoded { coder in
            try coder.sequence { try $0.appendShroudedKeyBag(key, attributes) }
        }
        let authenticatedSafe = try ASN1.encoded { coder in
            try coder.sequence { safes in
                try safes.appendEncryptedData(certificateSafe)
                try safes.appendData(keySafe)
            }
        }
        let code = try profile.mac.map { try authenticate(authenticatedSafe, $0, random: random) }
        return try ASN1.encoded { coder in
            try coder.sequence { pfx in
                try pfx.serialize(3)
                try pfx.appendData(authenticatedSafe)
                if let code { try pfx.appendMACData(code) }
            }
        }
    }

    private func encrypt(
        _ plaintext: SecretBytes, _ encryption: PKCS12Profile.Encryption,
        random: (Int) throws(OpenSSLError) -> [UInt8]
    ) throws -> EncryptedLayer {
        let scheme =
            switch encryption {
            case .pbes2:
                try ASN1.encoded {
                    try $0.appendPBES2(try random(16), profile.iterations, vector: try random(16))
                }
            case .pbes1(let identifier):
                try ASN1.encoded { try $0.appendPBES1(identifier, try random(8), profile.iterations) }
            }
        // Read back what was written, so that reader and writer cannot drift apart.
        let parsed = try EncryptionScheme(BER.parse(scheme), limits: .standard, at: "new file")
        let password = parsed.family == .wide ? wide : octets
        let (key, vector) = try parsed.keyMaterial(password: password, limits: .standard)
        let ciphertext = try CipherOperation(parsed.cipher, key: key, vector: vector).encrypt(plaintext)
        return EncryptedLayer(algorithm: scheme, ciphertext: ciphertext)
    }

    private func authenticate(
        _ message: [UInt8], _ mac: PKCS12Profile.MAC, random: (Int) throws(OpenSSLError) -> [UInt8]
    ) throws -> AuthenticationCode {
        let iterations = profile.macIterations
        switch mac {
        case .pkcs12(let digest, let identifier, let size, let saltLength):
            let salt = try random(saltLength)
            let key = try KeyDerivation.pkcs12(
                .integrityKey, password: wide, salt: salt, iterations: iterations, digest: digest,
                count: size, context: .standard)
            let code = try HMAC.authenticate(message, key: key, digest: digest, context: .standard)
            return AuthenticationCode(
                algorithm: try ASN1.encoded { coder in try coder.sequence { try $0.null(after: identifier) }
                },
                value: unsafe code.withUnsafeBytes { unsafe Array($0) }, salt: salt, iterations: iterations)
        case .pbmac1:
            let salt = try random(16)
            let key = try KeyDerivation.pbkdf2(
                password: octets, salt: salt, iterations: iterations, digest: "SHA256", count: 32,
                context: .standard)
            let code = try HMAC.authenticate(message, key: key, digest: "SHA256", context: .standard)
            // Salt and count of the MacData itself go unused; these are what RFC 9579's examples have there.
            return AuthenticationCode(
                algorithm: try ASN1.encoded { try $0.appendPBMAC1(salt, iterations, keyLength: 32) },
                value: unsafe code.withUnsafeBytes { unsafe Array($0) }, salt: Array("NOT USED".utf8),
                iterations: 1)
        }
    }
}
