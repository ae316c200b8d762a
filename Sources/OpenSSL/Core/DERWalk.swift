internal import COpenSSL

/// A cursor over DER that moves from element to element and decodes only headers (`ASN1_get_object`).
///
/// A length must be definite and in its shortest form, as DER requires (Rec. ITU-T X.690, 10.1).
struct DERWalk {
    /// The position of an element in the DER, as ranges of offsets: with its header (`whole`), and without
    /// (`contents`).
    struct Element {
        let whole: Range<Int>
        let contents: Range<Int>
    }

    private let der: [UInt8]
    private let end: Int
    /// The offset of the next element.
    private(set) var position: Int

    /// Creates a cursor over `range` of `der`, or over all of `der` if `range` is nil.
    init(_ der: [UInt8], in range: Range<Int>? = nil) {
        self.der = der
        position = range?.lowerBound ?? 0
        end = range?.upperBound ?? der.count
    }

    /// Whether the cursor is after the last element.
    var isAtEnd: Bool { position == end }

    /// Moves past the next element and returns its position. Returns nil without moving if that element has a different
    /// tag or class, or if no element is left.
    mutating func skip(_ tag: CInt, class kind: CInt = V_ASN1_UNIVERSAL) -> Element? {
        let mustBeConstructed = tag == V_ASN1_SEQUENCE || kind != V_ASN1_UNIVERSAL
        return skip { $0 == tag && $1 == kind && $2 == mustBeConstructed }
    }

    /// Moves past the next element, which may have any tag below 31, and returns its position. Returns nil without
    /// moving if there is none.
    mutating func skipAny() -> Element? { skip { _, _, _ in true } }

    /// - Parameter isWanted: Whether to accept an element with a tag and a class, and whether it is constructed.
    private mutating func skip(_ isWanted: (CInt, CInt, Bool) -> Bool) -> Element? {
        guard let element = next(isWanted) else { return nil }
        position = element.whole.upperBound
        return element
    }

    private func next(_ isWanted: (CInt, CInt, Bool) -> Bool) -> Element? {
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
            guard flags & 0x81 == 0, isWanted(foundTag, foundClass, flags & V_ASN1_CONSTRUCTED != 0),
                let cursor = unsafe cursor
            else { return nil }
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
