import PrivateFiles
import TestSupport
import Testing

@testable import OpenSSL

@Suite("Certificates that several signers share", .timeLimit(.minutes(10)))
struct SharedCertificateTests {
    private let scratch: ScratchFolder

    init() throws {
        scratch = try ScratchFolder()
        try scratch.shell(
            """
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem \\
              -out certificate.pem -subj /CN=Signer -days 30
            printf hello >text
            signer="-signer certificate.pem -inkey key.pem"
            openssl cms -sign -binary -nocerts -in text $signer $signer $signer -outform DER -out bare.der
            openssl cms -resign -binary -in bare.der -inform DER -content text $signer -outform DER -out whole.der
            """)
    }

    private func structure(_ name: String) throws -> CMSStructure {
        try CMSStructure(reading: ArraySource(try scratch.read(name))) { _ in }
    }

    /// Returns the certificates in the reports on a message.
    private func signers(
        _ signature: CMSSignature, accompaniedBy others: [Certificate] = []
    ) throws -> [Certificate] {
        let file = try UnnamedFile(in: scratch.path)
        try file.write("hello".utf8)
        try file.rewind()
        let reports = try withExtendedLifetime(file) {
            try signature.examine(file.descriptor, accompaniedBy: others)
        }
        #expect(reports.allSatisfy { $0.outcome == .sound })
        return reports.compactMap(\.certificate)
    }

    /// The parsed values, which only copies of the same certificate share.
    private func contents(_ certificate: Certificate) throws -> ObjectIdentifier {
        let contents = Mirror(reflecting: certificate).descendant("contents") as? CertificateContents
        return ObjectIdentifier(try #require(contents))
    }

    @Test("A certificate in a message is decoded once for all of its signers")
    func certificateInMessage() throws {
        let signature = try CMSSignature(structure("whole.der"))
        let own = try contents(try #require(signature.certificates.first))
        #expect(try signers(signature).map { try contents($0) } == [own, own, own, own])
        let description = try CMSDescription(structure("whole.der"))
        let described = try contents(try #require(description.certificates.first))
        let named = try description.signers.map { try contents(try #require($0.certificate)) }
        #expect(named == [described, described, described, described])
    }

    @Test("A certificate that accompanies a message is not decoded again for its signers")
    func certificateOutside() throws {
        let other = try #require(Certificate.pem(scratch.read("certificate.pem")).first)
        let expected = try contents(other)
        let signature = try CMSSignature(structure("bare.der"))
        let found = try signers(signature, accompaniedBy: [other])
        #expect(try found.map { try contents($0) } == [expected, expected, expected])
    }
}
