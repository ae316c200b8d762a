import Foundation
import OpenSSL
import PrivateFiles
import TestSupport
import Testing

@Suite("Signed messages in CMS")
struct SignatureTests {
    private let scratch: ScratchFolder

    init() throws { scratch = try ScratchFolder() }

    private func file(_ text: String) throws -> UnnamedFile {
        let file = try UnnamedFile(in: scratch.path)
        try file.write(text.utf8)
        try file.rewind()
        return file
    }

    private func signature(of text: String, as certificate: Certificate, _ key: PrivateKey) throws
        -> CMSSignature
    {
        let message = try CMSSignature.sign(
            try file(text).descriptor, as: certificate, with: key, chain: [TestPKI.root.certificate])
        let structure = try CMSStructure(reading: ArraySource(message)) { _ in }
        #expect(!structure.hasContent && structure.kind == .signedData)
        return try CMSSignature(structure)
    }

    @Test("A signature fits its content, and tells who signed; it fits no other content")
    func roundTrip() throws {
        for key in [TestPKI.leafKey, TestPKI.rsaKey] {
            let certificate = try TestPKI.root.issue(try TestPKI.template(), to: key)
            let signature = try signature(of: "hello\r\n", as: certificate, key)
            #expect(Set(signature.certificates) == [certificate, TestPKI.root.certificate])
            #expect(try signature.verify(try file("hello\r\n").descriptor) == [certificate])
            #expect(throws: CMSError(.invalidSignature, "")) {
                try signature.verify(try file("hellO\r\n").descriptor)
            }
            #expect(throws: CMSError(.invalidSignature, "")) { try signature.verify(try file("").descriptor) }
        }
    }

    @Test("A key that is not the certificate's does not sign")
    func wrongKey() throws {
        let certificate = try TestPKI.leaf()
        #expect(throws: CMSError(.unsuitableKey, "")) {
            try CMSSignature.sign(try file("hello").descriptor, as: certificate, with: TestPKI.rsaKey)
        }
    }

    @Test("A signature whose bytes were altered never fits, and nothing crashes")
    func alterations() throws {
        let certificate = try TestPKI.leaf()
        let text = "hello\r\n"
        let message = try CMSSignature.sign(
            try file(text).descriptor, as: certificate, with: TestPKI.leafKey)
        let content = try file(text)
        var fitting = 0
        for place in message.indices {
            var altered = message
            altered[place] ^= 0x01
            try content.rewind()
            do {
                let structure = try CMSStructure(reading: ArraySource(altered)) { _ in }
                _ = try CMSSignature(structure).verify(content.descriptor)
                fitting += 1
            } catch is CMSError {
            } catch is CertificateError {}
        }
        // The certificate's own bytes and versions are not covered; everything that is signed must be.
        #expect(fitting < message.count)
        let last = message.count - 1
        var altered = message
        altered[last] ^= 0x01
        let structure = try CMSStructure(reading: ArraySource(altered)) { _ in }
        try content.rewind()
        #expect(throws: CMSError(.invalidSignature, "")) {
            try CMSSignature(structure).verify(content.descriptor)
        }
    }
}
