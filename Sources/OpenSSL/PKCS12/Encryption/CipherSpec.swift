internal import SwiftASN1

/// A cipher with the parameters that a file gives it; the key, and for PBES1 the initialisation vector, come from the
/// password.
struct CipherSpec: Sendable {
    /// The name or the dotted identifier by which OpenSSL finds the cipher.
    let fetchName: String
    /// The cipher's usual name, such as `AES-256-CBC`, for people.
    let displayName: String
    /// The key's size in octets.
    let keyLength: Int
    /// The size of the initialisation vector in octets.
    let vectorLength: Int
    /// The initialisation vector that the file states; nil where it is derived from the password.
    let vector: [UInt8]?
    /// The effective key bits of RC2 (RFC 2268, 6); nil for every other cipher.
    let effectiveKeyBits: Int?
    /// The size in octets of the authentication tag behind the ciphertext; nil for modes without a tag.
    let tagLength: Int?
    /// The size in octets of a block, of which the ciphertext has a whole number; zero where any length will do.
    let blockLength: Int
    /// The OpenSSL providers that have the cipher.
    let context: LibraryContext

    /// Finds the cipher of a PBES1 scheme by its OpenSSL name.
    ///
    /// Where this OpenSSL has no cipher of that name, the key length is zero and `EncryptionScheme.decrypt` throws
    /// `unsupportedAlgorithm`.
    init(name: String) {
        let traits = CipherProperties(name)
        fetchName = name
        displayName = name
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
    ///   - keyLength: The key length in octets that the key derivation states; nil where it states none.
    ///   - place: Where in the file the scheme stands, for errors.
    /// - Throws: `unsupportedAlgorithm`, `malformed`.
    init(_ algorithm: AlgorithmIdentifier, keyLength: Int?, at place: String) throws(PKCS12Error) {
        guard let traits = CipherProperties(algorithm.oid), traits.isUsable else {
            throw .unsupported(oid: algorithm.oid)
        }
        let parameters = try CipherParameters(algorithm.parameters, at: "\(place), cipher parameters")
        fetchName = algorithm.oid
        context = traits.context
        vectorLength = traits.isAuthenticated ? parameters.vector?.count ?? 0 : traits.vectorLength
        blockLength = traits.paddedBlockLength
        vector = parameters.vector ?? []
        guard vector?.count == vectorLength, !traits.isAuthenticated || 1...16 ~= vectorLength else {
            throw .malformed("\(place), cipher parameters", expected: "an initialisation vector")
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
        // No writer gives a cipher of variable key size more than 256 bits, and each block of the key costs the
        // iterations once more.
        guard self.keyLength == traits.keyLength || traits.hasVariableKey, 1...32 ~= self.keyLength else {
            throw .malformed("\(place), key length", expected: "\(traits.keyLength)")
        }
    }

    /// The effective key bits for a version of RC2's parameters (RFC 8018, B.2.3), which numbers three sizes
    /// specially; zero for a version that is not defined.
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

/// The parameters of a cipher in an AlgorithmIdentifier: an initialisation vector, alone or in a SEQUENCE with a number.
private struct CipherParameters {
    /// The initialisation vector; nil where the parameters are absent or NULL, as for RC4.
    let vector: [UInt8]?
    /// The version of RC2, the key bits of CAST5, or the tag length of GCM in octets.
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
