import SecretMemory
import PKCS12Compatibility
@testable import OpenSSL
import SwiftASN1
import Testing

@Suite("The model of a reader")
struct ReaderModelTests {
    private let password = PKCS12Password.text(FileBuilder.password)
    private let first = FileBuilder.first

    @Test("says of every profile whether the reader opens it", arguments: PKCS12Profile.Name.allCases)
    func profiles(name: PKCS12Profile.Name) throws {
        let failing: Set<ReaderModel> =
            switch name {
            case .modern, .compatible, .emptyPassword: [.openSSLFIPS]
            case .purebredSample: [.openSSL, .openSSLFIPS]
            case .pbmac1: [.openSSL, .openSSLLegacy, .nss, .gnuTLS, .java, .apple]
            case .noMAC: [.nss, .gnuTLS, .go, .apple]
            }
        let report = PKCS12.inspect(
            try FileBuilder.written(PKCS12Profile(name)),
            password: name == .emptyPassword ? .text(SecretBytes([])) : password)
        for reader in ReaderModel.allCases {
            let verdict = reader.verdict(on: report)
            #expect(verdict.reader == reader)
            #expect(verdict.outcome == (failing.contains(reader) ? .fails : .opens), "\(verdict)")
            #expect(verdict.reasons.isEmpty == !failing.contains(reader))
        }
    }

    @Test("knows Apple's rules to the letter")
    func apple() throws {
        let pbmac1 = PKCS12.inspect(try FileBuilder.written(PKCS12Profile(.pbmac1)), password: password)
        #expect(ReaderModel.apple.verdict(on: pbmac1).reasons.first?.contains("errSecAuthFailed") == true)
        let noMAC = PKCS12.inspect(try FileBuilder.written(PKCS12Profile(.noMAC)), password: password)
        #expect(ReaderModel.apple.verdict(on: noMAC).reasons.first?.contains("errSecDecode") == true)

        // AES-128 is read as AES-256, and what comes out is no bag.
        #expect(try outcome(.apple, cipher: "2.16.840.1.101.3.4.1.2", prf: "1.2.840.113549.2.9") == .fails)
        #expect(try outcome(.apple, cipher: "2.16.840.1.101.3.4.1.42", prf: "1.2.840.113549.2.7") == .fails)
        #expect(try outcome(.apple, cipher: "2.16.840.1.101.3.4.1.42", prf: "1.2.840.113549.2.9") == .opens)

        let bag = try first.key.pkcs8()
        let plain = try FileBuilder.bag(OID.keyBag, value: unsafe bag.withUnsafeBytes { unsafe Array($0) })
        #expect(try outcomes([FileBuilder.safe([plain])])[.apple] == .partly)
        let nested = try FileBuilder.bag(
            OID.safeContentsBag,
            value: FileBuilder.contents([FileBuilder.bag(certificate: first.certificate)]))
        #expect(try outcomes([FileBuilder.safe([nested])])[.apple] == .partly)
        let strange = try FileBuilder.bag("1.2.3.5", value: [5, 0])
        #expect(try outcomes([FileBuilder.safe([strange])])[.apple] == .fails)
        for (attribute, count) in [
            (OID.localKeyID, 1), (OID.friendlyName, 1), (OID.javaTrustedKeyUsage, 0), ("1.2.3.6", 0),
        ] {
            let twice = try FileBuilder.bag(
                OID.crlBag, value: [5, 0], attributes: attributes(attribute, values: [[1], [2]]))
            let report = PKCS12.inspect(
                try FileBuilder.file([FileBuilder.safe([twice])]), password: password)
            #expect(report.contents.oddAttributeCount == count)
            #expect(ReaderModel.apple.verdict(on: report).outcome == (count == 0 ? .opens : .fails))
        }
    }

    /// One attribute with so many values.
    private func attributes(_ type: String, values: [[UInt8]]) throws -> [UInt8] {
        try ASN1.encoded { coder in
            try coder.appendConstructedNode(identifier: .set) { set in
                try set.sequence { attribute in
                    try attribute.objectIdentifier(type)
                    try attribute.appendConstructedNode(identifier: .set) { set in
                        for value in values { try set.octets(value) }
                    }
                }
            }
        }
    }

    @Test("knows that nobody has an encryption that OpenSSL has no name for")
    func unknownScheme() throws {
        let layer = try FileBuilder.layer { coder in
            try coder.sequence { try $0.null(after: "1.2.643.7.1.1.5.1") }
        }
        let report = PKCS12.inspect(
            try FileBuilder.file([FileBuilder.encryptedSafe(layer)]), password: password)
        #expect(ReaderModel.allCases.allSatisfy { $0.verdict(on: report).outcome == .fails })
    }

    @Test("knows that Java finds a lone certificate only where it is marked as trusted")
    func loneCertificate() throws {
        for mark in [[], try attributes(OID.javaTrustedKeyUsage, values: [[1]])] {
            let lone = try FileBuilder.bag(
                OID.certBag,
                value: ASN1.encoded { coder in
                    try coder.sequence { value in
                        try value.objectIdentifier(OID.x509Certificate)
                        try value.explicit(0) { try $0.octets(first.certificate.der) }
                    }
                }, attributes: mark)
            let verdict = try outcomes([FileBuilder.safe([lone])])[.java]
            #expect(verdict == (mark.isEmpty ? .partly : .opens))
        }
    }

    @Test("counts keys and safes, and minds encoding and password")
    func shape() throws {
        let keys = try [FileBuilder.bag(key: first.key), FileBuilder.bag(key: FileBuilder.second.key)]
        let two = try outcomes([FileBuilder.safe(keys)])
        #expect(two[.go] == .fails)
        #expect(two[.openSSL] == .opens)
        let bytes = try FileBuilder.written()
        guard case .constructed(let fields) = try DER.parse(bytes).content else {
            Issue.record("no SEQUENCE")
            return
        }
        let indefinite = [0x30, 0x80] + fields.flatMap(\.encodedBytes) + [0, 0]
        #expect(outcomes(indefinite)[.go] == .fails)
        #expect(outcomes(indefinite)[.nss] == .opens)
        #expect(outcomes(bytes + [0])[.go] == .fails)
        let odd = SecretBytes(utf8: "Mötley")
        let foreign = outcomes(try FileBuilder.written(password: odd), password: .text(odd))
        #expect(Set(foreign.filter { $0.value == .fails }.keys) == [.java, .openSSLFIPS])
    }

    @Test("does not know what is inside a file that did not open, and knows what shows from outside")
    func unopened() throws {
        let wrong = PKCS12Password.text(SecretBytes(utf8: "wrong"))
        let modern = outcomes(try FileBuilder.written(), password: wrong)
        #expect(modern[.openSSL] == .unknown)
        #expect(modern[.openSSLFIPS] == .fails)
        let pbmac1 = outcomes(try FileBuilder.written(PKCS12Profile(.pbmac1)), password: wrong)
        #expect(pbmac1[.apple] == .fails)
        #expect(pbmac1[.go] == .unknown)
        #expect(outcomes([1, 2, 3])[.apple] == .unknown)
    }

    private func outcomes(
        _ bytes: [UInt8], password: PKCS12Password? = nil
    ) -> [ReaderModel: ReaderModel.Verdict.Outcome] {
        let report = PKCS12.inspect(bytes, password: password ?? self.password)
        return Dictionary(
            uniqueKeysWithValues: ReaderModel.allCases.map { ($0, $0.verdict(on: report).outcome) })
    }

    private func outcomes(_ safes: [[UInt8]]) throws -> [ReaderModel: ReaderModel.Verdict.Outcome] {
        outcomes(try FileBuilder.file(safes))
    }

    private func outcome(
        _ reader: ReaderModel, cipher: String, prf: String
    ) throws -> ReaderModel.Verdict.Outcome? {
        let algorithm = try ASN1.encoded { coder in
            try coder.appendPBES2(
                { try $0.appendPBKDF2([1, 2, 3, 4, 5, 6, 7, 8], 1, keyLength: nil, prf: prf) },
                { coder in
                    try coder.objectIdentifier(cipher)
                    try coder.octets([UInt8](repeating: 4, count: 16))
                })
        }
        let layer = try LibraryWriter.encrypt(
            SecretBytes(try FileBuilder.contents([FileBuilder.bag(certificate: first.certificate)])),
            algorithm: algorithm, password: "password")
        return try outcomes([FileBuilder.encryptedSafe(layer)])[reader]
    }
}
