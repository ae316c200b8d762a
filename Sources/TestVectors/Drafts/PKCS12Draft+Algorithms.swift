internal import OpenSSL

extension PKCS12Draft.Encryption {
    /// A scheme of RFC 7292, C, or of PKCS #5 v1.5, by its dotted identifier.
    ///
    /// - Throws: `ASN1Error` if the identifier does not consist of dotted numbers.
    static func pbes1(_ scheme: String, salt: [UInt8], iterations: Int = 2_048) throws -> Self {
        Self(try .algorithm(scheme, .sequence([.octetString(salt), try .integer(iterations)])))
    }

    /// PBES2 with PBKDF2 (RFC 8018, A.2 and A.4).
    ///
    /// - Parameters:
    ///   - cipher: The cipher, a dotted identifier. Its only parameter is `vector`.
    ///   - keyLength: The optional key length, in octets.
    ///   - function: The HMAC, a dotted identifier; nil omits it, which means HMAC-SHA-1.
    /// - Throws: `ASN1Error` if an identifier does not consist of dotted numbers.
    static func pbes2(
        _ cipher: String = OID.aes256CBC, vector: [UInt8], salt: [UInt8], iterations: Int = 2_048,
        keyLength: Int? = nil, function: String? = OID.hmacSHA256
    ) throws -> Self {
        var parameters = [BERElement.octetString(salt), try .integer(iterations)]
        if let keyLength { parameters.append(try .integer(keyLength)) }
        if let function { parameters.append(try .algorithm(function)) }
        return Self(
            try .algorithm(
                OID.pbes2,
                .sequence([
                    try .algorithm(OID.pbkdf2, .sequence(parameters)),
                    try .algorithm(cipher, .octetString(vector)),
                ])))
    }

    /// PBES2 with scrypt (RFC 7914, 7) and AES-256.
    ///
    /// - Throws: `ASN1Error`, which does not happen.
    static func scrypt(vector: [UInt8], salt: [UInt8], cost: Int) throws -> Self {
        let parameters = BERElement.sequence([
            .octetString(salt), try .integer(cost), try .integer(8), try .integer(1),
        ])
        return Self(
            try .algorithm(
                OID.pbes2,
                .sequence([
                    try .algorithm(OID.scrypt, parameters),
                    try .algorithm(OID.aes256CBC, .octetString(vector)),
                ])))
    }
}

extension PKCS12Draft.Bag {
    /// An attribute with its values.
    ///
    /// - Throws: `ASN1Error` if `type` does not consist of dotted numbers.
    static func attribute(_ type: String, _ values: BERElement...) throws -> BERElement {
        .sequence([try .objectIdentifier(type), .set(values)])
    }

    /// The usual attributes: a friendly name and a localKeyID.
    ///
    /// - Throws: `ASN1Error`, which does not happen.
    static func attributes(name: String?, localKeyID: [UInt8]?) throws -> [BERElement] {
        var result: [BERElement] = []
        if let name { result.append(try attribute(OID.friendlyName, .bmpString(name))) }
        if let localKeyID { result.append(try attribute(OID.localKeyID, .octetString(localKeyID))) }
        return result
    }
}
