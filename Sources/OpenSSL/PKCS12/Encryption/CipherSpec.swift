internal import SwiftASN1

/// A cipher as a file asks for it: which one, and the parameters that are not derived from the password.
struct CipherSpec: Sendable {
    /// What OpenSSL is asked for: a name, or dotted text.
    let fetchName: String
    /// The cipher's usual name, for people.
    let displayName: String
    /// The key's size in octets.
    let keyLength: Int
    /// The size of the initialisation vector in octets.
    let vectorLength: Int
    /// The initialisation vector where the file carries it; nil where it is derived.
    let vector: [UInt8]?
    /// RC2's effective key bits where the file sets them.
    let effectiveKeyBits: Int?
    /// Octets of authentication tag behind the ciphertext; nil for modes without one.
    let tagLength: Int?
    /// Zero where the ciphertext may have any length.
    let blockLength: Int
    /// The providers that have the cipher.
    let context: LibraryContext

    /// A cipher of a PBES1 scheme. Where this OpenSSL has none of that name, decrypting fails as unsupported.
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

    /// The encryption scheme of PBES2 (RFC 8018, B.2).
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
        if algorithm.oid == Self.rc2 {
            let bits = Self.effectiveBits(version: parameters.number)
            guard 1...1024 ~= bits else {
                throw .malformed("\(place), cipher parameters", expected: "a version of RC2")
            }
            effectiveKeyBits = bits
            self.keyLength = keyLength ?? (bits + 7) / 8
            displayName = "RC2-CBC-\(bits)"
        } else {
            effectiveKeyBits = nil
            let castLength = algorithm.oid == Self.cast5 ? parameters.number.map { $0 / 8 } : nil
            self.keyLength = keyLength ?? castLength ?? traits.keyLength
            displayName = traits.name
        }
        guard self.keyLength == traits.keyLength || traits.hasVariableKey, 1...64 ~= self.keyLength else {
            throw .malformed("\(place), key length", expected: "\(traits.keyLength)")
        }
    }

    private static let rc2 = "1.2.840.113549.3.2"
    private static let cast5 = "1.2.840.113533.7.66.10"

    /// RFC 8018, B.2.3: three sizes have numbers of their own.
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

/// The parameters that cipher identifiers have: an initialisation vector, alone or in a SEQUENCE with a number
/// (RC2's version, CAST5's key bits, the tag length of GCM).
private struct CipherParameters {
    let vector: [UInt8]?
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
