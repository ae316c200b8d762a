import SecretMemory
import Foundation
@testable import OpenSSL
import SwiftASN1
import TestSupport
import Testing

@Suite("Keys that are expensive to load", .timeLimit(.minutes(10)))
struct CostlyKeyTests {
    private let password = PKCS12Password.text(PKCS12Samples.password)

    @Test(
        "A DSA key above the standard sizes is not loaded, and the error names its algorithm",
        arguments: [
            (3072, 256, true), (3080, 256, false), (16_384, 16_384, false), (2048, 320, false),
            (3072, 280, true), (3072, 288, false),
        ])
    func dsa(modulus: Int, exponent: Int, isLoaded: Bool) throws {
        let info = try PKCS12FileBuilder.dsaKey(modulus: modulus, exponent: exponent)
        let file = try PKCS12Samples.file(
            [PKCS12Samples.safe([PKCS12Samples.bag(OID.keyBag, value: info)])], mac: .none)
        let contents = PKCS12.inspect(file, password: password).contents
        #expect(contents.keys.map(\.privateKey.type) == (isLoaded ? [.dsa] : []))
        #expect(contents.unknownKeys.map(\.isRefused) == (isLoaded ? [] : [true]))
        #expect(contents.unknownKeys.allSatisfy { $0.algorithm == OID.dsa })
        guard !isLoaded else { return }
        #expect(throws: PKCS12Error(.refused(limit: .keyLoading))) { try contents.requireIdentities() }
        #expect(throws: CertificateError(.costlyKey(oid: OID.dsa), "")) {
            try PrivateKey(pkcs8: SecretBytes(info))
        }
    }

    @Test("A DSA key whose parameters cannot be parsed is not loaded")
    func damagedParameters() throws {
        let info = try PKCS12FileBuilder.dsaKey(modulus: 1024, exponent: 160)
        // The modulus claims to be longer than the parameters.
        let damaged = try #require(info.replacingFirst([0x02, 0x81, 0x81], with: [0x02, 0x82, 0x81]))
        #expect(throws: Never.self) { try PrivateKey(pkcs8: SecretBytes(info)) }
        #expect(throws: CertificateError(.costlyKey(oid: OID.dsa), "")) {
            try PrivateKey(pkcs8: SecretBytes(damaged))
        }
    }

    @Test("A key with parameters of more than 20,000 objects is not loaded", arguments: [20_000, 20_001])
    func manyObjects(count: Int) throws {
        let info = try ASN1.encoded { coder in
            try coder.sequence { info in
                info.appendPrimitiveNode(identifier: .integer) { $0 += [0] }
                try info.sequence { algorithm in
                    try algorithm.serialize(ASN1ObjectIdentifier(dotRepresentation: OID.dsa))
                    try algorithm.sequence { parameters in
                        // The sequence is an object, too.
                        for _ in 1..<count {
                            parameters.appendPrimitiveNode(identifier: .integer) { $0 += [1] }
                        }
                    }
                }
                try info.serialize(ASN1OctetString(contentBytes: [2, 1, 1]))
            }
        }
        let error = #expect(throws: CertificateError.self) { try PrivateKey(pkcs8: SecretBytes(info)) }
        #expect((error?.code == .costlyKey(oid: OID.dsa)) == (count > 20_000))
    }

    @Test("An RSA key with a public exponent above 256 bits is not loaded", arguments: [32, 33])
    func publicExponent(octets: Int) throws {
        let key = try PrivateKey.generate(.rsa(bits: 2048)).publicKey
        let numbers = try #require(RSANumbers(key.keyOctets))
        var serializer = DER.Serializer()
        let algorithm = try #require(DERElement(key.spki)?.children.first)
        try serializer.appendConstructedNode(identifier: .sequence) { serializer in
            serializer.serializeRawBytes(algorithm.encoded)
            var encoded = DER.Serializer()
            encoded.appendConstructedNode(identifier: .sequence) { inner in
                inner.appendPrimitiveNode(identifier: .integer) { $0 += [0] + numbers.modulus }
                inner.appendPrimitiveNode(identifier: .integer) {
                    $0 += [0x7F] + [UInt8](repeating: 0xFF, count: octets - 1)
                }
            }
            try serializer.serialize(ASN1BitString(bytes: encoded.serializedBytes[...]))
        }
        let changed = try PublicKey(spki: serializer.serializedBytes)
        #expect(changed.isLoadable == (octets == 32) && (changed.bits == 2048) == (octets == 32))
    }

    @Test(
        "A public DSA key above 3072 bits is not loaded",
        arguments: [(384, 384, true), (385, 384, false), (384, 385, false)])
    func publicDSA(modulus: Int, number: Int, isLoaded: Bool) throws {
        let key = try PublicKey(spki: CostlyKey.dsa(modulus: modulus, number: number))
        #expect(key.type == .dsa && key.isLoadable == isLoaded && !key.hasStandardParameters)
        #expect(key.bits == (isLoaded ? 3072 : 0))
    }

    /// An RSA key of these numbers.
    private func rsaKey(_ numbers: [[UInt8]]) throws -> PrivateKey? {
        guard case .plain(let key)? = try PrivateKeyFile(der: SecretBytes(rsaNumbers(numbers))) else {
            return nil
        }
        return key
    }

    /// The encoding of an RSA key of these numbers: modulus, exponents and factors. The other numbers are 1.
    private func rsaNumbers(_ numbers: [[UInt8]]) throws -> [UInt8] {
        try ASN1.encoded { coder in
            try coder.sequence { key in
                for number in [[0]] + numbers + [[1], [1], [1]] {
                    key.appendPrimitiveNode(identifier: .integer) {
                        $0 += (number[0] < 0x80 ? [] : [0]) + number
                    }
                }
            }
        }
    }

    /// The sum of 1 and these powers of 2, in big-endian order.
    private func sum(_ exponents: Int...) -> [UInt8] {
        var octets = [UInt8](repeating: 0, count: (exponents.max() ?? 0) / 8 + 1)
        for exponent in exponents + [0] { octets[octets.count - 1 - exponent / 8] |= 1 << (exponent % 8) }
        return octets
    }

    @Test("The factors of a large RSA key prove that its halves belong together")
    func factors() throws {
        // Factors need not be prime. The inverse of 65,537 modulo a power of 2 has this pattern.
        var inverse = [[UInt8]](repeating: [0xFF, 0xFF, 0, 0], count: 66).flatMap(\.self)
        for (last, isConsistent) in [(1, true), (3, false)] as [(UInt8, Bool)] {
            inverse[inverse.count - 1] = last
            let key = try rsaKey([sum(4_192, 2_112, 2_080), sum(16), inverse, sum(2_112), sum(2_080)])
            #expect(key?.isConsistent == isConsistent)
        }
    }

    @Test("Without factors, the numbers of an RSA key are checked only up to limits")
    func withoutFactors() throws {
        // Modulo 2 to the power of n, minus 1, the powers of 2 repeat after n steps.
        for (bits, exponent, isConsistent) in [
            (2_048, sum(255), true), (2_048, sum(256), false), (2_048, sum(254, 3), false),
            (4_096, sum(255), true), (4_104, sum(28, 19), false),
        ] {
            let modulus = [UInt8](repeating: 0xFF, count: bits / 8)
            let key = try rsaKey([modulus, exponent, [1], [0], [0]])
            #expect(key?.isConsistent == isConsistent)
        }
    }

    @Test(
        "The slow check of an RSA key without factors counts as work, and only a key with a certificate is checked"
    )
    func slowCheck() throws {
        let numbers = [[UInt8](repeating: 0xFF, count: 512), sum(255), [1], [0], [0]]
        let key = try #require(try rsaKey(numbers))
        let info = try ASN1.encoded { coder in
            try coder.sequence { info in
                try info.serialize(0)
                try info.sequence { algorithm in
                    try algorithm.objectIdentifier("1.2.840.113549.1.1.1")
                    algorithm.appendPrimitiveNode(identifier: .null) { _ in }
                }
                try info.octets(rsaNumbers(numbers))
            }
        }
        let bag = try PKCS12Samples.bag(OID.keyBag, value: info)
        let certificate = try PKCS12Samples.bag(
            certificate: TestPKI.root.issue(TestPKI.template(), to: key.publicKey))
        let milliseconds = key.consistencyWork / 1_000_000
        #expect((5...100).contains(milliseconds))
        var limits = PKCS12Limits.standard
        for (bags, patience, error) in [
            ([bag, certificate], key.consistencyWork, nil),
            ([bag, certificate], key.consistencyWork - 1, PKCS12Error(.refused(limit: .work))),
            ([bag, bag], 0, nil),
        ] as [([[UInt8]], Int, PKCS12Error?)] {
            let file = try PKCS12Samples.file([PKCS12Samples.safe(bags)], mac: .none)
            limits.patience = .nanoseconds(patience)
            let report = PKCS12.inspect(file, password: password, limits: limits)
            #expect(report.error == error)
            #expect(report.contents.keyCount == bags.count { $0 == bag })
        }
        #expect(try PrivateKey.generate(.rsa(bits: 2048)).consistencyWork == 0)
    }

    @Test("A Diffie-Hellman key of either standard is not loaded")
    func diffieHellman() throws {
        for oid in ["1.2.840.113549.1.3.1", "1.2.840.10046.2.1"] {
            let info = try PKCS12FileBuilder.dsaKey(modulus: 1024, exponent: 1024, oid: oid)
            #expect(throws: CertificateError(.costlyKey(oid: oid), "")) {
                try PrivateKey(pkcs8: SecretBytes(info))
            }
        }
    }

    @Test(
        "A key with a compressed point on a curve with explicit parameters is not loaded",
        arguments: [(false, false), (true, false), (false, true), (true, true)])
    func explicitCurve(hasCompressedGenerator: Bool, hasCompressedPoint: Bool) throws {
        let isLoaded = !hasCompressedGenerator && !hasCompressedPoint
        let curve = try CostlyKey.parameters(isCompressed: hasCompressedGenerator)
        let point = CostlyKey.generator(isCompressed: hasCompressedPoint)
        let outside = try CostlyKey.ec(curve, point)
        let inside = try CostlyKey.ec(CostlyKey.named, point, inner: curve)
        for info in [outside, inside] {
            let key = try? PrivateKey(pkcs8: SecretBytes(info))
            #expect((key != nil) == isLoaded)
        }
        let key = try PublicKey(spki: CostlyKey.spki(curve, point))
        #expect(key.bits == (isLoaded ? 256 : 0) && !key.hasStandardParameters)
    }

    @Test("A key with a compressed point on a named curve is loaded")
    func namedCurve() throws {
        let point = CostlyKey.generator(isCompressed: true)
        let key = try PrivateKey(pkcs8: SecretBytes(CostlyKey.ec(CostlyKey.named, point)))
        #expect(key.type == .ec(curve: "P-256"))
        let publicKey = try PublicKey(spki: CostlyKey.spki(CostlyKey.named, point))
        #expect(publicKey.bits == 256 && publicKey.hasStandardParameters)
    }
}

/// Keys on P-256 in encodings that no program writes.
enum CostlyKey {
    static let named: [UInt8] = [6, 8, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 3, 1, 7]
    private static let algorithm = "1.2.840.10045.2.1"

    /// The explicit parameters of P-256.
    static func parameters(isCompressed: Bool) throws -> [UInt8] {
        try ASN1.encoded { coder in
            try coder.sequence { curve in
                try curve.serialize(1)
                try curve.sequence { field in
                    try field.objectIdentifier("1.2.840.10045.1.1")
                    field.magnitude(prime)
                }
                try curve.sequence { equation in
                    try equation.octets(Array(prime.dropLast()) + [0xFC])
                    try equation.octets(
                        hex("5AC635D8AA3A93E7B3EBBD55769886BC651D06B0CC53B0F63BCE3C3E27D2604B"))
                }
                try curve.octets(generator(isCompressed: isCompressed))
                curve.magnitude(hex("FFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551"))
                try curve.serialize(1)
            }
        }
    }

    /// The generator of P-256, which is the public point of the private number 1.
    static func generator(isCompressed: Bool) -> [UInt8] {
        let x = hex("6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296")
        let y = hex("4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5")
        return isCompressed ? [3] + x : [4] + x + y
    }

    static func ec(_ parameters: [UInt8], _ point: [UInt8], inner: [UInt8]? = nil) throws -> [UInt8] {
        try ASN1.encoded { coder in
            try coder.sequence { info in
                try info.serialize(0)
                try info.sequence { identifier in
                    try identifier.objectIdentifier(algorithm)
                    identifier.serializeRawBytes(parameters)
                }
                try info.octets(
                    ASN1.encoded { coder in
                        try coder.sequence { key in
                            try key.serialize(1)
                            try key.octets([UInt8](repeating: 0, count: 31) + [1])
                            if let inner { try key.explicit(0) { $0.serializeRawBytes(inner) } }
                            try key.explicit(1) { try $0.serialize(ASN1BitString(bytes: point[...])) }
                        }
                    })
            }
        }
    }

    static func spki(_ parameters: [UInt8], _ point: [UInt8]) throws -> [UInt8] {
        try ASN1.encoded { coder in
            try coder.sequence { key in
                try key.sequence { identifier in
                    try identifier.objectIdentifier(algorithm)
                    identifier.serializeRawBytes(parameters)
                }
                try key.serialize(ASN1BitString(bytes: point[...]))
            }
        }
    }

    /// A public DSA key with numbers of these lengths in octets, which are not valid but can be loaded.
    static func dsa(modulus: Int, number: Int) throws -> [UInt8] {
        func octets(_ count: Int) -> [UInt8] { [0xC1] + [UInt8](repeating: 0x55, count: count - 1) }
        return try ASN1.encoded { coder in
            try coder.sequence { key in
                try key.sequence { identifier in
                    try identifier.objectIdentifier(OID.dsa)
                    try identifier.sequence { parameters in
                        for count in [modulus, 32, modulus - 1] { parameters.magnitude(octets(count)) }
                    }
                }
                let encoded = try ASN1.encoded { $0.magnitude(octets(number)) }
                try key.serialize(ASN1BitString(bytes: encoded[...]))
            }
        }
    }

    private static let prime = hex("FFFFFFFF00000001000000000000000000000000FFFFFFFFFFFFFFFFFFFFFFFF")

    private static func hex(_ text: String) -> [UInt8] {
        stride(from: 0, to: text.count, by: 2).compactMap { UInt8(text.dropFirst($0).prefix(2), radix: 16) }
    }
}

extension DER.Serializer {
    /// An INTEGER that is not negative.
    fileprivate mutating func magnitude(_ octets: [UInt8]) {
        appendPrimitiveNode(identifier: .integer) { $0 += ((octets.first ?? 0) >= 0x80 ? [0] : []) + octets }
    }
}
