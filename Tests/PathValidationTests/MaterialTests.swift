import Foundation
import OpenSSL
import PathValidation
import TestSupport
import Testing

@Suite("Reading certificates and revocation lists", .timeLimit(.minutes(10)))
struct MaterialTests {
    private static func read(_ path: String, _ limits: MaterialLimits = .init()) throws -> ValidationMaterial
    {
        var reader = MaterialReader(limits: limits)
        try reader.read(path)
        return reader.material
    }

    @Test("PEM files, DER files, PKCS #7 files and folders are read, and each certificate is read once")
    func forms() throws {
        let folder = try ScratchFolder()
        let root = try TestAuthority.root("Root")
        let authority = try root.authority("Authority")
        let list = try root.issuer.revocationList(
            [], thisUpdate: TestAuthority.start, nextUpdate: nil, number: [1])
        func write(_ name: String, _ bytes: [UInt8]) throws -> String {
            let path = folder.path + "/" + name
            try Data(bytes).write(to: URL(fileURLWithPath: path))
            return path
        }
        let pem = try write(
            "a.pem", Array((root.certificate.pem + list.pem + authority.certificate.pem).utf8))
        #expect(try Self.read(pem).certificates == [root.certificate, authority.certificate])
        #expect(try Self.read(pem).lists.map(\.issuer) == [root.certificate.subject])
        let der = try write("b.crt", authority.certificate.der)
        #expect(try Self.read(der).certificates == [authority.certificate])
        let crl = try write("c.crl", list.der)
        #expect(try Self.read(crl).lists.count == 1)
        let bundle = BundleSamples.bundle([root.certificate.der, authority.certificate.der], [list.der])
        let p7c = try write("d.p7c", bundle)
        #expect(try Self.read(p7c).certificates == [root.certificate, authority.certificate])
        #expect(try Self.read(p7c).lists.count == 1)
        let p7b = try write("e.p7b", Array(PEM.text("PKCS7", bundle).utf8))
        #expect(try Self.read(p7b).certificates.count == 2)
        _ = try write("README", Array("nothing".utf8))
        _ = try write("f.pem", Array(PEM.text("TRUSTED CERTIFICATE", root.certificate.der).utf8))
        let all = try Self.read(folder.path)
        #expect(Set(all.certificates) == [root.certificate, authority.certificate])
        #expect(all.lists.count == 4)
        #expect(all.skipped.map(\.path) == ["README", "f.pem"].map { folder.path + "/" + $0 })
    }

    private static let damaged = Array("-----BEGIN X509 CRL-----\nAAAA\n-----END X509 CRL-----\n".utf8)

    @Test(
        "Files that are damaged or cannot be read are errors in a folder",
        arguments: [
            ("printf 'text' > \"$(printf 'm\\351.pem')\"", CertificateError.Code.unreadable),
            ("mkfifo pipe.pem", .unreadable),
            ("ln -s missing link.pem", .unreadable), ("cp damaged folder/damaged.pem", .malformed),
        ])
    func unreadableEntries(command: String, code: CertificateError.Code) throws {
        let folder = try ScratchFolder()
        _ = try folder.write(Self.damaged, as: "damaged")
        try folder.shell("mkdir folder")
        _ = try folder.write(try TestAuthority.root("Root").certificate.der, as: "folder/root.crt")
        #expect(try Self.read(folder.path("folder")).certificates.count == 1)
        try folder.shell(command.hasPrefix("cp") ? command : "cd folder; " + command)
        let error = #expect(throws: CertificateError.self) { try Self.read(folder.path("folder")) }
        #expect(error?.code == code, "\(error.debugDescription)")
    }

    @Test(
        "Missing files are reported as unreadable, damaged blocks as malformed, and other files as missing material"
    )
    func errors() throws {
        let folder = try ScratchFolder()
        let path = folder.path + "/file"
        #expect(throws: CertificateError(.unreadable, "")) { try Self.read(path) }
        let root = try TestAuthority.root("Root")
        let list = try root.issuer.revocationList(
            [], thisUpdate: TestAuthority.start, nextUpdate: nil, number: [1])
        for bytes in [
            [], Array("text".utf8), [0x30, 0x80], Array(root.certificate.der.dropLast()), list.der + [0],
            Array(list.der.dropLast()),
        ] {
            try Data(bytes).write(to: URL(fileURLWithPath: path))
            #expect(throws: CertificateError(.missing, "")) { try Self.read(path) }
        }
        try Data(Self.damaged).write(to: URL(fileURLWithPath: path))
        #expect(throws: CertificateError(.malformed, "")) { try Self.read(path) }
        #expect(throws: CertificateError(.unreadable, "")) { try Self.read("/dev/null") }
    }

    @Test("A trusted certificate in OpenSSL's format is rejected, and the error names the format")
    func trustedCertificate() throws {
        let text = PEM.text("TRUSTED CERTIFICATE", try TestAuthority.root("Root").certificate.der)
        var reader = MaterialReader()
        do throws(CertificateError) {
            try reader.take(Array(text.utf8), named: "ca.pem")
            Issue.record("it was read")
        } catch {
            #expect(error.code == .missing)
            #expect(error.reason.hasPrefix("ca.pem: TRUSTED CERTIFICATE is an OpenSSL format"))
        }
    }

    @Test("Reading stops at its limits, and the error names the limit")
    func limits() throws {
        let folder = try ScratchFolder()
        let root = try TestAuthority.root("Root")
        for index in 0..<4 {
            let leaf = try root.leaf(serial: [UInt8(index + 1)])
            try Data(leaf.der).write(to: URL(fileURLWithPath: folder.path + "/\(index).crt"))
        }
        for change: (inout MaterialLimits) -> Void in [
            { $0.files = 3 }, { $0.certificates = 3 }, { $0.fileOctets = 100 }, { $0.keptOctets = 1000 },
        ] {
            var limits = MaterialLimits()
            change(&limits)
            #expect(throws: CertificateError(.overLimit, "")) { try Self.read(folder.path, limits) }
        }
        #expect(try Self.read(folder.path).certificates.count == 4)
    }

    @Test("A file may be as large as the limit, but not larger, and a device is not read")
    func fileLimit() throws {
        let folder = try ScratchFolder()
        let root = try TestAuthority.root("Root").certificate
        let path = try folder.write(root.der, as: "root.crt")
        var limits = MaterialLimits()
        limits.fileOctets = root.der.count
        #expect(try Self.read(path, limits).certificates == [root])
        limits.fileOctets -= 1
        #expect(throws: CertificateError(.overLimit, "")) { try Self.read(path, limits) }
        let error = #expect(throws: CertificateError.self) { try Self.read("/dev/null") }
        #expect(error?.code == .unreadable && error?.reason == "/dev/null: not a regular file")
    }

    @Test("Large lists are loaded from their files only when a path needs them")
    func largeLists() throws {
        let folder = try ScratchFolder()
        let root = try TestAuthority.root("Root")
        let entries = (0..<4000).map { number in
            TestAuthority.entry([1, UInt8(number >> 8), UInt8(number & 0xFF)])
        }
        let list = try root.issuer.revocationList(
            entries + [TestAuthority.entry([9])], thisUpdate: TestAuthority.start,
            nextUpdate: TestAuthority.end, number: [1])
        let file = folder.path + "/large.crl"
        try Data(list.der).write(to: URL(fileURLWithPath: file))
        let lists = try Self.read(file).lists
        #expect(lists.map(\.isHeld) == [false])
        let trial = Trial(trusted: [root.certificate], lists: lists)
        #expect(trial.failures(try root.leaf()) == [.revocation])
        #expect(trial.failures(try root.leaf(serial: [10])) == [])
        try Data([0]).write(to: URL(fileURLWithPath: file))
        let changed = trial.validate(try root.leaf(serial: [10])).verification.check(.revocation)
        #expect(changed.outcome == .unsettled && changed.explanation.contains("has changed"))
    }

    @Test(
        "A folder's hidden files and subfolders are not read, and a certificate that it contains twice is kept once"
    )
    func folders() throws {
        let folder = try ScratchFolder()
        let root = try TestAuthority.root("Root")
        for (name, authority) in [("a.crt", root), ("b.crt", root), (".c.crt", try .root("Hidden"))] {
            _ = try folder.write(authority.certificate.der, as: name)
        }
        try FileManager.default.createDirectory(
            atPath: folder.path("subfolder"), withIntermediateDirectories: false)
        let material = try Self.read(folder.path)
        #expect(material.certificates == [root.certificate] && material.skipped.isEmpty)
    }

    @Test("PEM text without certificates, lists and responses is reported as missing material")
    func otherBlocks() {
        var reader = MaterialReader()
        func take() throws(CertificateError) {
            try reader.take(Array(PEM.text("PUBLIC KEY", [0x30, 0x00]).utf8), named: "key.pem")
        }
        #expect(throws: CertificateError(.missing, "")) { try take() }
    }

    @Test("OCSP responses are read in DER and in PEM, and a damaged one is malformed")
    func responses() throws {
        let root = try TestAuthority.root("Root")
        let leaf = try root.leaf()
        let der = try root.issuer.statusResponse(
            to: OCSPRequest(for: leaf, issuedBy: root.certificate), thisUpdate: TestAuthority.start,
            nextUpdate: TestAuthority.end
        ) { _ in .good }
        let response = try StatusResponse(der: der)
        for bytes in [der, Array(PEM.text("OCSP RESPONSE", der).utf8)] {
            var reader = MaterialReader()
            try reader.take(bytes, named: "response")
            #expect(reader.material.responses == [response] && reader.material.lists.isEmpty)
        }
        let damaged = Array(PEM.text("OCSP RESPONSE", Array(der.dropLast())).utf8)
        let others: [([UInt8], CertificateError.Code)] = [(damaged, .malformed), ([0x30, 0x00], .missing)]
        for (bytes, code) in others {
            var reader = MaterialReader()
            func take() throws(CertificateError) { try reader.take(bytes, named: "response") }
            #expect(throws: CertificateError(code, "")) { try take() }
        }
    }

    @Test("A file may have as many certificates as the limit, and a path through a file is missing")
    func boundaries() throws {
        let folder = try ScratchFolder()
        let root = try TestAuthority.root("Root").certificate
        let path = try folder.write(root.der, as: "root.crt")
        var limits = MaterialLimits()
        (limits.certificates, limits.files) = (1, 1)
        #expect(try Self.read(folder.path, limits).certificates == [root])
        let error = #expect(throws: CertificateError.self) { try Self.read(path + "/below") }
        #expect(error?.code == .unreadable && error?.reason.hasSuffix("no such file") == true)
    }

    @Test("The older label of certificates in PEM is also read")
    func olderLabel() throws {
        let root = try TestAuthority.root("Root").certificate
        var reader = MaterialReader()
        try reader.take(Array(PEM.text("X509 CERTIFICATE", root.der).utf8), named: "root.pem")
        #expect(reader.material.certificates == [root])
    }

    @Test("The files of a folder are read in the order of their names")
    func order() throws {
        let folder = try ScratchFolder()
        let roots = try ["A", "B", "C", "D"].map { try TestAuthority.root($0).certificate }
        for (name, root) in zip(["c.crt", "a.crt", "d.crt", "b.crt"], roots) {
            _ = try folder.write(root.der, as: name)
        }
        #expect(try Self.read(folder.path).certificates == [roots[1], roots[3], roots[0], roots[2]])
    }

    @Test("A certificate that contains the text of a PEM header is read as DER")
    func headerInName() throws {
        let root = try TestAuthority.root("-----BEGIN CERTIFICATE-----")
        var reader = MaterialReader()
        try reader.take(root.certificate.der, named: "root.crt")
        #expect(reader.material.certificates == [root.certificate])
    }

    @Test("Certificates and lists count until the limit on all kept bytes is exceeded")
    func keptOctets() throws {
        let root = try TestAuthority.root("Root")
        let list = try root.issuer.revocationList(
            [], thisUpdate: TestAuthority.start, nextUpdate: nil, number: [1])
        for excess in [0, 1] {
            var limits = MaterialLimits()
            limits.keptOctets = root.certificate.der.count + list.der.count - excess
            var reader = MaterialReader(limits: limits)
            try reader.take(root.certificate.der, named: "root.crt")
            // The same certificate counts once.
            try reader.take(root.certificate.der, named: "root.crt")
            func takeList() throws(CertificateError) { try reader.take(list.der, named: "list.crl") }
            if excess == 0 {
                try takeList()
            } else {
                #expect(throws: CertificateError(.overLimit, "")) { try takeList() }
            }
        }
    }

    @Test(
        "A certificate stays trusted if it is also among the untrusted ones, and an added one is not trusted")
    func trust() throws {
        let root = try TestAuthority.root("Root")
        let both = CertificatePool(trusted: [root.certificate], untrusted: [root.certificate])
        #expect(both.count == 1 && both.adding([root.certificate]).count == 1)
        let leaf = try root.leaf()
        for (pool, isValid) in [
            (both, true), (both.adding([root.certificate]), true),
            (CertificatePool(trusted: [], untrusted: []).adding([root.certificate]), false),
        ] {
            let validator = PathValidator(
                CertificateVerifier(), pool: pool, revocation: RevocationPool(lists: [], responses: []))
            #expect(validator.validate(leaf, at: TestAuthority.now).isValid == isValid)
        }
    }
}
