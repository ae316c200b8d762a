import Foundation
import OpenSSL
import Testing

@testable import KeyShareConsumer

@Suite("Limits of inspected files", .timeLimit(.minutes(10)))
struct InspectionLimitTests {
    @Test(
        "A PEM text with 10,000 objects is read, and one with 10,001 is rejected before any object is parsed")
    func objects() throws {
        // The content is not an object, so reading ends at the first block.
        let block = Array("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n".utf8)
        for (count, code) in [(10_000, CertificateError.Code.malformed), (10_001, .overLimit)] {
            let text = Array(repeatElement(block, count: count).joined())
            #expect(throws: CertificateError(code, "")) { try FileMaterial(pem: text) }
        }
    }

    @Test("A private key that cannot be decoded is an error, unless the text says that it is encrypted")
    func damagedKey() throws {
        // The content is an empty sequence.
        func text(_ header: String) -> [UInt8] {
            Array("-----BEGIN EC PRIVATE KEY-----\n\(header)MAA=\n-----END EC PRIVATE KEY-----\n".utf8)
        }
        #expect(throws: CertificateError(.malformedKey, "")) { try FileMaterial(pem: text("")) }
        let header = "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\n"
        guard case .encrypted? = try FileMaterial(pem: text(header)).privateKeys.first else {
            Issue.record("the key is not encrypted")
            return
        }
    }

    @Test("A root in a file with an end entity is not validated on its own")
    func subjects() throws {
        let root = try TestIdentity("root").certificate
        let (key, leafKey) = (try PrivateKey.generate(.p256), try PrivateKey.generate(.p256))
        let issuer = try CertificateIssuer(
            selfSigned: CertificateTemplate(
                subject: try DistinguishedName([.init("CN", "issuer")]), serialNumber: [1],
                notBefore: root.notBefore, notAfter: root.notAfter), privateKey: key)
        let leaf = try issuer.issue(
            CertificateTemplate(
                subject: try DistinguishedName([.init("CN", "leaf")]), serialNumber: [2],
                notBefore: root.notBefore, notAfter: root.notAfter), to: leafKey)
        let found = ValidationSubject.all(among: [root, leaf])
        #expect(found.map(\.certificate) == [leaf])
        #expect(found.first?.intermediates == [root])
        #expect(ValidationSubject.all(among: [root]).map(\.certificate) == [root])
    }

    @Test("A configuration profile in binary form has at most 4 MiB")
    func profile() throws {
        for (size, isRead) in [(1 << 20, true), (4 << 20, false)] {
            let values: [String: Any] = ["PayloadType": "Configuration", "Padding": Data(count: size)]
            let bytes = try PropertyListSerialization.data(
                fromPropertyList: values, format: .binary, options: 0)
            #expect((ProfileFile([UInt8](bytes)) != nil) == isRead)
        }
    }

    @Test("A binary configuration profile of a kilobyte whose lists repeat each other is not decoded")
    func repeatingProfile() {
        var (bytes, offsets) = (Array("bplist00".utf8), [UInt8]())
        // 40 lists and a text. Each list contains the next object fifteen times.
        for number in 0..<40 {
            offsets += [UInt8(bytes.count >> 8), UInt8(bytes.count & 0xFF)]
            bytes += [0xAF, 0x10, 15] + [UInt8](repeating: UInt8(number + 1), count: 15)
        }
        offsets += [UInt8(bytes.count >> 8), UInt8(bytes.count & 0xFF)]
        bytes.append(0x50)
        let table = bytes.count
        bytes += offsets + [0, 0, 0, 0, 0, 0, 2, 1]
        for value in [41, 0, table] { bytes += [0, 0, 0, 0, 0, 0, UInt8(value >> 8), UInt8(value & 0xFF)] }
        let time = ContinuousClock().measure { #expect(ProfileFile(bytes) == nil) }
        #expect(time < .seconds(5))
    }
}
