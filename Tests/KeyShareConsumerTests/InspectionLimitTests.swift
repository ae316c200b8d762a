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

    @Test("A file of more than 64 KiB is not parsed as a key")
    func largeKey() {
        for (size, isKey) in [(60 << 10, true), (65 << 10, false)] {
            // PrivateKeyInfo (RFC 5208, 5) of an Ed25519 key, with an attribute of the given size.
            let key: [UInt8] =
                [0x02, 1, 0, 0x30, 5, 0x06, 3, 0x2B, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20]
                + [UInt8](repeating: 7, count: 32)
            let value = element(0x04, [UInt8](repeating: 0, count: size))
            let attribute = element(0x30, [0x06, 1, 0x2A] + element(0x31, value))
            let file = element(0x30, key + element(0xA0, attribute))
            #expect((FileMaterial.der(file)?.material.privateKeys.count == 1) == isKey)
        }
    }

    /// The DER of an element of at least 256 octets.
    private func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        let count = content.count
        let octets = [UInt8(count >> 16), UInt8(count >> 8 & 0xFF), UInt8(count & 0xFF)]
        return [tag] + (count > 0xFFFF ? [0x83] + octets : [0x82] + octets.dropFirst()) + content
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
