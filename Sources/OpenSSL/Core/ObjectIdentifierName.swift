internal import COpenSSL

/// Names of object identifiers, and their dotted text (`1.2.840.113549`), which this module uses throughout.
enum ObjectIdentifierName {
    /// The readable name of `oid`.
    ///
    /// The name is OpenSSL's long name, or for algorithms newer than OpenSSL 3.0 a name from the table below. If there
    /// is no name, returns `oid`.
    static func name(of oid: String) -> String {
        if let name = newerNames[oid] { return name }
        guard let object = unsafe OBJ_txt2obj(oid, 1) else {
            OpenSSLError.discardQueue()
            return oid
        }
        defer { unsafe ASN1_OBJECT_free(object) }
        let nid = unsafe OBJ_obj2nid(object)
        guard nid != NID_undef, let name = unsafe OBJ_nid2ln(nid) else { return oid }
        return unsafe String(cString: name)
    }

    /// The dotted notation of an identifier in DER, including tag and length; nil if the octets are not an identifier.
    ///
    /// Handles components of more than 64 bits, which swift-asn1 cannot read. Identifiers derived from UUIDs contain
    /// such components (2.25…, Rec. ITU-T X.667).
    static func dotted(encoded: some Collection<UInt8>) -> String? {
        let bytes = Array(encoded)
        let object = unsafe bytes.withUnsafeBufferPointer { buffer in
            var cursor = buffer.baseAddress
            return unsafe d2i_ASN1_OBJECT(nil, &cursor, buffer.count)
        }
        guard let object = unsafe object else {
            OpenSSLError.discardQueue()
            return nil
        }
        defer { unsafe ASN1_OBJECT_free(object) }
        var text = [CChar](repeating: 0, count: 512)
        let count = unsafe OBJ_obj2txt(&text, CInt(text.count), object, 1)
        guard count > 0, Int(count) < text.count else {
            OpenSSLError.discardQueue()
            return nil
        }
        return String(decoding: text.prefix(Int(count)).map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// The names of algorithms that OpenSSL 3.0 does not support: RFC 9579, and FIPS 203 to 205.
    private static let newerNames: [String: String] = [
        "1.2.840.113549.1.5.14": "PBMAC1",
        "2.16.840.1.101.3.4.3.17": "ML-DSA-44", "2.16.840.1.101.3.4.3.18": "ML-DSA-65",
        "2.16.840.1.101.3.4.3.19": "ML-DSA-87",
        "2.16.840.1.101.3.4.3.20": "SLH-DSA-SHA2-128s", "2.16.840.1.101.3.4.3.21": "SLH-DSA-SHA2-128f",
        "2.16.840.1.101.3.4.3.22": "SLH-DSA-SHA2-192s", "2.16.840.1.101.3.4.3.23": "SLH-DSA-SHA2-192f",
        "2.16.840.1.101.3.4.3.24": "SLH-DSA-SHA2-256s", "2.16.840.1.101.3.4.3.25": "SLH-DSA-SHA2-256f",
        "2.16.840.1.101.3.4.3.26": "SLH-DSA-SHAKE-128s", "2.16.840.1.101.3.4.3.27": "SLH-DSA-SHAKE-128f",
        "2.16.840.1.101.3.4.3.28": "SLH-DSA-SHAKE-192s", "2.16.840.1.101.3.4.3.29": "SLH-DSA-SHAKE-192f",
        "2.16.840.1.101.3.4.3.30": "SLH-DSA-SHAKE-256s", "2.16.840.1.101.3.4.3.31": "SLH-DSA-SHAKE-256f",
        "2.16.840.1.101.3.4.4.1": "ML-KEM-512", "2.16.840.1.101.3.4.4.2": "ML-KEM-768",
        "2.16.840.1.101.3.4.4.3": "ML-KEM-1024",
        "2.16.840.1.113894.746875.1.1": "Java trusted key usage",
    ]
}
