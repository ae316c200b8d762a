internal import KeySharing
internal import COpenSSL
internal import Foundation

/// The parsed values of one certificate, which all copies of a ``Certificate`` share. ``Certificate`` documents each
/// value.
final class CertificateContents: Sendable {
    let der: [UInt8]
    let sha256: [UInt8]
    let version: Int
    let serialNumber: [UInt8]
    let isSerialNegative: Bool
    let subject: DistinguishedName
    let issuer: DistinguishedName
    let notBefore: Date
    let notAfter: Date
    let signatureAlgorithm: String
    let keyUsage: KeyUsage?
    let extendedKeyUsage: [String]?
    let policies: [String]
    let subjectAlternativeNames: [GeneralName]
    let subjectKeyIdentifier: [UInt8]?
    let authorityKeyIdentifier: [UInt8]?
    let isCertificateAuthority: Bool
    let publicKey: PublicKey
    let defects: [String]

    /// Parses `der`. The C certificate is freed afterwards, because many of them would use a lot of memory.
    ///
    /// - Throws: `malformed` with OpenSSL's reasons, `trailingBytes`.
    init(_ der: [UInt8]) throws(CertificateError) {
        let certificate = unsafe try Self.decode(der)
        defer { unsafe X509_free(certificate) }
        self.der = der
        sha256 = Digest.sha256(der)
        let encodedVersion = unsafe Int(X509_get_version(certificate))
        version = encodedVersion == .max ? .max : encodedVersion + 1
        let serial = unsafe X509_get0_serialNumber(certificate)
        serialNumber = unsafe OpenSSLASN1.octets(serial)
        isSerialNegative = unsafe ASN1_STRING_type(serial) & V_ASN1_NEG != 0
        subject = unsafe DistinguishedName(reading: X509_get_subject_name(certificate))
        issuer = unsafe DistinguishedName(reading: X509_get_issuer_name(certificate))
        signatureAlgorithm = unsafe Self.algorithmName(X509_get_signature_nid(certificate), certificate)
        publicKey = unsafe PublicKey(reading: X509_get_X509_PUBKEY(certificate))

        var defects: [String] = []
        if isSerialNegative { defects.append("The serial number is negative.") }
        if serialNumber.count > 20 { defects.append("The serial number has more than 20 octets.") }
        notBefore = unsafe Self.date(
            X509_get0_notBefore(certificate), "start of the validity period", &defects)
        notAfter = unsafe Self.date(X509_get0_notAfter(certificate), "end of the validity period", &defects)
        if case .other = publicKey.type {
            defects.append("The public key has an uncommon type (\(publicKey.type.name)).")
        }

        var reader = unsafe ExtensionReader(certificate)
        keyUsage = unsafe reader.keyUsage()
        extendedKeyUsage = unsafe reader.extendedKeyUsage()
        policies = unsafe reader.policies() ?? []
        subjectAlternativeNames = unsafe reader.subjectAlternativeNames() ?? []
        subjectKeyIdentifier = unsafe reader.subjectKeyIdentifier()
        authorityKeyIdentifier = unsafe reader.authorityKeyIdentifier() ?? nil
        isCertificateAuthority = unsafe reader.isCertificateAuthority() ?? false
        self.defects = unsafe defects + reader.defects
        OpenSSLError.discardQueue()
    }

    /// Decodes a certificate into a new C certificate (`X509`), which the caller frees. Its key is not loaded.
    ///
    /// Unlike d2i_X509, decoding by the ASN.1 item neither hashes the certificate nor checks its extensions. Both would
    /// take longer than everything else here, and the checks reject certificates that are merely unusual.
    static func decode(_ der: [UInt8]) throws(CertificateError) -> OpaquePointer {
        unsafe try OpenSSLASN1.decode(der, as: "a certificate") {
            unsafe OpenSSLASN1.decodeWithoutProviders(X509_it(), $0, $1)
        } free: {
            unsafe X509_free($0)
        }
    }

    private static func date(
        _ time: UnsafePointer<ASN1_TIME>?, _ field: String, _ defects: inout [String]
    ) -> Date {
        if let date = unsafe OpenSSLASN1.date(time) { return date }
        defects.append("The \(field) cannot be decoded.")
        return .distantPast
    }

    private static func algorithmName(_ identifier: CInt, _ certificate: OpaquePointer) -> String {
        if identifier != NID_undef, let name = unsafe OBJ_nid2ln(identifier) {
            return unsafe String(cString: name)
        }
        var object: OpaquePointer?
        unsafe X509_ALGOR_get0(&object, nil, nil, X509_get0_tbs_sigalg(certificate))
        return unsafe OpenSSLASN1.dotted(object)
    }
}

/// A reader of one certificate's extensions. It collects a defect for each extension that cannot be read.
///
/// The C certificate belongs to the caller and must outlive the reader.
@unsafe private struct ExtensionReader {
    private let certificate: OpaquePointer
    /// The defects found so far, one sentence each.
    private(set) var defects: [String] = []

    init(_ certificate: OpaquePointer) {
        unsafe self.certificate = certificate
    }

    /// Decodes the extension with the number `identifier` (`NID_…`) and converts it.
    ///
    /// - Parameters:
    ///   - name: The extension's name, for the sentence in `defects`.
    ///   - free: The C function that frees the decoded structure.
    ///   - read: Converts the structure to a value.
    /// - Returns: Nil if the extension is absent, duplicated, or cannot be decoded.
    mutating func read<Value>(
        _ identifier: CInt, _ name: String, _ free: (UnsafeMutableRawPointer) -> Void,
        _ read: (UnsafeMutableRawPointer) -> Value
    ) -> Value? {
        var critical: CInt = 0
        guard let value = unsafe X509_get_ext_d2i(certificate, identifier, &critical, nil) else {
            // -1 means absent, -2 means that there is more than one (X509V3_get_d2i(3)).
            if critical == -2 {
                unsafe defects.append("There is more than one \(name) extension.")
            } else if critical >= 0 {
                unsafe defects.append("The \(name) extension cannot be decoded.")
            }
            return nil
        }
        defer { unsafe free(value) }
        return unsafe read(value)
    }
}

// MARK: - The extensions

extension ExtensionReader {
    mutating func keyUsage() -> KeyUsage? {
        unsafe read(
            NID_key_usage, "key usage",
            { unsafe ASN1_BIT_STRING_free($0.assumingMemoryBound(to: ASN1_BIT_STRING.self)) },
            {
                unsafe KeyUsage(bitString: OpenSSLASN1.octets($0.assumingMemoryBound(to: ASN1_STRING.self)))
            })
    }

    mutating func extendedKeyUsage() -> [String]? {
        unsafe read(
            NID_ext_key_usage, "extended key usage", { unsafe EXTENDED_KEY_USAGE_free(OpaquePointer($0)) },
            { usages in
                unsafe OpenSSLASN1.elements(OpaquePointer(usages)).map {
                    unsafe OpenSSLASN1.dotted(OpaquePointer($0))
                }
            })
    }

    mutating func policies() -> [String]? {
        unsafe read(
            NID_certificate_policies, "certificate policies",
            { unsafe CERTIFICATEPOLICIES_free(OpaquePointer($0)) },
            { policies in
                unsafe OpenSSLASN1.elements(OpaquePointer(policies)).map {
                    unsafe OpenSSLASN1.dotted($0.assumingMemoryBound(to: POLICYINFO.self).pointee.policyid)
                }
            })
    }

    mutating func subjectAlternativeNames() -> [GeneralName]? {
        unsafe read(
            NID_subject_alt_name, "subject alternative name",
            { unsafe GENERAL_NAMES_free(OpaquePointer($0)) },
            { names in
                unsafe OpenSSLASN1.elements(OpaquePointer(names)).map {
                    unsafe GeneralName(reading: $0.assumingMemoryBound(to: GENERAL_NAME.self))
                }
            })
    }

    mutating func subjectKeyIdentifier() -> [UInt8]? {
        unsafe read(
            NID_subject_key_identifier, "subject key identifier",
            { unsafe ASN1_OCTET_STRING_free($0.assumingMemoryBound(to: ASN1_OCTET_STRING.self)) },
            { unsafe OpenSSLASN1.octets($0.assumingMemoryBound(to: ASN1_STRING.self)) })
    }

    /// The key identifier. The outer value is nil if the extension is absent, the inner one if it has no identifier.
    mutating func authorityKeyIdentifier() -> [UInt8]?? {
        unsafe read(
            NID_authority_key_identifier, "authority key identifier",
            { unsafe AUTHORITY_KEYID_free($0.assumingMemoryBound(to: AUTHORITY_KEYID.self)) },
            { identifier in
                let keyid = unsafe identifier.assumingMemoryBound(to: AUTHORITY_KEYID.self).pointee.keyid
                return unsafe keyid.map { unsafe OpenSSLASN1.octets($0) }
            })
    }

    mutating func isCertificateAuthority() -> Bool? {
        unsafe read(
            NID_basic_constraints, "basic constraints",
            { unsafe BASIC_CONSTRAINTS_free($0.assumingMemoryBound(to: BASIC_CONSTRAINTS.self)) },
            { unsafe $0.assumingMemoryBound(to: BASIC_CONSTRAINTS.self).pointee.ca != 0 })
    }
}
