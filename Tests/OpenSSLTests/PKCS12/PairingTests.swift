import SecretMemory
@testable import OpenSSL
import SwiftASN1
import TestSupport
import Testing

@Suite("Keys and certificates of PKCS #12 files", .timeLimit(.minutes(10)))
struct PairingTests {
    private typealias Attributes = PKCS12FileBuilder.Attributes
    private let password = PKCS12Password.text(PKCS12Samples.password)
    private let first = PKCS12Samples.first
    private let second = PKCS12Samples.second

    private func read(_ bags: [[UInt8]]) throws -> PKCS12Contents {
        try PKCS12.read(PKCS12Samples.file([PKCS12Samples.safe(bags)]), password: password)
    }

    /// Another certificate for the key of the first identity.
    private func certificate(serial: UInt8) throws -> Certificate {
        var template = try TestPKI.template()
        template.serialNumber = [serial]
        return try TestPKI.root.issue(template, to: first.key)
    }

    @Test("Of several certificates of a key, those with its localKeyID come first, and only if it has one")
    func order() throws {
        let (one, two) = (try certificate(serial: 1), try certificate(serial: 2))
        let cases: [(key: [UInt8]?, first: [UInt8]?, second: [UInt8]?, isSwapped: Bool)] = [
            ([7], [1], [7], true), ([7], nil, [7], true), ([7], [7], [7], false), ([7], [1], nil, false),
            (nil, [1], nil, false), (nil, nil, [1], false),
        ]
        for (key, first, second, isSwapped) in cases {
            let contents = try read([
                PKCS12Samples.bag(key: self.first.key, Attributes(localKeyID: key)),
                PKCS12Samples.bag(certificate: one, Attributes(localKeyID: first)),
                PKCS12Samples.bag(certificate: two, Attributes(localKeyID: second)),
            ])
            #expect(contents.identities.map(\.certificate) == (isSwapped ? [two, one] : [one, two]))
            #expect(contents.keys.isEmpty && contents.certificateEntries.isEmpty)
        }
    }

    @Test("A key and a certificate that match nothing are related only by a localKeyID that both have")
    func untied() throws {
        let cases: [(key: [UInt8]?, certificate: [UInt8]?, isMismatched: Bool, untied: Int)] = [
            (nil, nil, false, 1), ([7], nil, false, 1), (nil, [7], false, 1), ([7], [8], false, 1),
            ([7], [7], true, 0),
        ]
        for (key, certificate, isMismatched, untied) in cases {
            let contents = try read([
                PKCS12Samples.bag(key: first.key, Attributes(localKeyID: key)),
                PKCS12Samples.bag(certificate: second.certificate, Attributes(localKeyID: certificate)),
            ])
            #expect(contents.keys.map(\.isMismatched) == [isMismatched])
            #expect(contents.untiedKeyCount == untied)
            #expect(contents.notes == (isMismatched ? [.mismatchedKey(place: "safe 1, bag 1")] : []))
        }
    }

    @Test("Equal certificates and equal keys are paired once, and the localKeyID of any copy is kept")
    func duplicates() throws {
        let key = try PKCS12Samples.bag(key: first.key)
        let bare = try PKCS12Samples.bag(certificate: first.certificate)
        let named = try PKCS12Samples.bag(certificate: first.certificate, Attributes(localKeyID: [7]))
        for bags in [
            [key, key, bare, named, bare], [key, bare, bare, named, key], [named, bare, bare, key, key],
        ] {
            let contents = try read(bags)
            #expect(contents.identities.map(\.localKeyID) == [[7]])
            #expect(contents.keys.isEmpty && contents.certificates.isEmpty)
            #expect(contents.keyCount == 2 && contents.certificateCount == 3)
            #expect(contents.notes == [.duplicateCertificate(label: first.certificate.label)])
        }
    }

    @Test("A key whose public half is copied from another key belongs to no certificate")
    func copiedPublicHalf() throws {
        for type in [KeyAlgorithm.rsa(bits: 2048), .p256] {
            let (owner, forger) = (try PrivateKey.generate(type), try PrivateKey.generate(type))
            let certificate = try TestPKI.root.issue(try TestPKI.template(), to: owner)
            func publicHalf(_ key: PrivateKey) -> [UInt8] {
                RSANumbers(key.publicKey.keyOctets).map { Array($0.modulus) }
                    ?? Array(key.publicKey.keyOctets)
            }
            let encoded = try forger.pkcs8().withTransientArray { Array($0) }
            let forged = try PrivateKey(
                pkcs8: SecretBytes(
                    try #require(encoded.replacingFirst(publicHalf(forger), with: publicHalf(owner)))))
            #expect(forged.matches(certificate) && !forged.isConsistent && owner.isConsistent)
            let bags = try [PKCS12Samples.bag(key: forged), PKCS12Samples.bag(certificate: certificate)]
            let contents = try read(bags)
            #expect(contents.identities.isEmpty && contents.mismatchedKeys.count == 1)
            // The owner's key is used, also after the forged one.
            let both = try read(bags + [PKCS12Samples.bag(key: owner)])
            #expect(both.identities.map(\.privateKey.isConsistent) == [true])
        }
    }

    @Test(
        "A DSA key with the public number of a certificate, but another generator, belongs to no certificate")
    func otherGenerator() throws {
        let sample = try #require(SampleKeys.all.first { $0.type == .dsa }).pkcs8
        let owner = try PrivateKey(pkcs8: SecretBytes(sample))
        let certificate = try TestPKI.root.issue(try TestPKI.template(), to: owner)
        let algorithm = try #require(DERElement(sample)?.children.dropFirst().first).children
        let parameters = try #require(algorithm.last).children
        // With the public number as the generator, the private number is 1.
        let forged = try PrivateKey(
            pkcs8: SecretBytes(
                ASN1.encoded { coder in
                    try coder.sequence { info in
                        try info.serialize(0)
                        try info.sequence { identifier in
                            try identifier.objectIdentifier(OID.dsa)
                            identifier.appendConstructedNode(identifier: .sequence) { numbers in
                                for number in parameters.prefix(2) {
                                    numbers.serializeRawBytes(number.encoded)
                                }
                                numbers.serializeRawBytes(owner.publicKey.keyOctets)
                            }
                        }
                        try info.octets([2, 1, 1])
                    }
                }))
        #expect(forged.publicKey.keyOctets == certificate.publicKey.keyOctets && forged.isConsistent)
        let bags = try [PKCS12Samples.bag(key: forged), PKCS12Samples.bag(certificate: certificate)]
        let contents = try read(bags)
        #expect(contents.identities.isEmpty && contents.keys.count == 1)
        let both = try read(bags + [PKCS12Samples.bag(key: owner)])
        #expect(both.identities.map(\.privateKey.publicKey) == [owner.publicKey])
        #expect(both.keys.map(\.privateKey.publicKey) == [forged.publicKey])
    }

    @Test(
        "Both halves of a generated key belong together",
        arguments: [KeyAlgorithm.rsa(bits: 2048), .p256, .p384])
    func consistent(algorithm: KeyAlgorithm) throws {
        #expect(try PrivateKey.generate(algorithm).isConsistent)
    }

    @Test("The obstacles of a file include each mismatched key, also beside an identity")
    func obstacles() throws {
        let named = Attributes(localKeyID: [7])
        let mismatch = try [
            PKCS12Samples.bag(key: first.key, named),
            PKCS12Samples.bag(certificate: second.certificate, named),
        ]
        let locked = try PKCS12Samples.bag(
            key: PKCS12Samples.encrypt(
                SecretBytes([UInt8](repeating: 0x41, count: 48)), password: SecretBytes(utf8: "another")))
        let unknown = try PKCS12Samples.bag(
            OID.keyBag,
            value: ASN1.encoded { coder in
                try coder.sequence { info in
                    try info.serialize(0)
                    try info.sequence { try $0.objectIdentifier("2.16.840.1.101.3.4.3.17") }
                    try info.octets([1, 2, 3])
                }
            })
        func codes(_ bags: [[UInt8]]) throws -> [PKCS12Error.Code] { try read(bags).obstacles.map(\.code) }
        let closed = PKCS12Error.unopened("safe 1, bag 1", underMAC: true).code
        #expect(try codes([locked, unknown]) == [closed])
        #expect(try codes([locked, unknown] + mismatch) == [.keyMismatch])
        #expect(try codes(mismatch + [PKCS12Samples.bag(key: second.key)]) == [.keyMismatch])
        #expect(try codes([PKCS12Samples.bag(key: first.key)]) == [.noIdentity])
        #expect(
            try codes([unknown]) == [.unsupportedAlgorithm(oid: "2.16.840.1.101.3.4.3.17", name: "ML-DSA-44")]
        )
        #expect(
            try codes(PKCS12Samples.bags(of: second) + [PKCS12Samples.bag(key: first.key)]) == [])
    }

    @Test("Keys and certificates in nested safe contents are counted, encrypted or not")
    func nested() throws {
        let plain = try unsafe second.key.pkcs8().withUnsafeBytes { unsafe Array($0) }
        func nest(_ bags: [[UInt8]]) throws -> [UInt8] {
            try PKCS12Samples.bag(OID.safeContentsBag, value: PKCS12Samples.contents(bags))
        }
        let outer = try PKCS12Samples.bag(certificate: second.certificate)
        let bags = try [
            PKCS12Samples.bag(OID.keyBag, value: plain), PKCS12Samples.bag(key: first.key),
            PKCS12Samples.bag(certificate: first.certificate),
        ]
        let contents = try read([outer, nest(bags)])
        #expect(contents.nestedSafeCount == 1)
        #expect(contents.nestedKeyCount == 2 && contents.nestedCertificateCount == 1)
        #expect(contents.keyCount == 2 && contents.plainKeyCount == 1 && contents.certificateCount == 2)
        let flat = try read([outer] + bags)
        #expect(flat.nestedSafeCount == 0 && flat.nestedKeyCount == 0 && flat.nestedCertificateCount == 0)
        #expect(try read([nest([nest(bags)])]).nestedKeyCount == 2)
    }

    @Test("Only encrypted safes with keys and without certificates are safes of keys")
    func keySafes() throws {
        let key = try PKCS12Samples.bag(key: first.key)
        let certificate = try PKCS12Samples.bag(certificate: first.certificate)
        let contents = try PKCS12.read(
            PKCS12Samples.file(
                [[certificate], [key, certificate], [key], []].map { try PKCS12Samples.encryptedSafe($0) }
                    + [PKCS12Samples.safe([key])]), password: password)
        #expect(contents.keySafes == ["safe 3"])
    }

    @Test("A localKeyID or a friendly name is odd if it has no value or two values")
    func oddAttributes() throws {
        func attributes(_ type: String, _ count: Int) throws -> [UInt8] {
            try ASN1.encoded { coder in
                try coder.appendConstructedNode(identifier: .set) { set in
                    try set.sequence { attribute in
                        try attribute.objectIdentifier(type)
                        attribute.appendConstructedNode(identifier: .set) { values in
                            for _ in 0..<count {
                                values.appendPrimitiveNode(
                                    identifier: type == OID.localKeyID ? .octetString : .bmpString
                                ) { $0 += [0, 65] }
                            }
                        }
                    }
                }
            }
        }
        for type in [OID.localKeyID, OID.friendlyName] {
            for count in 0...2 {
                let contents = try read([
                    PKCS12Samples.bag("1.2.3.5", value: [5, 0], attributes: attributes(type, count))
                ])
                #expect(contents.oddAttributeCount == (count == 1 ? 0 : 1), "\(type) \(count)")
            }
        }
    }

    @Test("The attributes of a bag are in the order of DER, regardless of their lengths")
    func attributeOrder() throws {
        let friendlyName: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x09, 0x14]
        let localKeyID: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x09, 0x15]
        for (name, identifier, isNameFirst) in [
            ("A", [UInt8](repeating: 1, count: 20), true), ("A longer name", [1], false),
        ] {
            let bag = try PKCS12Samples.bag(
                certificate: first.certificate, Attributes(friendlyName: name, localKeyID: identifier))
            let places = try [friendlyName, localKeyID].map {
                try #require(bag.firstRange(of: $0)).lowerBound
            }
            #expect((places[0] < places[1]) == isNameFirst)
        }
    }
}

extension PKCS12Samples {
    /// The bags of an identity's key and certificate.
    fileprivate static func bags(of identity: Identity) throws -> [[UInt8]] {
        try [bag(key: identity.key), bag(certificate: identity.certificate)]
    }
}
