internal import SwiftASN1

/// A cipher with its parameters from the file. The key, and for PBES1 also the initialisation vector, is derived from
/// the password and not part of this value.
struct CipherSpec: Sendable {
    /// The name or dotted identifier that OpenSSL's lookup accepts.
    let fetchName: String
    /// The cipher's name for display, such as `AES-256-CBC`.
    let displayName: String
    /// The name of the cipher that the identifier in the file specifies, if the key length specifies a different one.
    /// Nil if they agree.
    let labelledName: String?
    /// The key's size in octets.
    let keyLength: Int
    /// The size of the initialization vector in octets.
    let vectorLength: Int
    /// The initialization vector in the file; nil if it is derived from the password.
    let vector: [UInt8]?
    /// The effective key bits of RC2 (RFC 2268, 6); nil for every other cipher.
    let effectiveKeyBits: Int?
    /// The size in octets of the authentication tag after the ciphertext; nil for modes without a tag.
    let tagLength: Int?
    /// The block size in octets; the ciphertext's length must be a multiple of it. Zero if any length is valid.
    let blockLength: Int
    /// The OpenSSL providers that have the cipher.
    let context: LibraryContext

    /// Finds the cipher of a PBES1 scheme by its OpenSSL name.
    ///
    /// If OpenSSL has no cipher of that name, the key length is zero and `EncryptionScheme.decrypt` throws
    /// `unsupportedAlgorithm`.
    init(name: String) {
        let traits = CipherProperties(name)
        fetchName = name
        displayName = name
        labelledName = nil
        keyLength = traits?.keyLength ?? 0
        vectorLength = traits?.vectorLength ?? 0
        blockLength = traits?.paddedBlockLength ?? 0
        context = traits?.context ?? .legacy
        vector = nil
        effectiveKeyBits = nil
        tagLength = nil
    }

    /// Reads the encryption scheme of PBES2 (RFC 8018, B.2).
    ///
    /// - Parameters:
    ///   - algorithm: The scheme with its parameters.
    ///   - keyLength: The key length in octets from the key derivation's parameters; nil if they contain none.
    ///   - place: The position in the file, for errors.
    /// - Throws: `unsupportedAlgorithm`, `malformed`.
    init(_ algorithm: AlgorithmIdentifier, keyLength: Int?, at place: String) throws(PKCS12Error) {
        let identifier = Self.usedIdentifier(algorithm.oid, keyLength: keyLength)
        guard let traits = CipherProperties(identifier), traits.isUsable else {
            throw .unsupported(oid: algorithm.oid)
        }
        labelledName = identifier == algorithm.oid ? nil : CipherProperties(algorithm.oid)?.name
        let parameters = try CipherParameters(algorithm.parameters, at: "\(place), cipher parameters")
        fetchName = identifier
        context = traits.context
        vectorLength = traits.isAuthenticated ? parameters.vector?.count ?? 0 : traits.vectorLength
        blockLength = traits.paddedBlockLength
        vector = parameters.vector ?? []
        guard vector?.count == vectorLength, !traits.isAuthenticated || 1...16 ~= vectorLength else {
            throw .malformed("\(place), cipher parameters", expected: "an initialization vector")
        }
        tagLength = traits.isAuthenticated ? parameters.number ?? 12 : nil
        guard 4...16 ~= tagLength ?? 12 else {
            throw .malformed("\(place), cipher parameters", expected: "a tag of 4 to 16 octets")
        }
        if algorithm.oid == OID.rc2CBC {
            let bits = Self.effectiveBits(version: parameters.number)
            guard 1...1024 ~= bits else {
                throw .malformed("\(place), cipher parameters", expected: "a version of RC2")
            }
            effectiveKeyBits = bits
            self.keyLength = keyLength ?? (bits + 7) / 8
            displayName = "RC2-CBC-\(bits)"
        } else {
            effectiveKeyBits = nil
            let castLength = algorithm.oid == OID.cast5CBC ? parameters.number.map { $0 / 8 } : nil
            self.keyLength = keyLength ?? castLength ?? traits.keyLength
            displayName = traits.name
        }
        // No writer uses more than 256 bits for a cipher of variable key size, and a longer key would multiply the
        // iterations.
        guard self.keyLength == traits.keyLength || traits.hasVariableKey, 1...32 ~= self.keyLength else {
            throw .malformed("\(place), key length", expected: "\(traits.keyLength)")
        }
    }

    /// Returns the identifier of the cipher that a file actually uses.
    ///
    /// Before 3.30, NSS wrote the maximum key length of AES, 32 octets, into every file and encrypted with AES-256,
    /// even if the identifier was that of AES-128 or AES-192. NSS still reads its old files by this rule.
    private static func usedIdentifier(_ identifier: String, keyLength: Int?) -> String {
        keyLength == 32 && [OID.aes128CBC, OID.aes192CBC].contains(identifier) ? OID.aes256CBC : identifier
    }

    /// Returns the effective key bits for the version number in RC2's parameters (RFC 8018, B.2.3). Three key sizes
    /// have special version numbers. Returns zero for an undefined version.
    private static func effectiveBits(version: Int?) -> Int {
        switch version {
        case nil: 32
        case 160: 40
        case 120: 64
        case 58: 128
        case let bits?: bits >= 256 ? bits : 0
        }
    }
}

/// The parameters of a cipher in an AlgorithmIdentifier: an initialization vector, or a SEQUENCE of a vector and a
/// number.
private struct CipherParameters {
    /// The initialization vector; nil if the parameters are absent or NULL, as for RC4.
    let vector: [UInt8]?
    /// The version number of RC2, the key size of CAST5 in bits, or the tag length of GCM in octets; nil if absent.
    let number: Int?

    init(_ node: ASN1Node?, at place: String) throws(PKCS12Error) {
        guard let node, node.identifier != .null else {
            vector = nil
            number = nil
            return
        }
        guard node.identifier == .sequence else {
            vector = Array(try node.octets(at: place))
            number = nil
            return
        }
        var fields = try node.children(at: place)
        let leading = fields.optional(.integer)
        vector = try fields.optional(.octetString).map { field throws(PKCS12Error) in
            Array(try field.octets(at: place))
        }
        number = try (leading ?? fields.optional(.integer))?.integer(at: place)
    }
}
