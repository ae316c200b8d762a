import KeySharing
import SecretMemory
import Foundation
import OpenSSL

/// A credential generated for one test.
struct TestIdentity {
    let certificate: Certificate
    let privateKey: PrivateKey

    /// A self-signed signature certificate with its own key.
    init(_ name: String) throws {
        var template = CertificateTemplate(
            subject: try DistinguishedName([.init("CN", name)]), serialNumber: [1],
            notBefore: Date(timeIntervalSince1970: 1_700_000_000),
            notAfter: Date(timeIntervalSince1970: 1_900_000_000))
        template.keyUsage = [.digitalSignature, .nonRepudiation]
        privateKey = try PrivateKey.generate(.p256)
        certificate = try CertificateIssuer(selfSigned: template, privateKey: privateKey).certificate
    }

    /// A PKCS #12 file of the identity.
    func file(chain: [Certificate] = [], password: String = "password") throws -> [UInt8] {
        try PKCS12.create(
            privateKey: privateKey, certificate: certificate, chain: chain, friendlyName: "test",
            password: SecretBytes(utf8: password), profile: .modern)
    }
}
