internal import COpenSSL

/// A location of revocation information in a certificate (RFC 5280 4.2.1.13).
package struct DistributionPoint: Sendable, Hashable {
    /// The URLs of the list, in order.
    package let urls: [String]
    /// The signers of the list, if they are not the certificate's issuer; otherwise empty.
    package let issuers: [DistinguishedName]
    /// Whether the list contains only revocations for certain reasons.
    package let isForSomeReasons: Bool
    /// The DER of the point's name; empty if only ``issuers`` identify the list.
    let name: [UInt8]
    /// The directory names in the point's name.
    let directoryNames: [DistinguishedName]
    /// The number of names of any type in the point.
    let nameCount: Int

    /// The maximum number of distribution points of a certificate or a list, and of names in them. OpenSSL compares
    /// each name of a certificate with each name of a list.
    package static let mostNames = 64

    /// Whether there are more points, or names in them, than ``mostNames``.
    static func areTooMany(_ points: [DistributionPoint]) -> Bool {
        points.count > mostNames || points.reduce(0) { $0 + $1.nameCount } > mostNames
    }

    /// Copies the distribution points of a C certificate (`X509`) without taking ownership of it.
    static func points(of certificate: OpaquePointer) -> [DistributionPoint] {
        unsafe points(X509_get_ext_d2i(certificate, NID_crl_distribution_points, nil, nil))
    }

    /// Copies the locations of delta lists from a C certificate (`X509`) without taking ownership of it.
    static func deltaPoints(of certificate: OpaquePointer) -> [DistributionPoint] {
        unsafe points(X509_get_ext_d2i(certificate, NID_freshest_crl, nil, nil))
    }

    /// Copies decoded distribution points (`CRL_DIST_POINTS`) and frees them. Returns an empty array for nil.
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
                isForSomeReasons: point.reasons != nil, name: encodedName(point.distpoint),
                directoryNames: directoryNames(point.distpoint),
                nameCount: nameCount(point.distpoint) + OpenSSLASN1.elements(point.CRLissuer).count)
        }
    }

    /// The number of names in a distribution point's name; one for a name relative to the issuer's.
    static func nameCount(_ name: UnsafeMutablePointer<DIST_POINT_NAME>?) -> Int {
        guard let name = unsafe name else { return 0 }
        return unsafe name.pointee.type == 0 ? OpenSSLASN1.elements(name.pointee.name.fullname).count : 1
    }

    /// The URLs of a distribution point's full name.
    static func urls(_ name: UnsafeMutablePointer<DIST_POINT_NAME>?) -> [String] {
        // 0 is the full name; 1 is a name relative to the issuer's.
        guard let name = unsafe name, unsafe name.pointee.type == 0 else { return [] }
        return unsafe OpenSSLASN1.elements(name.pointee.name.fullname).compactMap {
            let general = unsafe GeneralName(reading: $0.assumingMemoryBound(to: GENERAL_NAME.self))
            if case .uniformResourceIdentifier(let url) = general { return url }
            return nil
        }
    }

    /// The directory names in a distribution point's full name.
    static func directoryNames(_ name: UnsafeMutablePointer<DIST_POINT_NAME>?) -> [DistinguishedName] {
        guard let name = unsafe name, unsafe name.pointee.type == 0 else { return [] }
        return unsafe directoryNames(name.pointee.name.fullname)
    }

    /// The DER of a distribution point's name; empty for nil.
    static func encodedName(_ name: UnsafeMutablePointer<DIST_POINT_NAME>?) -> [UInt8] {
        guard let name = unsafe name else { return [] }
        return unsafe OpenSSLASN1.der(name) { unsafe i2d_DIST_POINT_NAME($0, $1) }
    }

    /// The directory names in a list of general names, which the caller still owns.
    static func directoryNames(_ names: OpaquePointer?) -> [DistinguishedName] {
        unsafe OpenSSLASN1.elements(names).compactMap {
            let general = unsafe GeneralName(reading: $0.assumingMemoryBound(to: GENERAL_NAME.self))
            if case .directoryName(let name) = general { return name }
            return nil
        }
    }
}

extension Certificate {
    /// The locations of the certificate's revocation information (RFC 5280 4.2.1.13), in order. Each access parses the
    /// certificate again.
    package var distributionPoints: [DistributionPoint] {
        (try? unsafe withFields { unsafe DistributionPoint.points(of: $0) }) ?? []
    }

    /// The locations of the delta lists, which contain the changes since the certificate's revocation lists
    /// (freshestCRL, RFC 5280 4.2.1.15), in order. Each access parses the certificate again.
    package var deltaPoints: [DistributionPoint] {
        (try? unsafe withFields { unsafe DistributionPoint.deltaPoints(of: $0) }) ?? []
    }

    /// Whether the certificate was signed with its own key, so that it can only be a trust anchor. Each access verifies
    /// the signature (X509_self_signed(3)).
    package var isSelfSigned: Bool { VerificationObjects().isSelfSigned(self) }
}
