internal import SwiftASN1

extension ASN1 {
    /// Returns the DER that `body` writes.
    static func encoded(_ body: (inout DER.Serializer) throws -> Void) throws -> [UInt8] {
        var coder = DER.Serializer()
        try body(&coder)
        return coder.serializedBytes
    }
}

// The structures of RFC 7292 and RFC 8018. A function throws only if an object identifier does not consist of dotted
// numbers.

extension DER.Serializer {
    /// Appends a SEQUENCE with the elements that `body` writes.
    mutating func sequence(_ body: (inout DER.Serializer) throws -> Void) throws {
        try appendConstructedNode(identifier: .sequence, body)
    }

    /// Appends the explicit context-specific tag `[tag]` around the output of `body`.
    mutating func explicit(_ tag: UInt, _ body: (inout DER.Serializer) throws -> Void) throws {
        try appendConstructedNode(identifier: .context(tag), body)
    }

    /// Appends an OBJECT IDENTIFIER.
    mutating func objectIdentifier(_ dotted: String) throws {
        try serialize(ASN1ObjectIdentifier(dotRepresentation: dotted))
    }

    /// Appends an OCTET STRING.
    mutating func octets(_ bytes: [UInt8]) throws {
        try serialize(ASN1OctetString(contentBytes: bytes[...]))
    }

    /// Appends the fields of an AlgorithmIdentifier whose parameters are NULL.
    mutating func null(after oid: String) throws {
        try objectIdentifier(oid)
        try serialize(ASN1Null())
    }

    /// Appends a ContentInfo with Data (RFC 5652, 4).
    mutating func appendData(_ content: [UInt8]) throws {
        try sequence { info in
            try info.objectIdentifier(OID.data)
            try info.explicit(0) { try $0.octets(content) }
        }
    }

    /// Appends a ContentInfo with EncryptedData (RFC 5652, 8).
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

    /// Appends a certBag with an X.509 certificate (RFC 7292, 4.2.3).
    mutating func appendCertificateBag(_ der: [UInt8], _ attributes: PKCS12FileBuilder.Attributes) throws {
        try appendBag(OID.certBag, attributes) { value in
            try value.sequence { bag in
                try bag.objectIdentifier(OID.x509Certificate)
                try bag.explicit(0) { try $0.octets(der) }
            }
        }
    }

    /// Appends a pkcs8ShroudedKeyBag (RFC 7292, 4.2.2).
    mutating func appendShroudedKeyBag(_ key: EncryptedLayer, _ attributes: PKCS12FileBuilder.Attributes)
        throws
    {
        try appendBag(OID.shroudedKeyBag, attributes) { value in
            try value.sequence { info in
                info.serializeRawBytes(key.algorithm)
                try info.octets(key.ciphertext)
            }
        }
    }

    /// Appends a MacData (RFC 7292, 4).
    mutating func appendMACData(_ code: AuthenticationCode) throws {
        try sequence { data in
            try data.sequence { digest in
                digest.serializeRawBytes(code.algorithm)
                try digest.octets(code.value)
            }
            try data.octets(code.salt)
            // DER omits the default, which is one iteration.
            if code.iterations != 1 { try data.serialize(code.iterations) }
        }
    }

    /// Appends the AlgorithmIdentifier of PBES2 with PBKDF2 (RFC 8018, A.4).
    ///
    /// - Parameters:
    ///   - salt: The salt of PBKDF2.
    ///   - iterations: The iterations of PBKDF2.
    ///   - function: The HMAC in PBKDF2, a dotted identifier.
    ///   - cipher: The cipher, a dotted identifier. Its only parameter is the initialization vector.
    ///   - vector: The initialization vector.
    mutating func appendPBES2(
        _ salt: [UInt8], _ iterations: Int, function: String, _ cipher: String, vector: [UInt8]
    ) throws {
        try sequence { algorithm in
            try algorithm.objectIdentifier(OID.pbes2)
            try algorithm.sequence { parameters in
                try parameters.appendPBKDF2(salt, iterations, function: function)
                try parameters.sequence { scheme in
                    try scheme.objectIdentifier(cipher)
                    try scheme.octets(vector)
                }
            }
        }
    }

    /// Appends the AlgorithmIdentifier of PBMAC1 (RFC 9579), with HMAC-SHA-256 in PBKDF2 and as the MAC.
    mutating func appendPBMAC1(_ salt: [UInt8], _ iterations: Int, keyLength: Int) throws {
        try sequence { algorithm in
            try algorithm.objectIdentifier(OID.pbmac1)
            try algorithm.sequence { parameters in
                try parameters.appendPBKDF2(
                    salt, iterations, function: OID.hmacSHA256, keyLength: keyLength)
                try parameters.sequence { try $0.null(after: OID.hmacSHA256) }
            }
        }
    }

    /// Appends the AlgorithmIdentifier of PBKDF2 (RFC 8018, A.2).
    private mutating func appendPBKDF2(
        _ salt: [UInt8], _ iterations: Int, function: String, keyLength: Int? = nil
    ) throws {
        try sequence { derivation in
            try derivation.objectIdentifier(OID.pbkdf2)
            try derivation.sequence { values in
                try values.octets(salt)
                try values.serialize(iterations)
                if let keyLength { try values.serialize(keyLength) }
                try values.sequence { try $0.null(after: function) }
            }
        }
    }

    /// Appends the AlgorithmIdentifier of a scheme of RFC 7292, C.
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
        _ type: String, _ attributes: PKCS12FileBuilder.Attributes,
        _ value: (inout DER.Serializer) throws -> Void
    ) throws {
        try sequence { bag in
            try bag.objectIdentifier(type)
            try bag.explicit(0, value)
            guard attributes.friendlyName != nil || attributes.localKeyID != nil else { return }
            // DER requires the elements of a SET OF to be sorted.
            let encoded = try attributes.encoded().sorted { $0.lexicographicallyPrecedes($1) }
            bag.appendConstructedNode(identifier: .set) { set in
                for attribute in encoded { set.serializeRawBytes(attribute) }
            }
        }
    }
}

extension PKCS12FileBuilder.Attributes {
    /// The DER of each attribute.
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
