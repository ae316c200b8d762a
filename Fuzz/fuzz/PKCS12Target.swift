import PKCS12Compatibility
import SecretMemory
@testable import OpenSSL
import SwiftASN1

/// The parser of PKCS #12 files. The first byte selects the layer of the remaining bytes, so the layers below
/// the MAC and the encryption are reached without the right key.
enum PKCS12Target {
    enum Layer: UInt8, CaseIterable {
        case file, authenticatedSafe, plainContents, encryptedContents, privateKey, certificate, algorithm,
            mac
    }

    static let password = SecretBytes(utf8: "password")

    static let limits: PKCS12Limits = {
        var limits = PKCS12Limits.standard
        // This target does not test expensive derivations.
        limits.iterations = 64
        limits.patience = .milliseconds(1)
        limits.scryptMemory = 1 << 20
        return limits
    }()

    static func test(_ input: [UInt8]) {
        guard let layer = input.first.flatMap({ Layer(rawValue: $0 % UInt8(Layer.allCases.count)) }),
            let file = try? file(around: Array(input.dropFirst()), as: layer)
        else { return }
        let report = PKCS12.inspect(file, password: .text(password), limits: limits)
        precondition((report.verdict == .ok) == (report.error == nil))
        for identity in report.contents.identities {
            precondition(
                identity.privateKey.matches(identity.certificate) || identity.privateKey.type == .dsa)
            _ = "\(identity.certificate.subject) \(identity.certificate.subjectAlternativeNames)"
        }
        _ = report.contents.notes.map(\.description)
        for reader in ReaderModel.allCases { _ = reader.verdict(on: report) }
    }

    /// A file in which `bytes` are that layer.
    static func file(around bytes: [UInt8], as layer: Layer) throws -> [UInt8] {
        switch layer {
        case .file: return bytes
        case .authenticatedSafe: return try pfx { try $0.appendData(bytes) }
        case .plainContents: return try file(ofSafe: ASN1.encoded { try $0.appendData(bytes) })
        case .encryptedContents:
            let layer = try encrypt(bytes)
            return try file(ofSafe: ASN1.encoded { try $0.appendEncryptedData(layer) })
        case .privateKey:
            let key = try encrypt(bytes)
            return try file(ofBag: ASN1.encoded { try $0.appendShroudedKeyBag(key, .init()) })
        case .certificate:
            return try file(
                ofBag: ASN1.encoded { try $0.appendCertificateBag(bytes, .init(localKeyID: [1])) })
        case .algorithm:
            let layer = EncryptedLayer(algorithm: bytes, ciphertext: [UInt8](repeating: 7, count: 64))
            return try file(ofSafe: ASN1.encoded { try $0.appendEncryptedData(layer) })
        case .mac:
            return try pfx { coder in
                try coder.appendData(try ASN1.encoded { try $0.sequence { _ in } })
                coder.serializeRawBytes(bytes)
            }
        }
    }

    static func encrypt(_ bytes: [UInt8]) throws -> EncryptedLayer {
        let algorithm = try ASN1.encoded {
            try $0.appendPBES2(
                [1, 2, 3, 4, 5, 6, 7, 8], 1, function: OID.hmacSHA256, OID.aes256CBC,
                vector: [UInt8](repeating: 9, count: 16))
        }
        let scheme = try EncryptionScheme(BER.parse(algorithm), limits: limits, at: "a seed")
        let (key, vector) = try scheme.keyMaterial(password: password, limits: limits)
        return EncryptedLayer(
            algorithm: algorithm,
            ciphertext: try CipherOperation(scheme.cipher, key: key, vector: vector).encrypt(
                SecretBytes(bytes)))
    }

    private static func file(ofBag bag: [UInt8]) throws -> [UInt8] {
        try file(around: ASN1.encoded { try $0.sequence { $0.serializeRawBytes(bag) } }, as: .plainContents)
    }

    private static func file(ofSafe safe: [UInt8]) throws -> [UInt8] {
        try file(
            around: ASN1.encoded { try $0.sequence { $0.serializeRawBytes(safe) } }, as: .authenticatedSafe)
    }

    private static func pfx(_ body: (inout DER.Serializer) throws -> Void) throws -> [UInt8] {
        try ASN1.encoded { coder in
            try coder.sequence { pfx in
                try pfx.serialize(3)
                try body(&pfx)
            }
        }
    }
}
