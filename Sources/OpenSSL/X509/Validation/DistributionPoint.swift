internal import COpenSSL

/// One place where a certificate says that its revocation is told (RFC 5280 4.2.1.13).
package struct DistributionPoint: Sendable, Hashable {
    /// The URLs of the list, in order.
    package let urls: [String]
    /// Who signs the list, where that is not the certificate's issuer; empty where it is.
    package let issuers: [DistinguishedName]
    /// Whether the list holds revocations for some reasons alone.
    package let isForSomeReasons: Bool

    /// Copies what a C certificate (`X509`) names; it stays its owner's.
    static func points(of certificate: OpaquePointer) -> [DistributionPoint] {
        unsafe points(X509_get_ext_d2i(certificate, NID_crl_distribution_points, nil, nil))
    }

    /// Copies where a C certificate (`X509`) says that deltas of its lists are; it stays its owner's.
    static func deltaPoints(of certificate: OpaquePointer) -> [DistributionPoint] {
        unsafe points(X509_get_ext_d2i(certificate, NID_freshest_crl, nil, nil))
    }

    /// Copies decoded distribution points (`CRL_DIST_POINTS`) and frees them; none for nil.
    static func points(_ decoded: UnsafeMutableRawPointer?) -> [DistributionPoint] {
        guard let decoded = unsafe decoded else {
            OpenSSLError.discardQueue()
            return []
        }
        let points = OpaquePointer(decoded)
        defer { unsafe CRL_DIST_POINTS_free(points) }
        return unsafe OpenSSLASN1.elements(points).map {
            let point = unsafe $0.assumingMemoryBound(to: DIST_POINT.self).pointee
            return unsafe DistributionPoint(
                urls: urls(point.distpoint), issuers: directoryNames(point.CRLissuer),
                isForSomeReasons: point.reasons != nil)
        }
    }

    /// The URLs of a distribution point's full name.
    static func urls(_ name: UnsafeMutablePointer<DIST_POINT_NAME>?) -> [String] {
        // 0 is the full name, 1 the part that follows the issuer's name.
        guard let name = unsafe name, unsafe name.pointee.type == 0 else { return [] }
        return unsafe OpenSSLASN1.elements(name.pointee.name.fullname).compactMap {
            let general = unsafe GeneralName(reading: $0.assumingMemoryBound(to: GENERAL_NAME.self))
            if case .uniformResourceIdentifier(let url) = general { return url }
            return nil
        }
    }

    /// The directory names among general names, which stay their owner's.
    static func directoryNames(_ names: OpaquePointer?) -> [DistinguishedName] {
        unsafe OpenSSLASN1.elements(names).compactMap {
            let general = unsafe GeneralName(reading: $0.assumingMemoryBound(to: GENERAL_NAME.self))
            if case .directoryName(let name) = general { return name }
            return nil
        }
    }
}

extension Certificate {
    /// Where the certificate's revocation is told (RFC 5280 4.2.1.13), in order; parsed anew at each call.
    package var distributionPoints: [DistributionPoint] {
        (try? unsafe withPointer { unsafe DistributionPoint.points(of: $0) }) ?? []
    }

    /// Where the changes since the certificate's revocation lists are told (freshestCRL, RFC 5280 4.2.1.15), in order;
    /// parsed anew at each call.
    package var deltaPoints: [DistributionPoint] {
        (try? unsafe withPointer { unsafe DistributionPoint.deltaPoints(of: $0) }) ?? []
    }

    /// Whether the certificate's own key signed it, which makes it an anchor that needs no other; the signature
    /// is checked at each call (X509_self_signed(3)).
    package var isSelfSigned: Bool { VerificationObjects().isSelfSigned(self) }
}
