import KeySharing
import SecretMemory
import Foundation
import OpenSSL

/// An identity that is generated for one test.
struct TestIdentity {
    let certificate: Certificate
    let privateKey: PrivateKey

    /// Creates a self-signed certificate, by default of a new P-256 key for signatures.
    init(
        _ name: String, key: PrivateKey? = nil, usage: KeyUsage = [.digitalSignature, .nonRepudiation],
        notBefore: Date = Date(timeIntervalSince1970: 1_700_000_000),
        notAfter: Date = Date(timeIntervalSince1970: 1_900_000_000)
    ) throws {
        var template = CertificateTemplate(
            subject: try DistinguishedName([.init("CN", name)]), serialNumber: [1], notBefore: notBefore,
            notAfter: notAfter)
        template.keyUsage = usage
        privateKey = try key ?? PrivateKey.generate(.p256)
        certificate = try CertificateIssuer(selfSigned: template, privateKey: privateKey).certificate
    }

    /// Returns a PKCS #12 file with the identity.
    func file(chain: [Certificate] = [], password: String = "password") throws -> [UInt8] {
        try PKCS12.create(
            privateKey: privateKey, certificate: certificate, chain: chain, friendlyName: "test",
            password: SecretBytes(utf8: password), profile: .modern)
    }
}
