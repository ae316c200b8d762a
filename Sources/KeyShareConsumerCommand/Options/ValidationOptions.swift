import ArgumentParser
import CommandSupport
import Diagnostics
import Foundation
import LocalSockets
import LoopbackHTTP
import OpenSSL
import PathValidation

/// The trusted certificates, the validation material and the requirements for paths.
struct ValidationOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            Trusted certificates: PEM, DER, a .p7c or .p7b file, or a folder of these; may be repeated. Self-signed \
            certificates are anchors; the others are intermediate certificates.
            """, valueName: "file"),
        completion: .file())
    var trust: [String] = []

    @Option(
        help: ArgumentHelp(
            "Intermediate certificates that are not trusted; may be repeated.", valueName: "file"),
        completion: .file())
    var untrusted: [String] = []

    @Option(
        help: ArgumentHelp(
            "Revocation lists; the revocation status must then be settled. May be repeated.",
            valueName: "file"),
        completion: .file())
    var crl: [String] = []

    @Option(
        help: ArgumentHelp(
            "OCSP responses; the revocation status must then be settled. May be repeated.",
            valueName: "file"),
        completion: .file())
    var ocsp: [String] = []

    @Option(
        help: ArgumentHelp(
            "An acceptable policy, as a dotted identifier; may be repeated.",
            valueName: "oid"))
    var policy: [String] = []

    @Flag(help: "Require the path to be valid for at least one policy.")
    var explicitPolicy = false

    @Flag(help: "Ignore policy mappings.")
    var inhibitPolicyMapping = false

    @Flag(help: "Do not accept anyPolicy in place of other policies.")
    var inhibitAnyPolicy = false

    @Option(
        help: ArgumentHelp(
            "The purpose of the certificate: \(CertificatePurpose.allCases.map(\.rawValue).joined(separator: ", ")).",
            valueName: "name"),
        completion: .list(CertificatePurpose.allCases.map(\.rawValue)),
        transform: ValidationOptions.purpose)
    var purpose: CertificatePurpose?

    @Option(
        help: ArgumentHelp(
            "The minimum strength of keys and signatures, 0 to 3; 2 rejects RSA below 2048 bits and SHA-1.",
            valueName: "level"))
    var securityLevel = 2

    @Flag(help: "Enforce every detail of RFC 5280.")
    var strict = false

    @Flag(help: "Treat every trusted certificate as an anchor, self-signed or not.")
    var partialChain = false

    @Flag(help: "Accept certificates whose only defect is that they have expired.")
    var allowExpired = false

    @Flag(help: "Fetch missing material from the http: URLs in the certificates, only from this machine.")
    var fetch = false

    @Option(
        help: ArgumentHelp(
            "With --fetch, also fetch from this host; may be repeated.", valueName: "host"))
    var fetchFrom: [String] = []

    func validate() throws {
        guard !trust.isEmpty else { throw ValidationError("--trust is missing") }
        for oid in policy where oid.wholeMatch(of: /[0-2](\.\d+)+/) == nil {
            throw ValidationError("\u{201C}\(oid)\u{201D} is not a dotted object identifier")
        }
        guard (0...3).contains(securityLevel) else {
            throw ValidationError("--security-level must be a number from 0 to 3")
        }
        guard fetch || fetchFrom.isEmpty else { throw ValidationError("--fetch-from requires --fetch") }
        for host in fetchFrom where host.isEmpty || host.contains(where: { "/@ ".contains($0) }) {
            throw ValidationError(
                "\u{201C}\(host)\u{201D} is not a host name; use the form in URLs, such as pki.example")
        }
    }

    /// The files named by options. One of them may be standard input.
    var files: [String] { trust + untrusted + crl + ocsp }

    /// The verifier, with the requirements that every path must meet.
    var verifier: CertificateVerifier {
        var verifier = CertificateVerifier()
        verifier.acceptedPolicies = policy
        verifier.requiresExplicitPolicy = explicitPolicy
        verifier.inhibitsPolicyMapping = inhibitPolicyMapping
        verifier.inhibitsAnyPolicy = inhibitAnyPolicy
        verifier.purpose = purpose
        verifier.securityLevel = securityLevel
        verifier.isStrict = strict
        verifier.allowsExpired = allowExpired
        return verifier
    }

    /// Reads the files.
    ///
    /// - Throws: `CertificateError`, and `CommandFailure` for standard input.
    func material() throws -> (
        pool: CertificatePool, revocation: RevocationPool, skipped: [ValidationMaterial.SkippedFile]
    ) {
        var reading = MaterialReading()
        let trusted = try trust.map { try reading.read($0, for: .anchors) }
        let others = try untrusted.map { try reading.read($0, for: .certificates) }
        let lists = try crl.map { try reading.read($0, for: .lists) }
        let responses = try ocsp.map { try reading.read($0, for: .responses) }
        let material = reading.material
        let pool = CertificatePool(
            trusted: trusted.flatMap { material.certificates[$0.certificates] },
            untrusted: others.flatMap { material.certificates[$0.certificates] },
            allowsPartialChain: partialChain)
        let revocation = RevocationPool(
            lists: lists.flatMap { material.lists[$0.lists] },
            responses: responses.flatMap { material.responses[$0.responses] },
            isRequired: !crl.isEmpty || !ocsp.isEmpty)
        return (pool, revocation, material.skipped)
    }

    /// The fetcher of missing material; nil without `--fetch`.
    var fetcher: MaterialFetcher? {
        guard fetch else { return nil }
        let client = FetchClient(hosts: fetchFrom)
        return MaterialFetcher { request in
            do throws(SocketError) {
                let isQuestion = request.kind == .status
                return .arrived(
                    try await client.fetch(
                        request.url, posting: isQuestion ? request.body : nil,
                        of: "application/ocsp-request"))
            } catch {
                return error.code == .hostNotPermitted
                    ? .hostNotPermitted(error.reason) : .nothing(error.reason)
            }
        }
    }

    private static func purpose(_ text: String) throws -> CertificatePurpose {
        if let purpose = CertificatePurpose(rawValue: text.lowercased()) { return purpose }
        let names = CertificatePurpose.allCases.map(\.rawValue)
        let near = NearMatch.of(text, among: names).map { "; did you mean \($0)?" }
        throw ValidationError(
            "\u{201C}\(text)\u{201D} is not a purpose\(near ?? "; use \(names.joined(separator: ", "))")")
    }
}

/// Reads files and folders once each, even if several options name them.
private struct MaterialReading {
    /// The material from one file or folder.
    struct Part {
        var certificates = 0..<0
        var lists = 0..<0
        var responses = 0..<0
        /// The number of certificates, including duplicates of certificates in other files.
        var certificatesRead = 0
        var isFolder = false
    }

    /// The kinds of material that an option expects.
    enum Kind: String {
        case anchors, certificates = "certificate"
        case lists = "revocation list"
        case responses = "OCSP response"
    }

    private var reader = MaterialReader()
    private var parts: [String: Part] = [:]

    var material: ValidationMaterial { reader.material }

    /// Reads the file or folder at `path`. A file must contain material of the expected kind, and a folder given with
    /// `--trust` must contain certificates.
    mutating func read(_ path: String, for kind: Kind) throws -> Part {
        let part = try parts[path] ?? read(path)
        parts[path] = part
        let (count, noun) =
            switch kind {
            case .anchors, .certificates: (part.certificatesRead, Kind.certificates.rawValue)
            case .lists: (part.lists.count, kind.rawValue)
            case .responses: (part.responses.count, kind.rawValue)
            }
        guard count > 0 || part.isFolder && kind != .anchors else {
            throw CertificateError(.missing, "\(path): contains no \(noun)")
        }
        return part
    }

    private mutating func read(_ path: String) throws -> Part {
        var part = Part()
        let start = (
            certificates: reader.material.certificates.count, lists: reader.material.lists.count,
            responses: reader.material.responses.count, read: reader.certificatesRead
        )
        if path == "-" {
            let limit = MaterialLimits().fileOctets
            try reader.take(try InputFile.read("-", limit: limit), named: "standard input")
        } else {
            try reader.read(path)
            var isFolder: ObjCBool = false
            part.isFolder =
                unsafe FileManager.default.fileExists(atPath: path, isDirectory: &isFolder)
                && isFolder.boolValue
        }
        part.certificates = start.certificates..<reader.material.certificates.count
        part.lists = start.lists..<reader.material.lists.count
        part.responses = start.responses..<reader.material.responses.count
        part.certificatesRead = reader.certificatesRead - start.read
        return part
    }
}
