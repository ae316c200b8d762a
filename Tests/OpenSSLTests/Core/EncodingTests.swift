import COpenSSL
import Testing

@testable import OpenSSL

@Suite("Elements in DER and entries of OpenSSL's error queue", .timeLimit(.minutes(10)))
struct EncodingTests {
    @Test("The cursor moves only past an element with this tag, this class and a header as DER requires")
    func walk() {
        let (integer, sequence, universal, context) = (
            V_ASN1_INTEGER, V_ASN1_SEQUENCE, V_ASN1_UNIVERSAL, V_ASN1_CONTEXT_SPECIFIC
        )
        let long = [UInt8](repeating: 5, count: 0x80)
        let cases: [(der: [UInt8], tag: CInt, class: CInt, contents: Int?)] = [
            ([2, 1, 5], integer, universal, 1), ([2, 1, 5], V_ASN1_BOOLEAN, universal, nil),
            ([2, 1, 5], integer, context, nil), ([0x82, 1, 5], integer, universal, nil),
            ([0x30, 0], sequence, universal, 0), ([0x10, 0], sequence, universal, nil),
            ([0x22, 1, 5], integer, universal, nil),
            ([0xA2, 0], 2, context, 0), ([0x82, 0], 2, context, nil),
            ([0x30, 0x80, 0, 0], sequence, universal, nil),
            ([2, 0x81, 1, 5], integer, universal, nil), ([2, 0x82, 0, 1, 5], integer, universal, nil),
            ([2, 0x81, 0x7F] + long.dropFirst(), integer, universal, nil),
            ([2, 0x7F] + long.dropFirst(), integer, universal, 0x7F),
            ([2, 0x81, 0x80] + long, integer, universal, 0x80),
            ([2, 0x82, 0, 0x80] + long, integer, universal, nil),
            ([2, 2, 5], integer, universal, nil), ([2], integer, universal, nil),
            ([], integer, universal, nil),
        ]
        for (der, tag, kind, contents) in cases {
            var walk = DERWalk(der)
            let element = walk.skip(tag, class: kind)
            #expect(element?.contents.count == contents, "\(der.prefix(5))")
            #expect(walk.position == (contents == nil ? 0 : der.count))
            #expect(element == nil || element?.whole == 0..<der.count)
        }
    }

    @Test("A context-specific tag and another class differ from the universal tag with the same number")
    func tags() {
        #expect(DERElement([2, 1, 5])?.tag == .universal(2))
        #expect(DERElement([0x82, 1, 5])?.tag == .context(2))
        #expect(DERElement([0x42, 1, 5])?.tag == .other)
        #expect(DERElement([6, 1, 0x2A])?.objectIdentifier == "1.2")
        #expect(DERElement([0x86, 1, 0x2A])?.objectIdentifier == nil)
    }

    @Test("An object identifier that is too long for its text has no text")
    func longIdentifiers() {
        func dotted(_ components: Int) -> String? {
            let contents = [0x2A] + [UInt8](repeating: 1, count: components)
            let length: [UInt8] =
                contents.count < 0x80
                ? [UInt8(contents.count)] : [0x82, UInt8(contents.count >> 8), UInt8(contents.count & 0xFF)]
            return ObjectIdentifierName.dotted(encoded: [6] + length + contents)
        }
        // "1.2", then ".1" for each component; the text has at most 511 characters.
        #expect(dotted(254)?.utf8.count == 511)
        #expect(dotted(255) == nil && dotted(400) == nil)
    }

    @Test("The code of an error is that of the oldest entry, and discarding empties the queue")
    func queue() throws {
        func fail() {
            ERR_clear_error()
            unsafe _ = EVP_MD_fetch(nil, "no digest", nil)
            unsafe _ = EVP_PKEY_CTX_new_from_name(nil, "no key", nil)
            let bytes: [UInt8] = [0x30, 0x01, 0x00]
            unsafe bytes.withUnsafeBufferPointer { buffer in
                var cursor = buffer.baseAddress
                unsafe _ = d2i_X509(nil, &cursor, buffer.count)
            }
        }
        fail()
        let error = OpenSSLError.draining("testing")
        let (first, last) = (try #require(error.queue.first), try #require(error.queue.last))
        #expect(first.code != last.code && error.code == first.code)
        let (library, reason) = (CInt(last.code >> 23 & 0xFF), CInt(last.code & 0x7F_FFFF))
        #expect(library == ERR_LIB_ASN1)
        #expect(last.is(library, reason))
        #expect(!last.is(library + 1, reason) && !last.is(library, reason + 1))
        fail()
        OpenSSLError.discardQueue()
        #expect(OpenSSLError.draining("testing").queue.isEmpty)
    }
}
