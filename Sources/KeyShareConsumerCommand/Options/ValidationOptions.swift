import ArgumentParser
import CommandSupport
import Diagnostics
import Foundation
import LocalSockets
import LoopbackHTTP
import OpenSSL
import PathValidation

/// What certificates are validated against, and what is asked of their paths.
struct ValidationOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            What is trusted: PEM, DER, a .p7c or .p7b, or a folder of these; may be given several times. The \
            self-signed certificates are anchors, the others help to build paths.
            """, valueName: "file"),
        completion: .file())
    var trust: [String] = []

    @Option(
        help: ArgumentHelp(
            "Certificates that only help to build paths; may be given several times.", valueName: "file"),
        completion: .file())
    var untrusted: [String] = []

    @Option(
        help: ArgumentHelp(
            "Revocation lists, which must then settle what is checked; may be given several times.",
            valueName: "file"),
        completion: .file())
    var crl: [String] = []

    @Option(
        help: ArgumentHelp(
            "OCSP responses, which must then settle what is checked; may be given several times.",
            valueName: "file"),
        completion: .file())
    var ocsp: [String] = []

    @Option(
        help: ArgumentHelp(
            "A policy of which the path must be valid for at least one, dotted; may be given several times.",
            valueName: "oid"))
    var policy: [String] = []

    @Flag(help: "Ask that the path is valid for some policy.")
    var explicitPolicy = false

    @Flag(help: "Let no policy stand for another one.")
    var inhibitPolicyMapping = false

    @Flag(help: "Let anyPolicy stand for no other policy.")
    var inhibitAnyPolicy = false

    @Option(
        help: ArgumentHelp(
            "What it is to be used for: \(CertificatePurpose.allCases.map(\.rawValue).joined(separator: ", ")).",
            valueName: "name"),
        completion: .list(CertificatePurpose.allCases.map(\.rawValue)),
        transform: ValidationOptions.purpose)
    var purpose: CertificatePurpose?

    @Option(
        help: ArgumentHelp(
            "The least strength of keys and signatures, 0 to 3; 2 refuses RSA below 2048 bits and SHA-1.",
            valueName: "level"))
    var securityLevel = 2

    @Flag(help: "Hold certificates to RFC 5280 in the details too.")
    var strict = false

    @Flag(help: "Take every trusted certificate for an anchor, self-signed or not.")
    var partialChain = false

    @Flag(help: "Accept what has only expired.")
    var allowExpired = false

    @Flag(help: "Fetch what is missing from the http: URLs in the certificates, on this machine alone.")
    var fetch = false

    @Option(
        help: ArgumentHelp(
            "Fetch from this host too, with --fetch; may be given several times.", valueName: "host"))
    var fetchFrom: [String] = []

    func validate() throws {
        guard !trust.isEmpty else { throw ValidationError("--trust is missing") }
        for oid in policy where oid.wholeMatch(of: /[0-2](\.\d+)+/) == nil {
            throw ValidationError("\u{201C}\(oid)\u{201D} is no dotted object identifier")
        }
        guard (0...3).contains(securityLevel) else {
            throw ValidationError("--security-level takes a number from 0 to 3")
        }
        guard fetch || fetchFrom.isEmpty else { throw ValidationError("--fetch-from needs --fetch") }
        for host in fetchFrom where host.isEmpty || host.contains(where: { "/@ ".contains($0) }) {
            throw ValidationError(
                "\u{201C}\(host)\u{201D} is no host; name one as URLs do, such as pki.example")
        }
    }

    /// The files that are named, of which one may be standard input.
    var files: [String] { trust + untrusted + crl + ocsp }

    /// What is asked of every path.
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
    func material(_ console: Console) throws -> (pool: CertificatePool, revocation: RevocationPool) {
        var reading = MaterialReading()
        let trusted = try trust.map { try reading.read($0, for: .anchors) }
        let others = try untrusted.map { try reading.read($0, for: .certificates) }
        let lists = try crl.map { try reading.read($0, for: .lists) }
        let responses = try ocsp.map { try reading.read($0, for: .responses) }
        let material = reading.material
        for skipped in material.skipped { console.detail("skipped \(skipped.reason)") }
        let pool = CertificatePool(
            trusted: trusted.flatMap { material.certificates[$0.certificates] },
            untrusted: others.flatMap { material.certificates[$0.certificates] },
            allowsPartialChain: partialChain)
        let revocation = RevocationPool(
            lists: lists.flatMap { material.lists[$0.lists] },
            responses: responses.flatMap { material.responses[$0.responses] },
            isRequired: !crl.isEmpty || !ocsp.isEmpty)
        return (pool, revocation)
    }

    /// What fetches what is missing; nil without `--fetch`.
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
                return .nothing(error.reason)
            }
        }
    }

    private static func purpose(_ text: String) throws -> CertificatePurpose {
        if let purpose = CertificatePurpose(rawValue: text.lowercased()) { return purpose }
        let names = CertificatePurpose.allCases.map(\.rawValue)
        let near = NearMatch.of(text, among: names).map { "; did you mean \($0)?" }
        throw ValidationError(
            "\u{201C}\(text)\u{201D} is no purpose\(near ?? ": there are \(names.joined(separator: ", "))")")
    }
}

/// Reads files and folders once each, though several options name them.
private struct MaterialReading {
    /// What one file or folder added to the material.
    struct Part {
        var certificates = 0..<0
        var lists = 0..<0
        var responses = 0..<0
        /// How many certificates it holds, those included that another file has too.
        var certificatesRead = 0
        var isFolder = false
    }

    /// What an option is about.
    enum Kind: String {
        case anchors, certificates = "certificate"
        case lists = "revocation list"
        case responses = "OCSP response"
    }

    private var reader = MaterialReader()
    private var parts: [String: Part] = [:]

    var material: ValidationMaterial { reader.material }

    /// Reads what is at `path`. A file must hold what the option is about, and a folder something to trust.
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
            throw CertificateError(.missing, "\(path): it holds no \(noun)")
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
