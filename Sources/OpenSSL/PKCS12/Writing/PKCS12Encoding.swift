internal import SwiftASN1

/// A layer that is encrypted already, with the DER of its AlgorithmIdentifier.
struct EncryptedLayer {
    let algorithm: [UInt8]
    let ciphertext: [UInt8]
}

/// A MAC that is computed already, with the DER of its AlgorithmIdentifier.
struct AuthenticationCode {
    let algorithm: [UInt8]
    let value: [UInt8]
    let salt: [UInt8]
    let iterations: Int
}

/// The attributes that are written on a bag.
struct BagAttributeSet {
    var friendlyName: String?
    var localKeyID: [UInt8]?
}

extension ASN1 {
    /// DER of what `body` writes.
    static func encoded(_ body: (inout DER.Serializer) throws -> Void) throws -> [UInt8] {
        var coder = DER.Serializer()
        try body(&coder)
        return coder.serializedBytes
    }
}

/// The structures of RFC 7292 and RFC 8018, as they are written.
extension DER.Serializer {
    mutating func sequence(_ body: (inout DER.Serializer) throws -> Void) throws {
        try appendConstructedNode(identifier: .sequence, body)
    }

    mutating func explicit(_ tag: UInt, _ body: (inout DER.Serializer) throws -> Void) throws {
        try appendConstructedNode(identifier: .context(tag), body)
    }

    mutating func objectIdentifier(_ dotted: String) throws {
        try serialize(ASN1ObjectIdentifier(dotRepresentation: dotted))
    }

    mutating func octets(_ bytes: [UInt8]) throws {
        try serialize(ASN1OctetString(contentBytes: bytes[...]))
    }

    mutating func null(after oid: String) throws {
        try objectIdentifier(oid)
        try serialize(ASN1Null())
    }

    /// ContentInfo with Data.
    mutating func appendData(_ content: [UInt8]) throws {
        try sequence { info in
            try info.objectIdentifier(OID.data)
            try info.explicit(0) { try $0.octets(content) }
        }
    }

    /// ContentInfo with EncryptedData (RFC 5652, 8).
    mutating func appendEncryptedData(_ layer: EncryptedLayer) throws {
        try sequence { info in
            try info.objectIdentifier(OID.encryptedData)
            try info.explicit(0) { content in
                try content.sequence { data in
                    try data.serialize(0)
                    try data.sequence { encrypted in
                        try encrypted.objectIdentifier(OID.data)
                        encrypted.serializeRawBytes(layer.algorithm)
                        encrypted.appendPrimitiveNode(identifier: .context(0)) { $0 += layer.ciphertext }
                    }
                }
            }
        }
    }

    /// SafeBag with a certBag.
    mutating func appendCertificateBag(_ der: [UInt8], _ attributes: BagAttributeSet) throws {
        try appendBag(OID.certBag, attributes) { value in
            try value.sequence { bag in
                try bag.objectIdentifier(OID.x509Certificate)
                try bag.explicit(0) { try $0.octets(der) }
            }
        }
    }

    /// SafeBag with a pkcs8ShroudedKeyBag.
    mutating func appendShroudedKeyBag(_ key: EncryptedLayer, _ attributes: BagAttributeSet) throws {
        try appendBag(OID.shroudedKeyBag, attributes) { value in
            try value.sequence { info in
                info.serializeRawBytes(key.algorithm)
                try info.octets(key.ciphertext)
            }
        }
    }

    /// MacData (RFC 7292, 4).
    mutating func appendMACData(_ code: AuthenticationCode) throws {
        try sequence { data in
            try data.sequence { digest in
                digest.serializeRawBytes(code.algorithm)
                try digest.octets(code.value)
            }
            try data.octets(code.salt)
            // One iteration is the default, which DER leaves out.
            if code.iterations != 1 { try data.serialize(code.iterations) }
        }
    }

    /// AlgorithmIdentifier of PBES2 with PBKDF2, HMAC-SHA-256 and AES-256-CBC.
    mutating func appendPBES2(_ salt: [UInt8], _ iterations: Int, vector: [UInt8]) throws {
        try sequence { algorithm in
            try algorithm.objectIdentifier(OID.pbes2)
            try algorithm.sequence { parameters in
                try parameters.appendPBKDF2(salt, iterations)
                try parameters.sequence { cipher in
                    try cipher.objectIdentifier("2.16.840.1.101.3.4.1.42")
                    try cipher.octets(vector)
                }
            }
        }
    }

    /// AlgorithmIdentifier of PBMAC1 (RFC 9579) with PBKDF2 and HMAC-SHA-256.
    mutating func appendPBMAC1(_ salt: [UInt8], _ iterations: Int, keyLength: Int) throws {
        try sequence { algorithm in
            try algorithm.objectIdentifier(OID.pbmac1)
            try algorithm.sequence { parameters in
                try parameters.appendPBKDF2(salt, iterations, keyLength: keyLength)
                try parameters.sequence { try $0.null(after: OID.hmacSHA256) }
            }
        }
    }

    /// AlgorithmIdentifier of PBKDF2 with HMAC-SHA-256 (RFC 8018, A.2).
    private mutating func appendPBKDF2(_ salt: [UInt8], _ iterations: Int, keyLength: Int? = nil) throws {
        try sequence { derivation in
            try derivation.objectIdentifier(OID.pbkdf2)
            try derivation.sequence { values in
                try values.octets(salt)
                try values.serialize(iterations)
                if let keyLength { try values.serialize(keyLength) }
                try values.sequence { try $0.null(after: OID.hmacSHA256) }
            }
        }
    }

    /// AlgorithmIdentifier of a scheme of RFC 7292, C.
    mutating func appendPBES1(_ oid: String, _ salt: [UInt8], _ iterations: Int) throws {
        try sequence { algorithm in
            try algorithm.objectIdentifier(oid)
            try algorithm.sequence { parameters in
                try parameters.octets(salt)
                try parameters.serialize(iterations)
            }
        }
    }

    private mutating func appendBag(
        _ type: String, _ attributes: BagAttributeSet, _ value: (inout DER.Serializer) throws -> Void
    ) throws {
        try sequence { bag in
            try bag.objectIdentifier(type)
            try bag.explicit(0, value)
            guard attributes.friendlyName != nil || attributes.localKeyID != nil else { return }
            // Built apart and sorted by the set's own serializer, as DER wants a SET OF.
            let encoded = try attributes.encoded().sorted { $0.lexicographicallyPrecedes($1) }
            bag.appendConstructedNode(identifier: .set) { set in
                for attribute in encoded { set.serializeRawBytes(attribute) }
            }
        }
    }
}

extension BagAttributeSet {
    fileprivate func encoded() throws -> [[UInt8]] {
        var result: [[UInt8]] = []
        if let friendlyName {
            let units = friendlyName.utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
            result.append(
                try attribute(OID.friendlyName) { set in
                    set.appendPrimitiveNode(identifier: .bmpString) { $0 += units }
                })
        }
        if let localKeyID {
            result.append(try attribute(OID.localKeyID) { try $0.octets(localKeyID) })
        }
        return result
    }

    private func attribute(_ oid: String, _ value: (inout DER.Serializer) throws -> Void) throws -> [UInt8] {
        try ASN1.encoded { coder in
            try coder.sequence { attribute in
                try attribute.objectIdentifier(oid)
                try attribute.appendConstructedNode(identifier: .set, value)
            }
        }
    }
}
