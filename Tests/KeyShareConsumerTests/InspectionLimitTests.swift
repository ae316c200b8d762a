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
}
