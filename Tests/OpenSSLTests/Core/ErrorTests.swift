import Diagnostics
import OpenSSL
import Testing

@Suite("Errors of OpenSSL and of certificates", .timeLimit(.minutes(10)))
struct ErrorTests {
    private func refusedKeySize() throws -> OpenSSLError {
        try #require(throws: OpenSSLError.self) { try PrivateKey.generate(.rsa(bits: 8)) }
    }

    @Test("An OpenSSL error contains the operation, all entries of the queue, and the oldest entry's code")
    func openSSL() throws {
        let error = try refusedKeySize()
        #expect(error.operation == "generating a key (rsa8)")
        #expect(error.queue.map(\.reason) == ["key size too small"])
        #expect(error.code == error.queue.first?.code)
        #expect("\(error)" == "generating a key (rsa8): Provider routines: key size too small")
        #expect(error == (try refusedKeySize()))
    }

    @Test("An OpenSSL error without a reason names the operation that failed")
    func unexplained() {
        OpenSSLError.discardQueue()
        let error = OpenSSLError.draining("testing")
        #expect(error.code == 0)
        #expect(error.queue.isEmpty)
        #expect("\(error)" == "testing failed")
    }

    @Test("An error empties the queue, so that the next error does not contain its entries")
    func draining() throws {
        _ = try refusedKeySize()
        #expect(OpenSSLError.draining("testing").queue.isEmpty)
    }

    @Test("Certificate errors are equal by code, print their reason, and have OpenSSL's error as the cause")
    func certificates() throws {
        let error = try #require(throws: CertificateError.self) { try Certificate(der: [0x30, 0x00]) }
        #expect(error == CertificateError(.malformed, "other words"))
        #expect(error != CertificateError(.trailingBytes, error.reason))
        #expect("\(error)" == "decoding a certificate")
        #expect((error.cause as? OpenSSLError)?.operation == "decoding a certificate")
        #expect(CertificateError(.missing, "").cause == nil)
    }
}
