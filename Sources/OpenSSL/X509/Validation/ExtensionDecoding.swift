internal import COpenSSL

/// The result of decoding the contents of a certificate extension with OpenSSL's decoder for its type.
enum ExtensionDecoding: Equatable {
    /// OpenSSL has no decoder for the type.
    case unsupported
    /// The contents cannot be decoded.
    case undecodable
    /// The contents were decoded. OpenSSL ignores the octets after the value, so they are counted here.
    case decoded(trailingOctets: Int)

    /// Decodes a C extension (`X509_EXTENSION`), which the caller still owns. OpenSSL's error queue may have new entries
    /// afterwards.
    init(_ item: OpaquePointer?) {
        guard let method = unsafe X509V3_EXT_get(item) else {
            self = .unsupported
            return
        }
        guard let type = unsafe method.pointee.it else {
            // Such a decoder, for example of certificate timestamps, reads all octets itself.
            let decoded = unsafe X509V3_EXT_d2i(item)
            self = unsafe decoded == nil ? .undecodable : .decoded(trailingOctets: 0)
            if let decoded = unsafe decoded { unsafe method.pointee.ext_free?(decoded) }
            return
        }
        let octets = unsafe OpenSSLASN1.octets(X509_EXTENSION_get_data(item))
        self = unsafe octets.withUnsafeBufferPointer { bytes in
            guard let start = bytes.baseAddress else { return .undecodable }
            var cursor: UnsafePointer<UInt8>? = unsafe start
            guard
                let value = unsafe OpenSSLASN1.decodeWithoutProviders(type(), &cursor, bytes.count)
            else { return .undecodable }
            unsafe ASN1_item_free(value, type())
            return .decoded(trailingOctets: unsafe bytes.count - (cursor.map { unsafe $0 - start } ?? 0))
        }
    }

    /// Whether a C certificate (`X509`) has an extension more than once, a critical extension that cannot be decoded, or
    /// octets after the value of an extension (RFC 5280 4.2). OpenSSL accepts each of them in some types of extensions.
    ///
    /// Critical extensions of an unsupported type are not counted, because OpenSSL rejects them by default.
    static func hasViolation(_ certificate: OpaquePointer) -> Bool {
        defer { OpenSSLError.discardQueue() }
        let count = unsafe X509_get_ext_count(certificate)
        var types: Set<[UInt8]> = []
        // Duplicates first: then each type is decoded at most once.
        for index in 0..<max(0, count) {
            let object = unsafe X509_EXTENSION_get_object(X509_get_ext(certificate, index))
            let type = unsafe UnsafeBufferPointer(start: OBJ_get0_data(object), count: OBJ_length(object))
            guard types.insert(unsafe Array(type)).inserted else { return true }
        }
        for index in 0..<max(0, count) {
            let item = unsafe X509_get_ext(certificate, index)
            switch unsafe ExtensionDecoding(item) {
            case .unsupported: break
            case .undecodable: if unsafe X509_EXTENSION_get_critical(item) > 0 { return true }
            case .decoded(let trailingOctets): if trailingOctets > 0 { return true }
            }
        }
        return false
    }
}
