private import Glibc

/// Content that has the form of the signed attributes of a message (RFC 5652, 5.3).
///
/// A signature with signed attributes is computed over the encoded attributes, and one without them over the content.
/// An attacker can therefore remove the attributes from a signed message and put them in the place of the content: the
/// signature still matches, although the signer never signed this content. A signature without attributes over such
/// content is not accepted.
enum SignedAttributeContent {
    /// The object identifiers of content-type and message-digest, which signed attributes must contain, in DER.
    private static let required: [[UInt8]] = [3, 4].map {
        [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x09, $0]
    }

    /// Whether the content of an open file, from its current position, has this form. Does not change the position.
    static func isContent(of file: CInt) -> Bool {
        let start = lseek(file, 0, SEEK_CUR)
        guard start >= 0 else { return false }
        let head = unsafe [UInt8](unsafeUninitializedCapacity: 65_536) { buffer, count in
            unsafe count = max(0, pread(file, buffer.baseAddress, buffer.count, start))
        }
        return isForm(head)
    }

    /// Whether bytes begin with a SET that contains both required attributes. The attributes that signers use are much
    /// shorter than 64 KiB.
    static func isForm(_ bytes: [UInt8]) -> Bool {
        bytes.first == 0x31 && required.allSatisfy { bytes.firstRange(of: $0) != nil }
    }
}
