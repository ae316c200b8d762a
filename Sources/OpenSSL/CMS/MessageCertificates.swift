internal import COpenSSL

/// The certificates in one OpenSSL message. Each is decoded only once, even if many signers name it. Use it only while
/// the message exists.
struct MessageCertificates {
    private let known: [Certificate]
    /// The results, keyed by the address of the `X509`.
    private var results: [UInt: Result<Certificate, CertificateError>] = [:]

    /// - Parameter known: Certificates that are already decoded, and may be in the message.
    init(known: [Certificate] = []) { self.known = known }

    /// Returns a certificate (`X509`) of the message.
    ///
    /// - Throws: `CertificateError` for a certificate that cannot be read.
    mutating func certificate(_ pointer: OpaquePointer) throws(CertificateError) -> Certificate {
        let address = UInt(bitPattern: pointer)
        if let result = results[address] { return try result.get() }
        let der = unsafe OpenSSLASN1.der(pointer) { unsafe i2d_X509($0, $1) }
        let result: Result<Certificate, CertificateError>
        if let certificate = known.first(where: { $0.der == der }) {
            result = .success(certificate)
        } else {
            result = Result { () throws(CertificateError) in try Certificate(der: der) }
        }
        results[address] = result
        return try result.get()
    }
}
