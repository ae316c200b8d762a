internal import KeySharing
internal import COpenSSL

extension CertificateTemplate {
    /// Encodes the template's extensions, in the order in which they appear in the certificate.
    ///
    /// - Parameters:
    ///   - subjectIdentifier: The identifier of the subject's key, for ``KeyIdentifier/automatic``.
    ///   - authorityIdentifier: The identifier of the issuer's key; nil for a self-signed certificate.
    /// - Throws: `unencodable` for a value that cannot be written.
    func encodedExtensions(
        subjectIdentifier: [UInt8], authorityIdentifier: [UInt8]?
    ) throws(CertificateError) -> EncodedExtensions {
        let encoded = EncodedExtensions()
        try addConstraints(to: encoded)
        try addUsages(to: encoded)
        try addNames(to: encoded)
        try addLocations(to: encoded)
        if let octets = subjectKeyIdentifier.octets(automatic: subjectIdentifier) {
            try encoded.addSubjectKeyIdentifier(octets)
        }
        if let octets = authorityKeyIdentifier.octets(automatic: authorityIdentifier) {
            try encoded.addAuthorityKeyIdentifier(octets)
        }
        for other in extensions { try encoded.add(other) }
        return encoded
    }

    private func addConstraints(to encoded: EncodedExtensions) throws(CertificateError) {
        if let basicConstraints {
            guard let constraints = unsafe BASIC_CONSTRAINTS_new() else { return }
            defer { unsafe BASIC_CONSTRAINTS_free(constraints) }
            unsafe constraints.pointee.ca = basicConstraints.isCertificateAuthority ? 0xFF : 0
            if let length = basicConstraints.pathLength {
                let octets = bigEndianOctets(UInt32(clamping: length))
                unsafe constraints.pointee.pathlen = try OpenSSLASN1.integer(octets)
            }
            unsafe try encoded.add(NID_basic_constraints, isCritical: true, constraints)
        }
        if !permittedNames.isEmpty || !excludedNames.isEmpty {
            guard let constraints = unsafe NAME_CONSTRAINTS_new() else { return }
            defer { unsafe NAME_CONSTRAINTS_free(constraints) }
            if !permittedNames.isEmpty {
                unsafe constraints.pointee.permittedSubtrees = OPENSSL_sk_new_null()
                for name in permittedNames {
                    unsafe try name.push(onto: constraints.pointee.permittedSubtrees)
                }
            }
            if !excludedNames.isEmpty {
                unsafe constraints.pointee.excludedSubtrees = OPENSSL_sk_new_null()
                for name in excludedNames { unsafe try name.push(onto: constraints.pointee.excludedSubtrees) }
            }
            unsafe try encoded.add(NID_name_constraints, isCritical: true, constraints)
        }
    }

    private func bigEndianOctets(_ value: UInt32) -> [UInt8] {
        stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: value >> $0) }
    }

    private func addUsages(to encoded: EncodedExtensions) throws(CertificateError) {
        if let keyUsage {
            let bits = unsafe ASN1_BIT_STRING_new()
            defer { unsafe ASN1_BIT_STRING_free(bits) }
            for bit in 0..<CInt(KeyUsage.bitNames.count) where keyUsage.rawValue & (1 << UInt16(bit)) != 0 {
                unsafe ASN1_BIT_STRING_set_bit(bits, bit, 1)
            }
            unsafe try encoded.add(NID_key_usage, isCritical: isKeyUsageCritical, bits)
        }
        if !extendedKeyUsage.isEmpty {
            let usages = unsafe EXTENDED_KEY_USAGE_new()
            defer { unsafe EXTENDED_KEY_USAGE_free(usages) }
            for usage in extendedKeyUsage {
                unsafe OPENSSL_sk_push(usages, UnsafeRawPointer(try OpenSSLASN1.object(usage)))
            }
            unsafe try encoded.add(
                NID_ext_key_usage, isCritical: false, usages.map(UnsafeMutableRawPointer.init))
        }
        if !policies.isEmpty {
            let list = unsafe CERTIFICATEPOLICIES_new()
            defer { unsafe CERTIFICATEPOLICIES_free(list) }
            for policy in policies {
                let object = unsafe try OpenSSLASN1.object(policy)
                let information = unsafe POLICYINFO_new()
                unsafe information?.pointee.policyid = object
                unsafe OPENSSL_sk_push(list, information)
            }
            unsafe try encoded.add(
                NID_certificate_policies, isCritical: false, list.map(UnsafeMutableRawPointer.init))
        }
    }

    private func addNames(to encoded: EncodedExtensions) throws(CertificateError) {
        guard !subjectAlternativeNames.isEmpty else { return }
        let names = unsafe try subjectAlternativeNames.makePointer()
        defer { unsafe GENERAL_NAMES_free(names) }
        unsafe try encoded.add(
            NID_subject_alt_name, isCritical: areAlternativeNamesCritical, UnsafeMutableRawPointer(names))
    }

    private func addLocations(to encoded: EncodedExtensions) throws(CertificateError) {
        if !revocationListURLs.isEmpty {
            let points = unsafe CRL_DIST_POINTS_new()
            defer { unsafe CRL_DIST_POINTS_free(points) }
            for url in revocationListURLs {
                let names = unsafe try [GeneralName.uniformResourceIdentifier(url)].makePointer()
                let name = unsafe DIST_POINT_NAME_new()
                // 0 is the choice fullName of DistributionPointName.
                unsafe name?.pointee.type = 0
                unsafe name?.pointee.name.fullname = names
                let point = unsafe DIST_POINT_new()
                unsafe point?.pointee.distpoint = name
                unsafe OPENSSL_sk_push(points, point)
            }
            unsafe try encoded.add(
                NID_crl_distribution_points, isCritical: false, points.map(UnsafeMutableRawPointer.init))
        }
        let locations =
            responderURLs.map { (NID_ad_OCSP, $0) } + issuerURLs.map { (NID_ad_ca_issuers, $0) }
        if !locations.isEmpty {
            let access = unsafe AUTHORITY_INFO_ACCESS_new()
            defer { unsafe AUTHORITY_INFO_ACCESS_free(access) }
            for (method, url) in locations {
                let location = unsafe try GeneralName.uniformResourceIdentifier(url).makePointer()
                let description = unsafe ACCESS_DESCRIPTION_new()
                unsafe description?.pointee.method = OBJ_nid2obj(method)
                unsafe GENERAL_NAME_free(description?.pointee.location)
                unsafe description?.pointee.location = location
                unsafe OPENSSL_sk_push(access, description)
            }
            unsafe try encoded.add(
                NID_info_access, isCritical: false, access.map(UnsafeMutableRawPointer.init))
        }
    }
}

extension CertificateTemplate.KeyIdentifier {
    /// The octets of the identifier; nil if the extension is omitted.
    fileprivate func octets(automatic: [UInt8]?) -> [UInt8]? {
        switch self {
        case .automatic: automatic
        case .absent: nil
        case .octets(let octets): octets
        }
    }
}

extension GeneralName {
    /// Adds the subtree with this base to a C stack of `GENERAL_SUBTREE`, which becomes its owner.
    fileprivate func push(onto subtrees: OpaquePointer?) throws(CertificateError) {
        let base = unsafe try makePointer()
        let subtree = unsafe GENERAL_SUBTREE_new()
        unsafe GENERAL_NAME_free(subtree?.pointee.base)
        unsafe subtree?.pointee.base = base
        unsafe OPENSSL_sk_push(subtrees, subtree)
    }
}
