@testable import OpenSSL
import SwiftASN1
import TestSupport
import Testing

/// Files that would keep a processor busy for minutes, or for ever, if the work that they ask for were begun.
@Suite("Limits of PKCS #12 files", .timeLimit(.minutes(1)))
struct LimitTests {
    private let password = PKCS12Password.text(PKCS12Samples.password)
    private let first = PKCS12Samples.first

    @Test(
        "An impossible iteration count is refused before the derivation, in MAC, safe and key",
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

    @Test("Iteration counts that add up to too much are refused, whatever the password")
    func totalIterations() throws {
        let bomb = try PKCS12Samples.encrypt(first.key.pkcs8(), claiming: 2_000_000)
        let keys = try [
            PKCS12Samples.bag(key: bomb), PKCS12Samples.bag(key: bomb), PKCS12Samples.bag(key: bomb),
        ]
        for bytes in try [
            PKCS12Samples.file([PKCS12Samples.safe(keys)]),
            PKCS12Samples.file([PKCS12Samples.encryptedSafe(keys)]),
        ] {
            let report = PKCS12.inspect(bytes, password: password)
            #expect(report.error == PKCS12Error(.refused(limit: .totalIterations)))
        }
    }

    @Test("Parameters of scrypt that are impossible or take too much memory or time are refused")
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

    @Test("A file is refused for one byte, one safe or one bag more than the limit")
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

    @Test("Safe contents are accepted two levels deep and refused three levels deep")
    func nesting() throws {
        var contents = try PKCS12Samples.contents([])
        for depth in 1...3 {
            contents = try PKCS12Samples.contents([PKCS12Samples.bag(OID.safeContentsBag, value: contents)])
            let data = contents
            let bytes = try PKCS12Samples.file([ASN1.encoded { try $0.appendData(data) }])
            #expect(verdict(bytes) == (depth <= 2 ? nil : .nesting))
        }
    }

    @Test("A mebibyte of nothing but tags is malformed, and no parser overflows the stack")
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
