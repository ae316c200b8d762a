/// SHA-1 and SHA-2 (FIPS 180-4).
///
/// The module must not load a cryptographic library into other programs, and glibc has no digest functions.
package struct MessageDigest: Sendable {
    /// The algorithms. The raw values identify them in saved digest states.
    package enum Algorithm: UInt8, Sendable, CaseIterable {
        case sha1 = 1
        case sha224, sha256, sha384, sha512

        /// The length of the digest in bytes.
        package var length: Int {
            switch self {
            case .sha1: 20
            case .sha224: 28
            case .sha256: 32
            case .sha384: 48
            case .sha512: 64
            }
        }

        fileprivate var blockLength: Int { isWide ? 128 : 64 }
        fileprivate var isWide: Bool { self == .sha384 || self == .sha512 }

        fileprivate var initialState: [UInt64] {
            switch self {
            case .sha1: [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0]
            case .sha224: MessageDigest.initialSHA384.map { $0 & 0xffff_ffff }
            case .sha256: MessageDigest.initialSHA512.map { $0 >> 32 }
            case .sha384: MessageDigest.initialSHA384
            case .sha512: MessageDigest.initialSHA512
            }
        }
    }

    /// The algorithm of the digest.
    package let algorithm: Algorithm
    /// The chaining value. The words of SHA-1, SHA-224 and SHA-256 use the lower 32 bits.
    private var state: [UInt64]
    /// The bytes of the last, incomplete block.
    private var pending: [UInt8] = []
    /// The number of bytes so far.
    private var count: UInt64 = 0

    /// Begins a digest.
    package init(_ algorithm: Algorithm) {
        self.algorithm = algorithm
        state = algorithm.initialState
    }

    /// Returns the digest of a whole message.
    package static func digest(_ algorithm: Algorithm, of message: [UInt8]) -> [UInt8] {
        var digest = MessageDigest(algorithm)
        unsafe message.withUnsafeBytes { unsafe digest.update($0) }
        return digest.finalized()
    }

    /// Adds a part of the message.
    package mutating func update(_ part: UnsafeRawBufferPointer) {
        count &+= UInt64(part.count)
        let length = algorithm.blockLength
        var start = 0
        if !pending.isEmpty {
            start = min(length - pending.count, part.count)
            unsafe pending.append(contentsOf: part[..<start])
            guard pending.count == length else { return }
            let block = pending
            unsafe block.withUnsafeBytes { unsafe compress($0) }
            pending.removeAll(keepingCapacity: true)
        }
        while part.count - start >= length {
            unsafe compress(UnsafeRawBufferPointer(rebasing: part[start..<start + length]))
            start += length
        }
        unsafe pending.append(contentsOf: part[start...])
    }

    /// Returns the digest of the parts so far.
    package func finalized() -> [UInt8] {
        var last = self
        let (length, lengthField) = (algorithm.blockLength, algorithm.blockLength / 8)
        let used = (pending.count + 1 + lengthField) % length
        var padding: [UInt8] = [0x80]
        padding += [UInt8](repeating: 0, count: (length - used) % length + lengthField - 8)
        padding += Self.bytes(of: count &* 8, 8)
        unsafe padding.withUnsafeBytes { unsafe last.update($0) }
        let words = last.state.flatMap { Self.bytes(of: $0, algorithm.isWide ? 8 : 4) }
        return Array(words.prefix(algorithm.length))
    }

    private static func bytes(of word: UInt64, _ count: Int) -> [UInt8] {
        stride(from: 8 * count - 8, through: 0, by: -8).map { UInt8(truncatingIfNeeded: word >> UInt64($0)) }
    }
}

// MARK: - Saving

extension MessageDigest {
    /// The state of the digest, from which ``init(saved:)`` continues.
    package var saved: [UInt8] {
        [algorithm.rawValue] + Self.bytes(of: count, 8) + state.flatMap { Self.bytes(of: $0, 8) } + pending
    }

    /// Continues a saved digest. Returns nil if the bytes are not a valid value of ``saved``.
    package init?(saved bytes: [UInt8]) {
        guard let algorithm = bytes.first.flatMap(Algorithm.init) else { return nil }
        let words = algorithm.initialState.count
        guard bytes.count >= 9 + 8 * words else { return nil }
        func word(_ place: Int) -> UInt64 {
            bytes[place..<place + 8].reduce(0) { $0 << 8 | UInt64($1) }
        }
        self.init(algorithm)
        count = word(1)
        state = (0..<words).map { word(9 + 8 * $0) }
        pending = Array(bytes[(9 + 8 * words)...])
        let isNarrow = state.allSatisfy { $0 <= UInt32.max }
        guard pending.count == Int(count % UInt64(algorithm.blockLength)), isNarrow || algorithm.isWide
        else { return nil }
    }
}

// MARK: - Block functions

extension MessageDigest {
    private mutating func compress(_ block: UnsafeRawBufferPointer) {
        switch algorithm {
        case .sha1: unsafe compressSHA1(block)
        case .sha224, .sha256:
            let narrow = SigmaCounts<UInt32>(
                early: (7, 18, 3), late: (17, 19, 10), a: (2, 13, 22), e: (6, 11, 25))
            unsafe compress(block, narrow, rounds: 64) { UInt32(truncatingIfNeeded: $0 >> 32) }
        case .sha384, .sha512:
            let wide = SigmaCounts<UInt64>(
                early: (1, 8, 7), late: (19, 61, 6), a: (28, 34, 39), e: (14, 18, 41))
            unsafe compress(block, wide, rounds: 80) { $0 }
        }
    }

    /// The rotation counts. The last count of `early` and `late` is a shift (FIPS 180-4, 4.1.2 and 4.1.3).
    private struct SigmaCounts<Word> {
        typealias Three = (Word, Word, Word)
        let early: Three
        let late: Three
        let a: Three
        let e: Three
    }

    private static func words<Word: FixedWidthInteger & UnsignedInteger>(
        _ block: UnsafeRawBufferPointer, rounds: Int
    ) -> [Word] {
        var words: [Word] = []
        words.reserveCapacity(rounds)
        for place in 0..<16 {
            let offset = place * MemoryLayout<Word>.size
            words.append(Word(bigEndian: unsafe block.loadUnaligned(fromByteOffset: offset, as: Word.self)))
        }
        return words
    }

    @inline(__always)
    private static func rotate<Word: FixedWidthInteger & UnsignedInteger>(_ word: Word, _ count: Word) -> Word
    {
        word &>> count | word &<< (Word(Word.bitWidth) &- count)
    }

    @inline(__always)
    private static func rotated<Word: FixedWidthInteger & UnsignedInteger>(
        _ word: Word, _ counts: (Word, Word, Word)
    ) -> Word {
        rotate(word, counts.0) ^ rotate(word, counts.1) ^ rotate(word, counts.2)
    }

    /// SHA-2 (FIPS 180-4, 6.2.2 and 6.4.2).
    @inline(__always)
    private mutating func compress<Word: FixedWidthInteger & UnsignedInteger>(
        _ block: UnsafeRawBufferPointer, _ counts: SigmaCounts<Word>, rounds: Int, constant: (UInt64) -> Word
    ) {
        var words: [Word] = unsafe Self.words(block, rounds: rounds)
        for index in 16..<rounds {
            let (early, late) = (words[index - 15], words[index - 2])
            let first =
                Self.rotate(early, counts.early.0) ^ Self.rotate(early, counts.early.1)
                ^ (early &>> counts.early.2)
            let second =
                Self.rotate(late, counts.late.0) ^ Self.rotate(late, counts.late.1) ^ (late &>> counts.late.2)
            words.append(words[index - 16] &+ first &+ words[index - 7] &+ second)
        }
        let before = state.map { Word(truncatingIfNeeded: $0) }
        var (a, b, c, d) = (before[0], before[1], before[2], before[3])
        var (e, f, g, h) = (before[4], before[5], before[6], before[7])
        for index in 0..<rounds {
            let choice = (e & f) ^ (~e & g)
            let first =
                h &+ Self.rotated(e, counts.e) &+ choice &+ constant(Self.constants[index]) &+ words[index]
            let second = Self.rotated(a, counts.a) &+ ((a & b) ^ (a & c) ^ (b & c))
            (h, g, f, e, d, c, b, a) = (g, f, e, d &+ first, c, b, a, first &+ second)
        }
        for (place, value) in [a, b, c, d, e, f, g, h].enumerated() {
            state[place] = UInt64(before[place] &+ value)
        }
    }

    /// SHA-1 (FIPS 180-4, 6.1.2).
    private mutating func compressSHA1(_ block: UnsafeRawBufferPointer) {
        var words: [UInt32] = unsafe Self.words(block, rounds: 80)
        for index in 16..<80 {
            let mixed = words[index - 3] ^ words[index - 8] ^ words[index - 14] ^ words[index - 16]
            words.append(Self.rotate(mixed, 31))
        }
        let before = state.map { UInt32(truncatingIfNeeded: $0) }
        var (a, b, c, d, e) = (before[0], before[1], before[2], before[3], before[4])
        for index in 0..<80 {
            let (mixed, constant): (UInt32, UInt32) =
                switch index {
                case ..<20: ((b & c) ^ (~b & d), 0x5a82_7999)
                case ..<40: (b ^ c ^ d, 0x6ed9_eba1)
                case ..<60: ((b & c) ^ (b & d) ^ (c & d), 0x8f1b_bcdc)
                default: (b ^ c ^ d, 0xca62_c1d6)
                }
            let next = Self.rotate(a, 27) &+ mixed &+ e &+ constant &+ words[index]
            (e, d, c, b, a) = (d, c, Self.rotate(b, 2), a, next)
        }
        for (place, value) in [a, b, c, d, e].enumerated() { state[place] = UInt64(before[place] &+ value) }
    }
}
