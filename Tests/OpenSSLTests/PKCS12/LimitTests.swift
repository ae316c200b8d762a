@testable import OpenSSL
import SwiftASN1
import Testing

/// Each of these files would hold a core for minutes, or forever, if its work were begun.
@Suite("A PKCS #12 file that asks for too much", .timeLimit(.minutes(1)))
struct LimitTests {
    private let password = PKCS12Password.text(FileBuilder.password)
    private let first = FileBuilder.first

    @Test(
        "is refused before the derivation: in the MAC, in a safe, in a key, in a key inside a safe",
        arguments: [0, -1, 2_000_001, 2_147_483_647, Int.min, Int.max])
    func iterations(count: Int) throws {
        let bag = try FileBuilder.bag(certificate: first.certificate)
        let bomb = try FileBuilder.encrypt(first.key.pkcs8(), claiming: count)
        for bytes in try [
            FileBuilder.file([FileBuilder.safe([bag])], mac: .claiming(count)),
            FileBuilder.file([FileBuilder.encryptedSafe(bomb)]),
            FileBuilder.file([FileBuilder.safe([FileBuilder.bag(key: bomb)])]),
            FileBuilder.file([FileBuilder.encryptedSafe([FileBuilder.bag(key: bomb)])]),
        ] {
            let report = PKCS12.inspect(bytes, password: password)
            #expect(report.error == PKCS12Error(.refused(limit: .iterations)))
            #expect(report.message.contains("2000000"))
        }
    }

    @Test("is refused when the counts add up to too much, whatever the password")
    func totalIterations() throws {
        let bomb = try FileBuilder.encrypt(first.key.pkcs8(), claiming: 2_000_000)
        let keys = try [FileBuilder.bag(key: bomb), FileBuilder.bag(key: bomb), FileBuilder.bag(key: bomb)]
        for bytes in try [
            FileBuilder.file([FileBuilder.safe(keys)]), FileBuilder.file([FileBuilder.encryptedSafe(keys)]),
        ] {
            let report = PKCS12.inspect(bytes, password: password)
            #expect(report.error == PKCS12Error(.refused(limit: .totalIterations)))
        }
    }

    @Test("is refused when scrypt is to take too much memory or time, or has impossible parameters")
    func scrypt() throws {
        for (cost, blockSize, parallelization) in [
            (1 << 20, 8, 1), (1 << 14, 1 << 20, 1), (1 << 10, 1, 1 << 20), (3, 1, 1), (1, 1, 1), (-2, 1, 1),
            (1 << 14, 0, 1), (Int.max, Int.max, Int.max),
        ] {
            let layer = try FileBuilder.layer { coder in
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
                            try cipher.objectIdentifier("2.16.840.1.101.3.4.1.42")
                            try cipher.octets([UInt8](repeating: 0, count: 16))
                        }
                    }
                }
            }
            let report = PKCS12.inspect(
                try FileBuilder.file([FileBuilder.encryptedSafe(layer)]), password: password)
            #expect(report.error == PKCS12Error(.refused(limit: .scrypt)), "\(cost) \(blockSize)")
        }
    }

    @Test("is refused for its size, its number of safes and its number of bags, and not one before")
    func counts() throws {
        var limits = PKCS12Limits.standard
        let bag = try FileBuilder.bag(certificate: first.certificate)
        let safe = try FileBuilder.safe([])
        #expect(verdict(try FileBuilder.file(Array(repeating: safe, count: 32))) == nil)
        #expect(verdict(try FileBuilder.file(Array(repeating: safe, count: 33))) == .safes)
        let bags = try [
            FileBuilder.safe(Array(repeating: bag, count: 32)),
            FileBuilder.safe(Array(repeating: bag, count: 32)),
        ]
        #expect(verdict(try FileBuilder.file(bags)) == nil)
        #expect(verdict(try FileBuilder.file(bags + [FileBuilder.safe([bag])])) == .bags)
        #expect(verdict(try FileBuilder.file(bags + [FileBuilder.encryptedSafe([bag])])) == .bags)
        let file = try FileBuilder.file([safe])
        limits.fileSize = file.count
        #expect(verdict(file, limits) == nil)
        limits.fileSize -= 1
        #expect(verdict(file, limits) == .fileSize)
        #expect(verdict([UInt8](repeating: 0x30, count: (1 << 20) + 1)) == .fileSize)
    }

    @Test("is refused for safe contents three deep inside safe contents")
    func nesting() throws {
        var contents = try FileBuilder.contents([])
        for depth in 1...3 {
            contents = try FileBuilder.contents([FileBuilder.bag(OID.safeContentsBag, value: contents)])
            let data = contents
            let bytes = try FileBuilder.file([ASN1.encoded { try $0.appendData(data) }])
            #expect(verdict(bytes) == (depth <= 2 ? nil : .nesting))
        }
    }

    @Test("is refused as malformed when it is nothing but tags, a mebibyte of them")
    func deepTags() {
        for pattern: [UInt8] in [[0x30, 0x80], [0x30, 0x00], [0x24, 0x80], [0x04, 0x00], [0x00]] {
            let bytes = [0x30, 0x80] + Array(repeatElement(pattern, count: (1 << 19) - 2).joined())
            #expect(PKCS12.inspect(bytes, password: password).verdict == .malformed)
        }
    }

    private func verdict(_ bytes: [UInt8], _ limits: PKCS12Limits = .standard) -> PKCS12Limit? {
        switch PKCS12.inspect(bytes, password: password, limits: limits).error?.code {
        case .refused(let limit): limit
        default: nil
        }
    }
}
