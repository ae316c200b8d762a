import Foundation
import KeySharing
import OpenSSL
import Testing

@Suite("Encoded FASC-Ns", .timeLimit(.minutes(10)))
struct FASCNTests {
    private let octets =
        FASCN(
            fields: ["9700", "0001", "123456", "0", "1", "5557779001", "1", "9700", "2"])?.octets ?? []

    /// The forty characters of five bits, with the lowest bit as parity.
    private func characters() -> [UInt8] {
        (0..<40).map { index in
            (0..<5).reduce(0) { character, bit in
                let position = index * 5 + bit
                return character << 1 | octets[position / 8] >> UInt8(7 - position % 8) & 1
            }
        }
    }

    /// Encodes characters, and replaces the last one with the right check character.
    private func encoded(_ characters: [UInt8]) -> [UInt8] {
        let columns = characters.dropLast().reduce(0, ^) >> 1
        let check = columns << 1 | (columns.nonzeroBitCount % 2 == 1 ? 0 : 1)
        var octets = [UInt8](repeating: 0, count: 25)
        for (index, character) in (characters.dropLast() + [check]).enumerated() {
            for bit in 0..<5 where character & (0x10 >> UInt8(bit)) != 0 {
                octets[(index * 5 + bit) / 8] |= 0x80 >> UInt8((index * 5 + bit) % 8)
            }
        }
        return octets
    }

    @Test("A FASC-N has 25 octets")
    func length() {
        #expect(FASCN(octets: octets)?.personIdentifier == "5557779001")
        #expect(FASCN(octets: encoded(characters())) == FASCN(octets: octets))
        #expect(FASCN(octets: octets + [0]) == nil && FASCN(octets: octets.dropLast()) == nil)
    }

    @Test("The fields of a FASC-N have names, and two of them have meanings")
    func namedFields() throws {
        let fields = try #require(FASCN(octets: octets)).namedFields
        #expect(fields.map(\.name) == FASCN.fieldNames && FASCN.fieldNames.count == 9)
        #expect(
            fields.map(\.value) == [
                "9700", "0001", "123456", "0", "1", "5557779001", "1 (federal government agency)", "9700",
                "2 (civil)",
            ])
    }

    @Test("A FASC-N with a different digit under the same check character is rejected")
    func check() {
        var changed = characters()
        // The digits 9 and 8.
        changed[1] = changed[1] == 0b10011 ? 0b00010 : 0b10011
        let right = encoded(changed)
        var wrong = right
        wrong[24] = octets[24]
        #expect(FASCN(octets: right) != nil)
        #expect(FASCN(octets: wrong) == nil)
    }

    @Test(
        "A control character or a digit at the wrong position is rejected, even under its check character",
        arguments: [(0, 0b10110), (1, 0b10110), (5, 0b11010), (38, 0b11010)] as [(Int, UInt8)])
    func positions(index: Int, character: UInt8) {
        var changed = characters()
        changed[index] = character
        #expect(FASCN(octets: encoded(changed)) == nil)
    }
}

@Suite("Purposes of certificates", .timeLimit(.minutes(10)))
struct CertificatePurposeTests {
    @Test("A purpose needs one of its key usages, and encryption depends on the kind of key")
    func keyUsages() {
        #expect(
            CertificatePurpose.sslclient.keyUsages(isEllipticCurve: false) == [
                .digitalSignature, .keyAgreement,
            ])
        #expect(CertificatePurpose.smimeencrypt.keyUsages(isEllipticCurve: true) == .keyAgreement)
        #expect(CertificatePurpose.smimeencrypt.keyUsages(isEllipticCurve: false) == .keyEncipherment)
        #expect(
            CertificatePurpose.smartcardLogon.extendedKeyUsages
                == ["1.3.6.1.4.1.311.20.2.2", "1.3.6.1.5.2.3.4"])
        let needing = CertificatePurpose.allCases.filter(\.needsExtendedKeyUsage)
        #expect(needing == [.smartcardLogon, .codesign, .timestampsign, .ocsphelper])
        let exact = CertificatePurpose.allCases.filter { !$0.acceptsAnyExtendedKeyUsage }
        #expect(exact == [.timestampsign, .ocsphelper])
    }

    @Test(
        "Each purpose has its key usages and extended key usages",
        arguments: [
            (.any, nil, nil), (.ocsphelper, nil, 9), (.crlsign, .cRLSign, nil),
            (.sslserver, [.digitalSignature, .keyEncipherment, .keyAgreement], 1),
            (.sslclient, [.digitalSignature, .keyAgreement], 2), (.codesign, .digitalSignature, 3),
            (.smimesign, [.digitalSignature, .nonRepudiation], 4), (.smimeencrypt, .keyEncipherment, 4),
            (.timestampsign, [.digitalSignature, .nonRepudiation], 8),
        ] as [(CertificatePurpose, KeyUsage?, Int?)])
    func usages(purpose: CertificatePurpose, usages: KeyUsage?, extended: Int?) {
        #expect(purpose.keyUsages(isEllipticCurve: false) == usages)
        #expect(purpose.extendedKeyUsages == extended.map { ["1.3.6.1.5.5.7.3.\($0)"] })
    }

    @Test("Only the leaf needs the extended key usage, and any purpose does not include time stamps")
    func permitted() throws {
        func certificate(
            _ purposes: [String], _ extensions: [CertificateExtension] = []
        ) throws -> Certificate {
            var template = CertificateTemplate(
                subject: try DistinguishedName([.init("CN", "A")]), serialNumber: [1],
                notBefore: .init(timeIntervalSince1970: 0), notAfter: .init(timeIntervalSince1970: 1_000))
            template.extendedKeyUsage = purposes
            template.extensions = extensions
            return try CertificateIssuer(selfSigned: template, privateKey: .generate(.p256)).certificate
        }
        let (plain, other) = (try certificate([]), try certificate([]))
        let any = try certificate(["2.5.29.37.0"])
        let stamps = try certificate([], [.purposes([8], isCritical: true)])
        var verifier = CertificateVerifier()
        verifier.purpose = .timestampsign
        #expect(!verifier.allowsPurpose(plain, of: plain) && verifier.allowsPurpose(other, of: plain))
        #expect(!verifier.allowsPurpose(any, of: any) && verifier.allowsPurpose(stamps, of: stamps))
        verifier.purpose = .codesign
        #expect(verifier.allowsPurpose(any, of: any) && !verifier.allowsPurpose(stamps, of: plain))
    }
}
