/// Files of the type `.p7c` (RFC 8551 3.8), as authorities publish them.
package enum BundleSamples {
    /// Creates a PKCS #7 structure without signatures that contains these certificates and revocation lists, in DER.
    package static func bundle(_ certificates: [[UInt8]], _ lists: [[UInt8]]) -> [UInt8] {
        let data = tagged(0x30, [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x01])
        let signed =
            [0x02, 0x01, 0x01, 0x31, 0x00] + data + tagged(0xA0, certificates.flatMap(\.self))
            + tagged(0xA1, lists.flatMap(\.self)) + [0x31, 0x00]
        let object: [UInt8] = [0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x02]
        return tagged(0x30, object + tagged(0xA0, tagged(0x30, signed)))
    }

    private static func tagged(_ tag: UInt8, _ contents: [UInt8]) -> [UInt8] {
        [tag, 0x82, UInt8(contents.count >> 8), UInt8(contents.count & 0xFF)] + contents
    }
}
