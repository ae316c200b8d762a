internal import COpenSSL

/// A cursor over DER that moves from element to element and decodes only headers (`ASN1_get_object`).
///
/// A length must be definite and in its shortest form, as DER requires (Rec. ITU-T X.690, 10.1).
struct DERWalk {
    /// One element.
    struct Element {
        let whole: Range<Int>
        let contents: Range<Int>
    }

    private let der: [UInt8]
    private let end: Int
    /// The offset of the next element.
    private(set) var position: Int

    /// Creates a cursor over all of `der`, or over a range of it.
    init(_ der: [UInt8], in range: Range<Int>? = nil) {
        self.der = der
        position = range?.lowerBound ?? 0
        end = range?.upperBound ?? der.count
    }

    /// Whether no element is left.
    var isAtEnd: Bool { position == end }

    /// Moves past an element of this type. Returns nil without moving if the next element has another type or does not
    /// exist.
    mutating func skip(_ tag: CInt, class kind: CInt = V_ASN1_UNIVERSAL) -> Element? {
        guard let element = next(tag, kind) else { return nil }
        position = element.whole.upperBound
        return element
    }

    private func next(_ tag: CInt, _ kind: CInt) -> Element? {
        guard position < end else { return nil }
        let start = position
        let end = end
        return unsafe der.withUnsafeBufferPointer { bytes in
            guard let base = bytes.baseAddress else { return nil }
            var cursor: UnsafePointer<UInt8>? = unsafe base + start
            var length = 0
            var foundTag: CInt = 0
            var foundClass: CInt = 0
            let flags = unsafe ASN1_get_object(&cursor, &length, &foundTag, &foundClass, end - start)
            // 0x80 is an error, 0x01 an indefinite length.
            guard flags & 0x81 == 0, foundTag == tag, foundClass == kind, let cursor = unsafe cursor else {
                return nil
            }
            let isConstructed = flags & V_ASN1_CONSTRUCTED != 0
            guard isConstructed == (tag == V_ASN1_SEQUENCE || kind != V_ASN1_UNIVERSAL) else { return nil }
            let contents = unsafe cursor - base
            guard contents - start == Self.headerLength(of: length) else { return nil }
            return Element(whole: start..<contents + length, contents: contents..<contents + length)
        }
    }

    /// The number of octets in the shortest header of an element with `length` octets and a tag below 31.
    private static func headerLength(of length: Int) -> Int {
        length < 0x80 ? 2 : 2 + (Int.bitWidth - length.leadingZeroBitCount + 7) / 8
    }
}
