import Foundation
import KeySharing
import OpenSSL
import SecretMemory
import TestSupport
import Testing

@testable import PathValidation

@Suite("Signers of lists outside the path", .timeLimit(.minutes(10)))
struct ListSignerTests: RevocationListSuite {
    let root: TestAuthority
    let leaf: Certificate
    /// An authority beside the path.
    private let sibling: TestAuthority

    init() throws {
        root = try TestAuthority.root("Root")
        leaf = try root.leaf()
        sibling = try root.authority("Sibling", serial: [7])
    }

    private func entry(_ serial: UInt8, reason: Int) -> CertificateRevocationList.Entry {
        .init(serialNumber: [serial], date: TestAuthority.start, reason: reason)
    }

    private let outdated = TestAuthority.now - 3_600

    @Test(
        "A certificate of a signer's key that must not sign lists does not replace the signer's own certificate"
    )
    func keyOfSigner() throws {
        let signer = try root.authority("Signer of Lists", serial: [5])
        let authority = try root.authority("Authority", serial: [6])
        let leaf = try authority.leaf {
            $0.extensions = [EncodedExtension.listSigner(signer.certificate.subject)]
        }
        let other = try sibling.authority("Signer of Lists", key: signer.key) { $0.keyUsage = .keyCertSign }
        let entries = [TestAuthority.entry([9], issuer: authority.certificate.subject)]
        let lists = [
            try root.list(), try authority.list(), try signer.list(entries, [EncodedExtension.indirect]),
        ]
        for untrusted in [[other, signer], [signer, other]] {
            #expect(
                outcomes(lists, leaf, untrusted: untrusted + [authority, sibling]) == [.failed])
        }
    }

    @Test("An authority's other key, which its own key certified, can sign lists unless a list revokes it")
    func otherKeyOfAuthority() throws {
        let authority = try root.authority("Authority", serial: [6])
        for (owner, leaf, lists) in [
            (root, try root.leaf(), []), (authority, try authority.leaf(), [try root.list()]),
        ] {
            let name = try #require(owner.certificate.subject.commonName)
            let signer = try owner.authority(name, serial: [5]) { $0.keyUsage = .cRLSign }
            let untrusted = [authority, signer]
            #expect(outcomes(lists + [try signer.list()], leaf, untrusted: untrusted) == [.passed])
            #expect(
                outcomes(lists + [try signer.list([entry(9, reason: 1)])], leaf, untrusted: untrusted) == [
                    .failed
                ])
            let revoking = try owner.list(
                [entry(5, reason: 1)], thisUpdate: outdated, nextUpdate: outdated + 60)
            #expect(outcomes(lists + [try signer.list(), revoking], leaf, untrusted: untrusted) == [.failed])
            // Another source could revoke these.
            let others = [
                try owner.authority(name, serial: [5]) { $0.responderURLs = ["http://ocsp.example"] },
                try owner.authority(name, serial: [5]) {
                    $0.extensions = [EncodedExtension.listSigner(sibling.certificate.subject)]
                },
            ]
            for other in others {
                #expect(
                    outcomes(lists + [try other.list()], leaf, untrusted: [authority, other]) == [.failed])
            }
            let stranger = try TestAuthority.root("Stranger").authority(name, serial: [5])
            #expect(
                outcomes(lists + [try stranger.list()], leaf, untrusted: [authority, stranger]) == [
                    .unsettled
                ])
        }
    }

    @Test("A signer below a revoked authority settles nothing")
    func belowRevoked() throws {
        let authority = try root.authority("Authority", serial: [6])
        let signer = try sibling.authority("Authority", serial: [8])
        let leaf = try authority.leaf()
        let untrusted = [authority, sibling, signer]
        let clean = [try sibling.list(), try signer.list()]
        #expect(outcomes([try root.list()] + clean, leaf, untrusted: untrusted) == [.passed])
        let revoking = try root.list(
            [entry(7, reason: 1)], number: [2], thisUpdate: outdated, nextUpdate: outdated + 60)
        #expect(outcomes([try root.list(), revoking] + clean, leaf, untrusted: untrusted) == [.failed])
    }

    @Test("A signer below a revoked, expired or constrained authority revokes nothing", arguments: 0...3)
    func denial(defect: Int) throws {
        let authority = try root.authority("Authority", serial: [6])
        let other = try root.authority("Other", serial: [8]) {
            if defect == 1 { $0.notAfter = TestAuthority.now - 1 }
            if defect == 2 { $0.permittedNames = [.directoryName(root.certificate.subject)] }
        }
        let signer = try other.authority("Authority", serial: [3])
        let own = try root.list(defect == 3 ? [entry(8, reason: 1)] : [])
        let lists = [own, try authority.list(), try signer.list([TestAuthority.entry([9])])]
        let outcomes = outcomes(lists, try authority.leaf(), untrusted: [authority, other, signer])
        #expect(outcomes == [defect == 0 ? .failed : .passed])
    }

    @Test("An authority on hold, or one below it, cannot lift the hold")
    func holdOfAuthority() throws {
        let held = try root.authority("Authority", serial: [6])
        let impostor = try held.authority("Root", serial: [5])
        let leaf = try impostor.leaf()
        let hold = try root.list([entry(6, reason: 6)])
        let release = try impostor.list(number: [2], thisUpdate: outdated)
        #expect(outcomes([hold, try held.list(), release], leaf, untrusted: [held, impostor]) == [.failed])
    }

    @Test("A revoked signer cannot lift its own hold")
    func holdOfRevokedSigner() throws {
        let signer = try root.authority("Signer of Lists", serial: [5])
        let authority = try root.authority("Authority", serial: [6])
        let leaf = try authority.leaf {
            $0.extensions = [EncodedExtension.listSigner(signer.certificate.subject)]
        }
        let held = CertificateRevocationList.Entry(
            serialNumber: [9], date: TestAuthority.start, reason: 6, issuer: authority.certificate.subject)
        let hold = try signer.list([held], [EncodedExtension.indirect])
        let release = try signer.list(
            number: [2], thisUpdate: outdated, [EncodedExtension.indirect])
        let untrusted = [authority, signer]
        for (entries, outcome) in [([], Verification.Outcome.passed), ([entry(5, reason: 1)], .failed)] {
            let lists = [try root.list(entries), hold]
            #expect(outcomes(lists, leaf, untrusted: untrusted) == [.failed])
            #expect(outcomes(lists + [release], leaf, untrusted: untrusted) == [outcome])
        }
    }

    @Test("A list of another signer does not replace an unusable list, even if OpenSSL consults it")
    func otherReplacement() throws {
        let authority = try root.authority("Authority", serial: [6])
        let form = ListForm(
            thisUpdate: DERText.time("241203120000Z"),
            rest: ListForm.rest(entries: [ListForm.entry, DERText.sequence([0x02, 0x01, 0x08])]))
        let unusable = try EncodedRevocationList(der: form.der(by: authority))
        let signer = try sibling.authority("Authority", serial: [8])
        let lists = [try root.list(), unusable, try signer.list(thisUpdate: outdated)]
        let untrusted = [authority, sibling, signer]
        #expect(outcomes(lists, try authority.leaf(), untrusted: untrusted) == [.failed])
    }

    @Test("Certificates with the name and the key of the anchor do not use up the limit of signers")
    func keyOfAnchor() throws {
        let forger = try TestAuthority.root("Root")
        let forged = try (0..<70).map {
            try forger.authority("Root", key: root.key, serial: [UInt8($0 + 10)])
        }
        #expect(outcomes([try root.list()], untrusted: forged) == [.passed])
    }

    @Test(
        "Forged certificates with the name and the key of the anchor's issuer do not use up the limit either")
    func issuerOfAnchor() throws {
        let authority = try root.authority("Authority", serial: [6])
        let forger = try TestAuthority.root("Root")
        for usage in [[.keyCertSign, .cRLSign], .keyCertSign] as [KeyUsage] {
            let forged = try (0..<70).map { number in
                try forger.authority("Root", key: root.key, serial: [UInt8(number + 10)]) {
                    $0.keyUsage = usage
                }
            }
            for (entries, outcome) in [([], Verification.Outcome.passed), ([entry(6, reason: 1)], .failed)] {
                var trial = Trial(
                    trusted: [authority.certificate], untrusted: (forged + [root]).map(\.certificate),
                    lists: [try authority.list(), try root.list(entries)])
                trial.allowsPartialChain = true
                let check = trial.validate(try authority.leaf()).verification.check(.revocation)
                #expect(check.outcome == outcome, "\(check.explanation)")
            }
        }
    }

    @Test("A forged certificate does not displace that of the anchor's issuer, which is not self-signed")
    func displacedIssuer() throws {
        let top = try root.authority("Top", serial: [5])
        let authority = try top.authority("Authority", serial: [6])
        let forger = try TestAuthority.root("Root")
        let forged = try forger.authority("Top", key: top.key, serial: [7]) { $0.keyUsage = [.keyCertSign] }
        let leaf = try authority.leaf {
            $0.extensions = [EncodedExtension.listSigner(top.certificate.subject)]
        }
        let entries = [TestAuthority.entry([9], issuer: authority.certificate.subject)]
        for untrusted in [[forged, top], [top, forged]] {
            var trial = Trial(
                trusted: [authority.certificate], untrusted: untrusted.map(\.certificate),
                lists: [try authority.list(), try top.list(entries, [EncodedExtension.indirect])])
            trial.allowsPartialChain = true
            let check = trial.validate(leaf).verification.check(.revocation)
            #expect(check.outcome == .failed, "\(check.explanation)")
        }
    }

    @Test("A key with parameters of its own does not prove that it is the anchor's issuer")
    func ownParameters() throws {
        let scratch = try ScratchFolder()
        for (form, outcome) in [("named_curve", Verification.Outcome.failed), ("explicit", .passed)] {
            try scratch.shell(
                """
                openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -pkeyopt ec_param_enc:\(form) \
                  | openssl pkcs8 -topk8 -nocrypt -outform DER -out key
                """)
            let key = try PrivateKey(pkcs8: SecretBytes(scratch.read("key")))
            let top = try root.authority("Top", key: key, serial: [5])
            let authority = try top.authority("Authority", serial: [6])
            let leaf = try authority.leaf {
                $0.extensions = [EncodedExtension.listSigner(top.certificate.subject)]
            }
            let entries = [TestAuthority.entry([9], issuer: authority.certificate.subject)]
            var trial = Trial(
                trusted: [authority.certificate], untrusted: [top.certificate],
                lists: [try authority.list(), try top.list(entries, [EncodedExtension.indirect])])
            trial.allowsPartialChain = true
            let check = trial.validate(leaf).verification.check(.revocation)
            #expect(check.outcome == outcome, "\(form): \(check.explanation)")
        }
    }

    /// The certificate in 108 encodings, which differ in the lengths outside the signed part.
    private static func encodings(of certificate: Certificate) throws -> [Certificate] {
        func element(_ tag: UInt8, _ contents: [UInt8], _ count: Int) -> [UInt8] {
            let length = (0..<count).reversed().map {
                UInt8(truncatingIfNeeded: contents.count >> (8 * $0))
            }
            let header = count == 0 ? [UInt8(contents.count)] : [0x80 | UInt8(count)] + length
            return [tag] + header + contents
        }
        let der = certificate.der
        // The signed part begins after the tag and three octets of length, and has more than 127 octets.
        try #require(der[1] == 0x82 && der[5] > 0x80)
        let start = 6 + Int(der[5] & 0x7F)
        let end = der[6..<start].reduce(0) { $0 << 8 | Int($1) } + start
        let algorithm = Array(der[(end + 2)..<(end + 2 + Int(der[end + 1]))])
        let signature = Array(der[(end + algorithm.count + 4)...])
        var encodings: [Certificate] = []
        for (first, second, third) in (0..<108).map({ ($0 % 6, $0 / 6 % 6, 2 + $0 / 36) }) {
            let rest = element(0x30, algorithm, first) + element(0x03, signature, second)
            encodings.append(try Certificate(der: element(0x30, Array(der[4..<end]) + rest, third)))
        }
        #expect(Set(encodings).count == 108 && encodings.contains(certificate))
        return encodings
    }

    @Test("Encodings of one certificate that differ outside its signed part count as one signer")
    func encodings() throws {
        let authority = try root.authority("Authority", serial: [6])
        let renewed = try root.authority("Authority", serial: [8])
        let leaf = try authority.leaf()
        let lists = [try root.list(), try authority.list()]
        let revoking = [try renewed.list([entry(9, reason: 1)])]
        for others in [
            [renewed.certificate] + (try Self.encodings(of: authority.certificate)),
            [authority.certificate] + (try Self.encodings(of: renewed.certificate)),
        ] {
            for (lists, outcome) in [(lists, Verification.Outcome.passed), (lists + revoking, .failed)] {
                let trial = Trial(trusted: [root.certificate], untrusted: others, lists: lists)
                let check = trial.validate(leaf).verification.check(.revocation)
                #expect(check.outcome == outcome, "\(check.explanation)")
            }
        }
    }

    @Test("Many forged certificates with the names of signers take linear time")
    func manyForged() throws {
        let stranger = try TestAuthority.root("Stranger") { $0.serialNumber = [1, 0, 1] }
        let below = try stranger.authority("Root", serial: [1, 0, 1])
        let pool = RevocationPool(lists: [try root.list()])
        func time(_ count: Int) throws -> Double {
            let forged = try [below, stranger].flatMap { authority -> [Certificate] in
                let der = authority.certificate.der
                let serial = try #require(der.firstRange(of: [0x02, 0x03, 0x01, 0x00, 0x01]))
                return try (0..<count).map { number -> Certificate in
                    var der = der
                    der[serial.upperBound - 2] = UInt8(number >> 8)
                    der[serial.upperBound - 1] = UInt8(number & 255)
                    return try Certificate(der: der)
                }
            }
            let certificates = CertificatePool(trusted: [root.certificate], untrusted: forged)
            return processorTime {
                let material = pool.material(
                    for: [leaf, root.certificate], certificates, at: TestAuthority.now, .init(),
                    VerificationObjects())
                #expect(material.listSigners == [] && material.refusal == nil)
            }
        }
        // Quadratic time would be 64 times as long.
        #expect(try time(2_400) < 24 * time(300))
    }

    @Test("The time of a search also limits the signatures of possible signers")
    func time() throws {
        let forger = try TestAuthority.root("Root")
        let forged = try (0..<300).map { number in
            try forger.leaf("Root", serial: [1, UInt8(number >> 8), UInt8(number & 255)])
        }
        let validator = Trial(
            trusted: [root.certificate], untrusted: forged, lists: [try root.list()]
        ).validator
        let clock = SteppingClock(.now)
        validator.now = { clock.next() }
        let check = validator.validate(leaf, at: TestAuthority.now).verification.check(.revocation)
        #expect(check.outcome == .unsettled)
    }

    @Test(
        "A revocation by a signer below one anchor does not count on a path to another one, in any order",
        arguments: [false, true])
    func otherAnchor(isCrossCertificateFirst: Bool) throws {
        let other = try TestAuthority.root("Other Root")
        let authority = try root.authority("Authority", serial: [6])
        let cross = try other.authority("Authority", key: authority.key, serial: [6])
        let signer = try root.authority("Signer of Lists", serial: [5])
        let leaf = try authority.leaf {
            $0.extensions = [EncodedExtension.listSigner(signer.certificate.subject)]
        }
        let entries = [TestAuthority.entry([9], issuer: authority.certificate.subject)]
        let lists = [
            try root.list(), try other.list(), try authority.list(),
            try signer.list(entries, [EncodedExtension.indirect]),
        ]
        let authorities = isCrossCertificateFirst ? [cross, authority] : [authority, cross]
        var trial = Trial(
            trusted: [root, other].map(\.certificate), untrusted: (authorities + [signer]).map(\.certificate),
            lists: lists)
        #expect(trial.failures(leaf) == [])
        trial.trusted = [root.certificate]
        #expect(trial.failures(leaf) == [.revocation])
        // A list that settles nothing on one path can settle the status on the other one.
        trial.trusted = [root, other].map(\.certificate)
        trial.lists = [try root.list(), try other.list(), try signer.list([], [EncodedExtension.indirect])]
        #expect(trial.failures(leaf) == [])
    }
}
