@testable import OpenSSL
import SecretMemory
import SwiftASN1
import TestSupport
import Testing

/// Files that would keep a processor busy for minutes or forever if the required work were started.
@Suite("Limits of PKCS #12 files", .timeLimit(.minutes(10)))
struct LimitTests {
    private let password = PKCS12Password.text(PKCS12Samples.password)
    private let first = PKCS12Samples.first

    @Test(
        "An impossible iteration count in a MAC, safe or key is rejected before the derivation",
        arguments: [0, -1, 2_000_001, 2_147_483_647, Int.min, Int.max])
    func iterations(count: Int) throws {
        let bag = try PKCS12Samples.bag(certificate: first.certificate)
        let bomb = try PKCS12Samples.encrypt(first.key.pkcs8(), claiming: count)
        for bytes in try [
            PKCS12Samples.file([PKCS12Samples.safe([bag])], mac: .claiming(count)),
            PKCS12Samples.file([PKCS12Samples.encryptedSafe(bomb)]),
            PKCS12Samples.file([PKCS12Samples.safe([PKCS12Samples.bag(key: bomb)])]),
            PKCS12Samples.file([PKCS12Samples.encryptedSafe([PKCS12Samples.bag(key: bomb)])]),
        ] {
            let report = PKCS12.inspect(bytes, password: password)
            #expect(report.error == PKCS12Error(.refused(limit: .iterations)))
            #expect(report.message.contains("2000000"))
        }
    }

    @Test("Key derivations that together require too much work are rejected, regardless of the password")
    func work() throws {
        let bomb = try PKCS12Samples.encrypt(first.key.pkcs8(), claiming: 2_000_000)
        let keys = try [[UInt8]](repeating: PKCS12Samples.bag(key: bomb), count: 5)
        for bytes in try [
            PKCS12Samples.file([PKCS12Samples.safe(keys)]),
            PKCS12Samples.file([PKCS12Samples.encryptedSafe(keys)]),
        ] {
            let report = PKCS12.inspect(bytes, password: password)
            #expect(report.error == PKCS12Error(.refused(limit: .work)))
            #expect(report.message.contains("2 s of processor time"))
        }
    }

    /// A layer under PBES2 with RC4, which accepts keys of any length, or with AES-256.
    private func layer(
        _ function: String, iterations: Int, keyLength: Int, cipher: String = "1.2.840.113549.3.4"
    ) throws -> [UInt8] {
        let layer = try PKCS12Samples.layer { coder in
            try coder.sequence { algorithm in
                try algorithm.objectIdentifier(OID.pbes2)
                try algorithm.sequence { parameters in
                    try parameters.sequence { derivation in
                        try derivation.objectIdentifier(OID.pbkdf2)
                        try derivation.sequence { values in
                            try values.octets([1, 2, 3, 4])
                            try values.serialize(iterations)
                            try values.serialize(keyLength)
                            try values.sequence { try $0.objectIdentifier(function) }
                        }
                    }
                    try parameters.sequence { scheme in
                        try scheme.objectIdentifier(cipher)
                        if cipher == OID.aes256CBC { try scheme.octets([UInt8](repeating: 0, count: 16)) }
                    }
                }
            }
        }
        return try PKCS12Samples.encryptedSafe(layer)
    }

    @Test(
        "The estimated work depends on the digest and the number of blocks, not only on the iterations"
    )
    func slowDigests() throws {
        let (sha1, sha3) = (OID.hmacSHA1, "2.16.840.1.101.3.4.2.13")
        let cases: [(function: String, iterations: Int, length: Int, verdict: PKCS12Limit?)] = [
            (sha3, 1_500_000, 16, .work), (sha3, 800_000, 32, .work), (sha3, 1_000, 32, nil),
            // Two blocks of 20 octets.
            (sha1, 2_000_000, 32, nil),
        ]
        for (function, iterations, length, expected) in cases {
            let safe = try layer(function, iterations: iterations, keyLength: length)
            let bytes = try PKCS12Samples.file([safe], mac: .none)
            let work = PKCS12Reader.visibleWork(bytes, limits: Self.patient)
            #expect((work > 2_000_000_000) == (expected == .work), "\(function) \(iterations) \(length)")
            // If a derivation is not rejected, the test only waits for it.
            if expected != nil { #expect(verdict(bytes) == expected) }
        }
    }

    /// Limits that no realistic file reaches.
    private static var patient: PKCS12Limits {
        var limits = PKCS12Limits.standard
        limits.patience = .seconds(3_600)
        return limits
    }

    @Test("Each derived block of a key or an initialization vector counts as work")
    func blocks() {
        let one = DerivationWork.pkcs12(digest: "SHA1", iterations: 1_000, lengths: [20])
        #expect(DerivationWork.pkcs12(digest: "SHA1", iterations: 1_000, lengths: [24, 8]) == 3 * one)
        #expect(DerivationWork.pkcs12(digest: "SHA1", iterations: 1_000, lengths: [5, 0]) == one)
        let hmac = DerivationWork.pbkdf2(digest: "SHA256", iterations: 1_000, length: 32)
        #expect(DerivationWork.pbkdf2(digest: "SHA256", iterations: 1_000, length: 33) == 2 * hmac)
        #expect(DerivationWork.pbkdf2(digest: "SHA3-224", iterations: 1_000, length: 28) > 3 * hmac)
        // scrypt with little memory consists almost entirely of PBKDF2.
        let scrypt = DerivationWork.scrypt(cost: 4, blockSize: 1, parallelization: 249_999)
        #expect(scrypt > 1_000_000_000)
    }

    @Test(
        "A key that is too long for the cipher or for the MAC's digest is rejected before any derivation"
    )
    func keyLengths() throws {
        for length in [33, 64, 128] {
            let safe = try layer(OID.hmacSHA1, iterations: 1, keyLength: length)
            #expect(PKCS12.inspect(try PKCS12Samples.file([safe]), password: password).verdict == .malformed)
        }
        let aes = try layer(OID.hmacSHA1, iterations: 1, keyLength: 33, cipher: OID.aes256CBC)
        #expect(PKCS12.inspect(try PKCS12Samples.file([aes]), password: password).verdict == .malformed)
    }

    @Test(
        "Another encoding of the password is tried only if its work fits in the remaining budget")
    func furtherForms() throws {
        // A password outside ASCII has three forms as octets.
        let typed = PKCS12Password.text(SecretBytes(utf8: "pässwörd"))
        let safe = try layer(OID.hmacSHA1, iterations: 1_000, keyLength: 20)
        let bytes = try PKCS12Samples.file([safe], mac: .none)
        var limits = PKCS12Limits.standard
        limits.patience = .nanoseconds(3 * 200_000)
        #expect(PKCS12.inspect(bytes, password: typed, limits: limits).verdict == .wrongPassword)
        limits.patience -= .nanoseconds(1)
        #expect(verdict(bytes, limits, typed) == .work)
    }

    @Test("The work budget for every possible password encoding is reserved before the first MAC derivation")
    func formsOfMAC() throws {
        // PBMAC1 requires two forms of an ASCII password, with 1,000 iterations of HMAC-SHA-256 for each.
        let work = DerivationWork.pbkdf2(digest: "SHA256", iterations: 1_000, length: 32)
        let bytes = try PKCS12Samples.written(PKCS12Profile(.pbmac1).iterations(1_000))
        var limits = PKCS12Limits.standard
        // The two layers of the file require as much work as the MAC.
        limits.patience = .nanoseconds(4 * work)
        #expect(PKCS12.inspect(bytes, password: password, limits: limits).verdict == .ok)
        limits.patience -= .nanoseconds(1)
        #expect(verdict(bytes, limits) == .work)
    }

    @Test("Work that was reserved for unused password encodings is available to the rest of the file")
    func givenBack() throws {
        let work = DerivationWork.pbkdf2(digest: "SHA256", iterations: 1_000, length: 32)
        // The layer of the key is visible after the safe around it is open.
        let profile = PKCS12Profile(.pbmac1).iterations(1_000)
        let builder = PKCS12FileBuilder(profile)
        let key = try builder.encrypt(first.key.pkcs8(), .pbes2(), password: PKCS12Samples.password)
        let contents = try PKCS12Samples.contents([PKCS12Samples.bag(key: key)])
        let safe = try builder.encrypt(SecretBytes(contents), .pbes2(), password: PKCS12Samples.password)
        let message = try PKCS12FileBuilder.authenticatedSafe([PKCS12Samples.encryptedSafe(safe)])
        let bytes = try PKCS12FileBuilder.file(
            message, mac: builder.authenticate(message, password: PKCS12Samples.password))
        var limits = PKCS12Limits.standard
        limits.patience = .nanoseconds(3 * work)
        #expect(PKCS12.inspect(bytes, password: password, limits: limits).verdict == .ok)
        let budget = ArchiveBudget(patience: .nanoseconds(3 * work))
        let share = try budget.share(for: bytes, limits: limits)
        #expect(try PKCS12.read(bytes, password: password, limits: limits, share: share).keys.count == 1)
    }

    @Test(
        "The files of an archive share one budget in archive order, regardless of the order in which they are read"
    )
    func archive() throws {
        let safe = try layer(OID.hmacSHA1, iterations: 1_000, keyLength: 20)
        let file = try PKCS12Samples.file([safe], mac: .none)
        let budget = ArchiveBudget(patience: .nanoseconds(3 * 200_000 + 1))
        let shares = try (0..<3).map { _ in try budget.share(for: file, limits: .standard) }
        #expect(throws: PKCS12Error(.refused(limit: .work))) {
            try budget.share(for: file, limits: .standard)
        }
        // A file that requires no work has an empty share.
        _ = try budget.share(for: [1], limits: .standard)
        // The reserved work is available although the archive's budget is used up.
        for share in shares.reversed() {
            #expect(throws: PKCS12Error(.wrongPassword)) {
                try PKCS12.read(file, password: .absent, allowNoMAC: true, share: share)
            }
        }
        let inner = try PKCS12Samples.file([
            PKCS12Samples.encryptedSafe([
                PKCS12Samples.bag(key: PKCS12Samples.encrypt(first.key.pkcs8(), claiming: 2_000))
            ])
        ])
        let small = ArchiveBudget(patience: .nanoseconds(300_000))
        let share = try small.share(for: inner, limits: .standard)
        #expect(throws: PKCS12Error(.refused(limit: .work))) {
            try PKCS12.read(inner, password: password, share: share)
        }
    }

    @Test("Parameters of scrypt that are impossible or require too much memory or time are rejected")
    func scrypt() throws {
        for (cost, blockSize, parallelization) in [
            (1 << 20, 8, 1), (1 << 14, 1 << 20, 1), (1 << 10, 1, 1 << 20), (3, 1, 1), (1, 1, 1), (-2, 1, 1),
            (1 << 14, 0, 1), (Int.max, Int.max, Int.max),
        ] {
            let layer = try PKCS12Samples.layer { coder in
                try coder.sequence { algorithm in
                    try algorithm.objectIdentifier(OID.pbes2)
                    try algorithm.sequence { parameters in
                        try parameters.sequence { derivation in
                            try derivation.objectIdentifier(OID.scrypt)
                            try derivation.sequence { values in
                                try values.octets([1, 2, 3, 4])
                                try values.serialize(cost)
                                try values.serialize(blockSize)
                                try values.serialize(parallelization)
                            }
                        }
                        try parameters.sequence { cipher in
                            try cipher.objectIdentifier(OID.aes256CBC)
                            try cipher.octets([UInt8](repeating: 0, count: 16))
                        }
                    }
                }
            }
            let report = PKCS12.inspect(
                try PKCS12Samples.file([PKCS12Samples.encryptedSafe(layer)]), password: password)
            #expect(report.error == PKCS12Error(.refused(limit: .scrypt)), "\(cost) \(blockSize)")
        }
    }

    @Test("A file is rejected if it exceeds a limit by one byte, one safe or one bag")
    func counts() throws {
        var limits = PKCS12Limits.standard
        let bag = try PKCS12Samples.bag(certificate: first.certificate)
        let safe = try PKCS12Samples.safe([])
        #expect(verdict(try PKCS12Samples.file(Array(repeating: safe, count: 32))) == nil)
        #expect(verdict(try PKCS12Samples.file(Array(repeating: safe, count: 33))) == .safes)
        let bags = try [
            PKCS12Samples.safe(Array(repeating: bag, count: 32)),
            PKCS12Samples.safe(Array(repeating: bag, count: 32)),
        ]
        #expect(verdict(try PKCS12Samples.file(bags)) == nil)
        #expect(verdict(try PKCS12Samples.file(bags + [PKCS12Samples.safe([bag])])) == .bags)
        #expect(verdict(try PKCS12Samples.file(bags + [PKCS12Samples.encryptedSafe([bag])])) == .bags)
        let file = try PKCS12Samples.file([safe])
        limits.fileSize = file.count
        #expect(verdict(file, limits) == nil)
        limits.fileSize -= 1
        #expect(verdict(file, limits) == .fileSize)
        #expect(verdict([UInt8](repeating: 0x30, count: (1 << 20) + 1)) == .fileSize)
    }

    @Test(
        "A file that consists of very many ASN.1 objects is refused before it is parsed",
        arguments: [false, true])
    func objects(areTooMany: Bool) throws {
        let nulls = [[UInt8]](repeating: [5, 0], count: areTooMany ? 20_000 : 19_900).flatMap(\.self)
        let value = try ASN1.encoded { coder in
            coder.appendConstructedNode(identifier: .sequence) { $0.serializeRawBytes(nulls) }
        }
        let bytes = try PKCS12Samples.file([
            PKCS12Samples.safe([PKCS12Samples.bag("1.2.3.5", value: value)])
        ])
        #expect(verdict(bytes) == (areTooMany ? .objects : nil))
    }

    @Test("The limit on objects applies to the contents of an encrypted key", arguments: [false, true])
    func objectsOfKey(areTooMany: Bool) throws {
        let nulls = [[UInt8]](repeating: [5, 0], count: areTooMany ? 20_000 : 19_900).flatMap(\.self)
        let info = try ASN1.encoded { coder in
            try coder.sequence { info in
                try info.serialize(0)
                try info.sequence { try $0.objectIdentifier("2.16.840.1.101.3.4.3.17") }
                try info.octets([1, 2, 3])
                info.appendConstructedNode(identifier: .context(0)) { $0.serializeRawBytes(nulls) }
            }
        }
        let key = try PKCS12Samples.bag(key: PKCS12Samples.encrypt(SecretBytes(info)))
        let contents = try PKCS12.read(
            PKCS12Samples.file([PKCS12Samples.safe([key])]), password: password)
        #expect(contents.unknownKeys.count == (areTooMany ? 0 : 1))
        #expect(contents.unreadableKeys.count == (areTooMany ? 1 : 0))
    }

    @Test("A file is malformed if it has a tag number that OpenSSL rejects, however many objects follow it")
    func hugeTagNumber() throws {
        // The primitive tag [2^32], without contents.
        let tag: [UInt8] = [0x9F, 0x90, 0x80, 0x80, 0x80, 0, 0]
        for count in [0, 20_000] {
            let objects = tag + [[UInt8]](repeating: [5, 0], count: count).flatMap(\.self)
            let value = try ASN1.encoded { coder in
                coder.appendConstructedNode(identifier: .sequence) { $0.serializeRawBytes(objects) }
            }
            let bytes = try PKCS12Samples.file([
                PKCS12Samples.safe([PKCS12Samples.bag("1.2.3.5", value: value)])
            ])
            #expect(PKCS12.inspect(bytes, password: password).verdict == .malformed, "\(count)")
        }
    }

    @Test("The objects of all certificates of a file are counted together, with those inside extensions")
    func objectsOfCertificates() throws {
        /// A bag whose certificate consists of one extension with `count` names.
        func bag(_ count: Int) throws -> [UInt8] {
            let names = [[UInt8]](repeating: [0x82, 1, 0x61], count: count).flatMap(\.self)
            let value = try ASN1.encoded { coder in
                coder.appendConstructedNode(identifier: .sequence) { $0.serializeRawBytes(names) }
            }
            return try PKCS12FileBuilder.certificateBag(
                ASN1.encoded { coder in try coder.sequence { try $0.octets(value) } })
        }
        for (first, second, expected) in [
            (19_900, 0, nil), (20_000, 0, .objects), (10_000, 9_900, nil), (10_000, 10_000, .objects),
        ] as [(Int, Int, PKCS12Limit?)] {
            let bytes = try PKCS12Samples.file([
                PKCS12Samples.safe([bag(first)]), PKCS12Samples.encryptedSafe([bag(second)]),
            ])
            #expect(verdict(bytes) == expected, "\(first) \(second)")
        }
        var limits = PKCS12Limits.standard
        limits.bags *= 2
        #expect(verdict(try PKCS12Samples.file([PKCS12Samples.safe([bag(20_000)])]), limits) == nil)
    }

    @Test("The attributes of all bags of a file, encrypted or not, are counted together")
    func attributes() throws {
        func bag(_ count: Int) throws -> [UInt8] {
            let attributes = try ASN1.encoded { coder in
                try coder.appendConstructedNode(identifier: .set) { set in
                    for _ in 0..<count { try set.sequence { try $0.objectIdentifier("1.2.3") } }
                }
            }
            return try PKCS12Samples.bag("1.2.3.5", value: [5, 0], attributes: attributes)
        }
        for (first, second, expected) in [
            (1_000, 0, nil), (1_001, 0, .attributes), (500, 500, nil), (500, 501, .attributes),
        ] as [(Int, Int, PKCS12Limit?)] {
            let bytes = try PKCS12Samples.file([
                PKCS12Samples.safe([bag(first)]), PKCS12Samples.encryptedSafe([bag(second)]),
            ])
            #expect(verdict(bytes) == expected, "\(first) \(second)")
        }
    }

    @Test("If a file exceeds a limit and its MAC has an unknown digest, the limit is reported")
    func refusalAfterUnknownDigest() throws {
        let safe = try PKCS12Samples.safe([])
        for count in [32, 33] {
            var bytes = try PKCS12Samples.file(Array(repeating: safe, count: count))
            let digests: [[UInt8]] = [
                [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01], [0x2B, 0x0E, 0x03, 0x02, 0x1A],
            ]
            let place = try #require(digests.compactMap { bytes.firstRange(of: $0) }.first)
            bytes[place.upperBound - 1] = 0x7F
            let code = PKCS12.inspect(bytes, password: password).error?.code
            if count == 33 {
                #expect(code == .refused(limit: .safes))
            } else if case .unsupportedAlgorithm = code {
            } else {
                Issue.record("\(String(describing: code))")
            }
        }
    }

    @Test("A file whose version is not 3 is malformed")
    func versions() throws {
        let file = try PKCS12Samples.file([PKCS12Samples.safe([])])
        let place = try #require(file.firstRange(of: [0x02, 0x01, 0x03])).upperBound - 1
        for version in [UInt8(0), 2, 4] {
            var bytes = file
            bytes[place] = version
            #expect(PKCS12.inspect(bytes, password: password).verdict == .malformed)
        }
    }

    @Test("Safe contents are accepted two levels deep and rejected three levels deep")
    func nesting() throws {
        var contents = try PKCS12Samples.contents([])
        for depth in 1...3 {
            contents = try PKCS12Samples.contents([PKCS12Samples.bag(OID.safeContentsBag, value: contents)])
            let data = contents
            let bytes = try PKCS12Samples.file([ASN1.encoded { try $0.appendData(data) }])
            #expect(verdict(bytes) == (depth <= 2 ? nil : .nesting))
        }
    }

    @Test("A file with one mebibyte of nested tags is malformed and does not overflow a parser's stack")
    func deepTags() {
        for pattern: [UInt8] in [[0x30, 0x80], [0x30, 0x00], [0x24, 0x80], [0x04, 0x00], [0x00]] {
            let bytes = [0x30, 0x80] + Array(repeatElement(pattern, count: (1 << 19) - 2).joined())
            #expect(PKCS12.inspect(bytes, password: password).verdict == .malformed)
        }
    }

    private func verdict(
        _ bytes: [UInt8], _ limits: PKCS12Limits = .standard, _ typed: PKCS12Password? = nil
    ) -> PKCS12Limit? {
        switch PKCS12.inspect(bytes, password: typed ?? password, limits: limits).error?.code {
        case .refused(let limit): limit
        default: nil
        }
    }
}
