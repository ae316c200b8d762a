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
