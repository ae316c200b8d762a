internal import COpenSSL

/// The header of an ASN.1 object, as OpenSSL decodes it.
struct ObjectHeader {
    /// The number of octets of the header.
    let length: Int
    /// The number of octets of the contents; zero if the length is indefinite.
    let contentLength: Int
    /// Whether the length is indefinite.
    let isIndefinite: Bool
    /// Whether the object contains other objects.
    let isConstructed: Bool
    /// Whether the object is an OCTET STRING.
    let isOctetString: Bool

    /// Decodes the header at the beginning of `bytes`; nil if OpenSSL cannot decode it, or if the object is longer than
    /// `bytes`.
    init?(_ bytes: UnsafeRawBufferPointer) {
        let base = unsafe bytes.bindMemory(to: UInt8.self).baseAddress
        var cursor = unsafe base
        var count = 0
        var tag: CInt = 0
        var tagClass: CInt = 0
        let form = unsafe ASN1_get_object(&cursor, &count, &tag, &tagClass, bytes.count)
        // The highest bit marks an invalid header, the lowest an indefinite length.
        guard form & 0x80 == 0, let start = unsafe base, let body = unsafe cursor else {
            OpenSSLError.discardQueue()
            return nil
        }
        length = unsafe body - start
        contentLength = count
        isIndefinite = form & 1 != 0
        isConstructed = form & V_ASN1_CONSTRUCTED != 0
        isOctetString = tagClass == V_ASN1_UNIVERSAL && tag == V_ASN1_OCTET_STRING
    }

    /// Counts the objects in `bytes`, without those inside strings, until there are more than `most`.
    ///
    /// - Returns: The number of objects, or a number above `most`; nil if OpenSSL cannot decode one of the headers.
    static func count(in bytes: UnsafeRawBufferPointer, most: Int) -> Int? {
        var start = 0
        var found = 0
        while start < bytes.count, found <= most {
            guard let header = unsafe ObjectHeader(UnsafeRawBufferPointer(rebasing: bytes[start...])) else {
                return nil
            }
            found += 1
            start += header.length + (header.isConstructed ? 0 : header.contentLength)
        }
        return found
    }

    /// Counts the objects in a certificate or a private key, with those inside OCTET STRINGs, as in extensions, until
    /// there are more than `most`.
    ///
    /// OpenSSL does not decode all objects, and accepts invalid ones in places that it skips. Octets that are not ASN.1
    /// are therefore counted as objects of two octets, the shortest ones.
    ///
    /// - Parameter decodesStrings: Whether the contents of OCTET STRINGs are counted. Strings inside them are not
    ///   decoded by any reader.
    /// - Returns: An upper bound of the number of objects, or a number above `most`.
    static func upperBound(
        in bytes: UnsafeRawBufferPointer, most: Int, decodesStrings: Bool = true
    ) -> Int {
        var start = 0
        var found = 0
        // The ends of the objects around `start`, from the outermost. No object extends beyond the end of another one.
        var ends = [bytes.count]
        while let end = ends.last, found <= most {
            guard start < end else {
                ends.removeLast()
                continue
            }
            guard let header = unsafe ObjectHeader(UnsafeRawBufferPointer(rebasing: bytes[start..<end]))
            else {
                found += (end - start + 1) / 2
                start = end
                continue
            }
            found += 1
            start += header.length
            let contentEnd = header.isIndefinite ? end : start + header.contentLength
            if header.isOctetString, header.isConstructed {
                // An object inside the string can extend over several of its pieces.
                found += (contentEnd - start) / 2
            } else if header.isConstructed {
                ends.append(contentEnd)
                continue
            } else if header.isOctetString, decodesStrings {
                let contents = unsafe UnsafeRawBufferPointer(rebasing: bytes[start..<contentEnd])
                found += unsafe upperBound(in: contents, most: most - found, decodesStrings: false)
            }
            start = contentEnd
        }
        return found
    }
}
