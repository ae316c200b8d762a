import SecretMemory
import Foundation
@testable import OpenSSL
import SwiftASN1
import UTTypes
import ZipBundles

/// Inputs to start from, made by the writers of what the targets read.
enum Seeds {
    static func write(to folder: String) throws {
        try pkcs12().enumerated().forEach { try write($1, to: "\(folder)/pkcs12", number: $0) }
        let file = try sample(.modern)
        let archive = try ZipBundle.create(
            [(name: "a.p12", bytes: file), (name: "b.pfx", bytes: [1, 2, 3])],
            modified: Date(timeIntervalSince1970: 1_700_000_000))
        try write(archive, to: "\(folder)/zip", number: 0)
        try write(
            try ZipBundle.create([], modified: Date(timeIntervalSince1970: 0)), to: "\(folder)/zip", number: 1
        )
        let lists = [UTTypeDeclarations.system, UTTypeDeclarations.legacy, UTTypeDeclarations.keySharing2025]
        try lists.enumerated().forEach { try write($1, to: "\(folder)/types", number: $0) }
        // The golden frames are the first seeds of this target.
        try LyingProvider.seeds.enumerated().forEach {
            try write($1, to: "\(folder)/module-calls", number: 1_000 + $0)
        }
    }

    /// The golden frames that stand as `name hex` in the lines of a file.
    static func writeFrames(of text: String, to folder: String) throws {
        let lines = text.split(separator: "\n").filter { !$0.hasPrefix("#") }
        for (number, line) in lines.enumerated() {
            guard let digits = line.split(separator: " ").last.map(Array.init) else { continue }
            let bytes = stride(from: 0, to: digits.count - 1, by: 2).compactMap {
                UInt8(String(digits[$0...$0 + 1]), radix: 16)
            }
            for target in ["wire", "module", "module-calls"] {
                try write(bytes, to: "\(folder)/\(target)", number: number)
            }
        }
    }

    private static let key = try? PrivateKey.generate(.p256)

    private static func certificate() throws -> (PrivateKey, Certificate) {
        guard let key else { throw CocoaError(.featureUnsupported) }
        let template = CertificateTemplate(
            subject: try DistinguishedName([.init("CN", "Seed")]), serialNumber: [1],
            notBefore: Date(timeIntervalSince1970: 1_700_000_000),
            notAfter: Date(timeIntervalSince1970: 1_900_000_000))
        return (key, try CertificateIssuer(selfSigned: template, privateKey: key).certificate)
    }

    private static func sample(_ name: PKCS12Profile.Name) throws -> [UInt8] {
        let (key, certificate) = try certificate()
        return try PKCS12.create(
            privateKey: key, certificate: certificate, friendlyName: "a name",
            password: PKCS12Target.password,
            profile: PKCS12Profile(name).iterations(1))
    }

    private static func pkcs12() throws -> [[UInt8]] {
        let (key, certificate) = try certificate()
        func seed(_ layer: PKCS12Target.Layer, _ bytes: [UInt8]) -> [UInt8] { [layer.rawValue] + bytes }
        let info = try key.pkcs8()
        let keyBytes = unsafe info.withUnsafeBytes { unsafe Array($0) }
        let bag = try ASN1.encoded { coder in
            try coder.sequence {
                try $0.appendCertificateBag(certificate.der, .init(friendlyName: "a", localKeyID: [1]))
            }
        }
        var seeds = try PKCS12Profile.Name.allCases.map { seed(.file, try sample($0)) }
        for name in [PKCS12Profile.Name.modern, .purebredSample] {
            let safe = try PFX(sample(name), limits: .standard).authenticatedSafe
            seeds.append(seed(.authenticatedSafe, Array(safe)))
        }
        if let mac = try PFX(sample(.pbmac1), limits: .standard).macData {
            seeds.append(seed(.mac, Array(mac.encodedBytes)))
        }
        seeds += [seed(.plainContents, bag), seed(.encryptedContents, bag), seed(.privateKey, keyBytes)]
        seeds.append(seed(.certificate, certificate.der))
        seeds.append(seed(.algorithm, try PKCS12Target.encrypt([]).algorithm))
        seeds.append(
            seed(.algorithm, try ASN1.encoded { try $0.appendPBES1("1.2.840.113549.1.12.1.6", [1, 2], 1) }))
        return seeds
    }

    private static func write(_ bytes: [UInt8], to folder: String, number: Int) throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try Data(bytes).write(to: URL(fileURLWithPath: "\(folder)/seed-\(number)"))
    }
}
