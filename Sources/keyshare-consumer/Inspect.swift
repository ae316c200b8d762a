import ArgumentParser
import CommandSupport
import Foundation
import KeySharing
import OpenSSL

struct Inspect: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show everything about one PKCS #12 file, without importing it.",
        discussion: """
            EXAMPLE:
              keyshare-consumer inspect signature.p12 --password-file secret.txt
              keyshare-consumer inspect signature.p12 --readers
            """)

    @Argument(help: "A PKCS #12 file; - is standard input.")
    var file: String

    @OptionGroup var password: PasswordOptions
    // Nothing on it is needed; taken all the same, as by every command.
    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    @Flag(help: "Say too whether other readers would open the file, by models of them.")
    var readers = false

    @Option(help: ArgumentHelp("The most bags the file may hold (default: 64).", valueName: "n"))
    var maxBags: Int?

    func validate() throws {
        try password.validate(files: [file])
        try ReadingOptions.validate(maxBags: maxBags)
    }

    func run() throws {
        let console = output.console
        var limits = PKCS12Limits.standard
        if let maxBags { limits.bags = maxBags }
        let bytes = try InputFile.read(file, limit: 2 * limits.fileSize, cutsOff: true)
        let given = try password.password()
        var report = PKCS12.inspect(bytes, password: given.map { .text($0) }, limits: limits)
        if report.verdict == .wrongPassword, given == nil,
            let answer = PasswordOptions.prompt("Password of \(file)")
        {
            report = PKCS12.inspect(bytes, password: .text(answer), limits: limits)
        }
        let failure = report.error.map { CommandFailure($0) }
        let verdicts = readers ? ReaderModel.allCases.map { $0.verdict(on: report) } : nil
        if output.json {
            try console.document(InspectionDocument(report, failure, verdicts))
        } else {
            try write(report, console)
            if let verdicts { try write(verdicts, console) }
        }
        if let failure {
            Console.failure(failure)
            throw ReportedFailure(failure)
        }
    }

    private func write(_ report: PKCS12Report, _ console: Console) throws {
        let contents = report.contents
        var fields = [(name: "verdict", value: "\(report.verdict.rawValue): \(report.message)")]
        let mac = contents.mac.map {
            "\($0.algorithm), \($0.iterations) iterations, salt of \($0.saltLength) bytes"
        }
        fields.append((name: "MAC", value: mac ?? "none"))
        fields += contents.encryption.map { (name: "encryption", value: $0) }
        fields.append((name: "certificates", value: String(contents.certificateCount)))
        fields.append((name: "other bags", value: String(contents.otherBags.count)))
        fields += contents.notes.map { (name: "note", value: $0.description) }
        try console.fields(fields, indent: "")
        for identity in contents.identities {
            try console.data("\nidentity")
            try console.fields(CertificateDocument(identity).fields)
        }
        for certificate in contents.certificates {
            try console.data("\ncertificate without its key")
            try console.certificate(certificate)
        }
        for key in contents.keys { try console.data("\nkey without certificate: \(key.privateKey)") }
        for key in contents.unknownKeys {
            try console.data("\nkey of a kind that cannot be used: \(key.name)")
        }
    }
}

extension Inspect {
    private func write(_ verdicts: [ReaderModel.Verdict], _ console: Console) throws {
        try console.data("\nother readers (\(ReaderModel.caution))")
        try console.fields(
            verdicts.map { verdict in
                let reasons = verdict.reasons.joined(separator: " ")
                return (
                    name: verdict.reader.title,
                    value: verdict.outcome.rawValue + (reasons.isEmpty ? "" : ": \(reasons)")
                )
            })
    }
}

private struct InspectionDocument: Encodable {
    struct MAC: Encodable {
        let present: Bool
        let algorithm: String?
        let iterations: Int?
    }

    struct UnknownKey: Encodable {
        let algorithm: String
        let name: String
    }

    struct Reader: Encodable {
        let reader: String
        let title: String
        let outcome: String
        let reasons: [String]
    }

    let verdict: String
    let message: String
    let mac: MAC
    let encryption: [String]
    let identities: [CertificateDocument]
    let certificates: Int
    let otherBags: Int
    let keysWithoutCertificate: Int
    let unusableKeys: [UnknownKey]
    let notes: [String]
    /// Only where they were asked for.
    let readers: [Reader]?
    let error: FailureDocument.Body?

    init(_ report: PKCS12Report, _ failure: CommandFailure?, _ verdicts: [ReaderModel.Verdict]?) {
        let contents = report.contents
        verdict = report.verdict.rawValue
        message = report.message
        mac = MAC(
            present: contents.mac != nil, algorithm: contents.mac?.algorithm,
            iterations: contents.mac?.iterations)
        encryption = contents.encryption
        identities = contents.identities.map { CertificateDocument($0) }
        certificates = contents.certificateCount
        otherBags = contents.otherBags.count
        keysWithoutCertificate = contents.keys.count
        unusableKeys = contents.unknownKeys.map { UnknownKey(algorithm: $0.algorithm, name: $0.name) }
        notes = contents.notes.map(\.description)
        readers = verdicts?.map { verdict in
            Reader(
                reader: verdict.reader.rawValue, title: verdict.reader.title,
                outcome: verdict.outcome.rawValue, reasons: verdict.reasons)
        }
        error = failure.map(FailureDocument.Body.init)
    }
}
