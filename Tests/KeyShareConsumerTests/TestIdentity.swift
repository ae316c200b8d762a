import KeySharing
import SecretMemory
import Foundation
import OpenSSL

/// An identity that is generated for one test.
struct TestIdentity {
    let certificate: Certificate
    let privateKey: PrivateKey

    /// Generates a key and a self-signed signature certificate.
    init(_ name: String) throws {
        var template = CertificateTemplate(
            subject: try DistinguishedName([.init("CN", name)]), serialNumber: [1],
            notBefore: Date(timeIntervalSince1970: 1_700_000_000),
            notAfter: Date(timeIntervalSince1970: 1_900_000_000))
        template.keyUsage = [.digitalSignature, .nonRepudiation]
        privateKey = try PrivateKey.generate(.p256)
        certificate = try CertificateIssuer(selfSigned: template, privateKey: privateKey).certificate
    }

    /// Returns a PKCS #12 file with the identity.
    func file(chain: [Certificate] = [], password: String = "password") throws -> [UInt8] {
        try PKCS12.create(
            privateKey: privateKey, certificate: certificate, chain: chain, friendlyName: "test",
            password: SecretBytes(utf8: password), profile: .modern)
    }
}
