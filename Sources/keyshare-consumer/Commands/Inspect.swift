import PKCS12Compatibility
import ArgumentParser
import CommandSupport
import KeyShareConsumer
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
    // Not used: every command takes the options of a device.
    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    @Flag(help: "Show whether other programs would open the file, by models of the programs.")
    var readers = false

    @Option(help: ArgumentHelp("The maximum number of bags in the file (default: 64).", valueName: "n"))
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
        let failure = report.error.map { CommandFailure($0).advising(on: bytes) }
        let verdicts = readers ? ReaderModel.allCases.map { $0.verdict(on: report) } : nil
        try console.present(InspectionDocument(report, verdicts), failure: failure) {
            try write(report, console)
            if let verdicts { try write(verdicts, console) }
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
        for entry in contents.certificateEntries {
            try console.data("\ncertificate without its key")
            try console.fields(CertificateDocument(entry).fields)
        }
        for bag in InspectedBag.all(in: contents) {
            try console.data("\n\(bag.title)")
            try console.fields(bag.fields)
        }
    }

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
