internal import COpenSSL

/// The strength of the digests of signatures, in OpenSSL's numbers (X509_get_signature_info(3)).
///
/// The strength of the signer's key is a separate requirement.
enum DigestStrength {
    /// The strength in bits that a security level requires (SSL_CTX_set_security_level(3)).
    static func bits(requiredAt level: Int) -> Int { [0, 80, 112, 128, 192, 256][min(max(level, 0), 5)] }

    /// The collision resistance of a digest in bits; 0 for an unknown digest.
    ///
    /// - Parameter digest: OpenSSL's number of the digest (NID).
    static func bits(of digest: CInt) -> Int {
        switch digest {
        case NID_md5: return 39
        case NID_sha1: return 63
        default:
            guard let method = unsafe EVP_get_digestbyname(OBJ_nid2sn(digest)) else { return 0 }
            return Int(unsafe EVP_MD_get_size(method)) * 4
        }
    }

    /// The digest (NID) of a signature algorithm. NID_undef if the algorithm has none of its own, such as EdDSA, or if
    /// it is unknown, so that no signature is valid.
    static func digest(of algorithm: UnsafePointer<X509_ALGOR>?) -> CInt {
        var object: OpaquePointer?
        var kind: CInt = 0
        var parameters: UnsafeRawPointer?
        unsafe X509_ALGOR_get0(&object, &kind, &parameters, algorithm)
        let identifier = unsafe OBJ_obj2nid(object)
        guard identifier == NID_rsassaPss else {
            var digest: CInt = 0
            return unsafe OBJ_find_sigid_algs(identifier, &digest, nil) == 1 ? digest : NID_undef
        }
        guard kind == V_ASN1_SEQUENCE, let parameters = unsafe parameters,
            let decoded = unsafe ASN1_item_unpack(
                parameters.assumingMemoryBound(to: ASN1_STRING.self), RSA_PSS_PARAMS_it())
        else { return NID_undef }
        let scheme = unsafe decoded.assumingMemoryBound(to: RSA_PSS_PARAMS.self)
        defer { unsafe RSA_PSS_PARAMS_free(scheme) }
        // SHA-1 is the default (RFC 4055 3.1).
        guard let hash = unsafe scheme.pointee.hashAlgorithm else { return NID_sha1 }
        unsafe X509_ALGOR_get0(&object, nil, nil, hash)
        return unsafe OBJ_obj2nid(object)
    }

    /// The reason why a signature with a digest (NID) does not reach a security level; nil if it does. The digest
    /// NID_undef imposes no requirement.
    static func weakness(ofDigest digest: CInt, below level: Int?) -> String? {
        guard digest != NID_undef, let level, bits(of: digest) < bits(requiredAt: level) else { return nil }
        let name = unsafe String(cString: OBJ_nid2sn(digest))
        return "the digest of its signature is \(name), below security level \(level)"
    }
}
