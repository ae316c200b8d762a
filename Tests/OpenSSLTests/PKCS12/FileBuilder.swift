import SecretMemory
import Foundation
@testable import OpenSSL
import SwiftASN1

/// Key material and odd files for the tests of PKCS #12, made in memory.
enum FileBuilder {
    static let password = SecretBytes(utf8: "password")
    static let first = Identity("First")
    static let second = Identity("Second")

    /// A key and its self-signed certificate.
    struct Identity {
        let key: PrivateKey
        let certificate: Certificate

        init(_ name: String) {
            do {
                key = try .generate(.p256)
                let template = CertificateTemplate(
                    subject: try DistinguishedName([.init("CN", name)]), serialNumber: [1],
                    notBefore: Date(timeIntervalSince1970: 1_700_000_000),
                    notAfter: Date(timeIntervalSince1970: 1_900_000_000))
                certificate = try CertificateIssuer(selfSigned: template, privateKey: key).certificate
            } catch {
                preconditionFailure("no test identity: \(error)")
            }
        }
    }

    /// A file as the writer makes it, quick to open.
    static func written(
        _ profile: PKCS12Profile = PKCS12Profile.modern.iterations(1), password: SecretBytes = password,
        friendlyName: String? = "A name", chain: [Certificate] = []
    ) throws -> [UInt8] {
        try PKCS12.create(
            privateKey: first.key, certificate: first.certificate, chain: chain, friendlyName: friendlyName,
            password: password, profile: profile)
    }

    /// What a MAC says of its iterations.
    enum MAC {
        case none
        /// Computed with one iteration; that it is one is written down or left to the default.
        case valid
        /// Computed with one iteration, whatever the file then says.
        case claiming(Int)
    }

    /// A whole file of these safes (ContentInfo), with octets behind them that do not belong there.
    static func file(
        _ safes: [[UInt8]], mac: MAC = .valid, password: SecretBytes = password, version: Int = 3,
        trailing: [UInt8] = []
    ) throws -> [UInt8] {
        let sequence = try ASN1.encoded { coder in
            try coder.sequence { for safe in safes { $0.serializeRawBytes(safe) } }
        }
        let content = sequence + trailing
        let salt: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8]
        let key = try KeyDerivation.pkcs12(
            .integrityKey, password: password.transcodedToUTF16() ?? password, salt: salt, iterations: 1,
            digest: "SHA256", count: 32, context: .standard)
        let code = try HMAC.authenticate(content, key: key, digest: "SHA256", context: .standard)
        let value = unsafe code.withUnsafeBytes { unsafe Array($0) }
        return try ASN1.encoded { coder in
            try coder.sequence { pfx in
                try pfx.serialize(version)
                try pfx.appendData(content)
                var iterations = 1
                switch mac {
                case .none: return
                case .valid: break
                case .claiming(let count): iterations = count
                }
                let algorithm = try ASN1.encoded { coder in
                    try coder.sequence { try $0.null(after: "2.16.840.1.101.3.4.2.1") }
                }
                try pfx.appendMACData(
                    AuthenticationCode(
                        algorithm: algorithm, value: value, salt: salt, iterations: iterations))
            }
        }
    }

    /// A safe whose bags lie open.
    static func safe(_ bags: [[UInt8]]) throws -> [UInt8] {
        try ASN1.encoded { try $0.appendData(try contents(bags)) }
    }

    /// A safe whose bags are encrypted with one iteration.
    static func encryptedSafe(_ bags: [[UInt8]], password: SecretBytes = password) throws -> [UInt8] {
        try encryptedSafe(try encrypt(SecretBytes(try contents(bags)), password: password))
    }

    static func encryptedSafe(_ layer: EncryptedLayer) throws -> [UInt8] {
        try ASN1.encoded { try $0.appendEncryptedData(layer) }
    }

    static func contents(_ bags: [[UInt8]]) throws -> [UInt8] {
        try ASN1.encoded { coder in
            try coder.sequence { for bag in bags { $0.serializeRawBytes(bag) } }
        }
    }

    static func bag(certificate: Certificate, _ attributes: BagAttributeSet = .init()) throws -> [UInt8] {
        try ASN1.encoded { try $0.appendCertificateBag(certificate.der, attributes) }
    }

    static func bag(
        key: PrivateKey, _ attributes: BagAttributeSet = .init(), password: SecretBytes = password
    ) throws -> [UInt8] {
        try bag(key: encrypt(key.pkcs8(), password: password), attributes)
    }

    static func bag(key: EncryptedLayer, _ attributes: BagAttributeSet = .init()) throws -> [UInt8] {
        try ASN1.encoded { try $0.appendShroudedKeyBag(key, attributes) }
    }

    /// A bag of any type with any value and attributes.
    static func bag(_ type: String, value: [UInt8], attributes: [UInt8] = []) throws -> [UInt8] {
        try ASN1.encoded { coder in
            try coder.sequence { bag in
                try bag.objectIdentifier(type)
                try bag.explicit(0) { $0.serializeRawBytes(value) }
                bag.serializeRawBytes(attributes)
            }
        }
    }

    /// PBES2 with one iteration, or what `claiming` says without doing it.
    static func encrypt(
        _ plaintext: SecretBytes, password: SecretBytes = password, claiming iterations: Int? = nil
    ) throws -> EncryptedLayer {
        let salt = [UInt8](repeating: 7, count: 8)
        let vector = [UInt8](repeating: 9, count: 16)
        func algorithm(_ iterations: Int) throws -> [UInt8] {
            try ASN1.encoded { try $0.appendPBES2(salt, iterations, vector: vector) }
        }
        let scheme = try EncryptionScheme(BER.parse(try algorithm(1)), limits: .standard, at: "a test")
        let (key, derived) = try scheme.keyMaterial(password: password, limits: .standard)
        return EncryptedLayer(
            algorithm: try algorithm(iterations ?? 1),
            ciphertext: try CipherOperation(scheme.cipher, key: key, vector: derived).encrypt(plaintext))
    }

    /// A layer under an algorithm that is written by hand.
    static func layer(_ algorithm: (inout DER.Serializer) throws -> Void) throws -> EncryptedLayer {
        EncryptedLayer(algorithm: try ASN1.encoded(algorithm), ciphertext: [UInt8](repeating: 5, count: 64))
    }
}
