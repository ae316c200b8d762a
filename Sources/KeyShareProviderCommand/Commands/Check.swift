import ArgumentParser
import CommandSupport
import DeviceSimulation
import Diagnostics
import KeyShareProvider

struct Check: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Check that nothing in the keychain was damaged or altered.",
        discussion: """
            Opens every record, compares the certificate, private key, label and summary of each identity, and \
            checks the tables of the keychain and who may enter the folders of the device. Makes and repairs \
            nothing; the exit code is 74 if something is wrong. The command cannot notice that another program has \
            deleted a record, or has replaced the files by older ones of this device.

            EXAMPLE:
              keyshare-provider check --json
            """)

    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
        let console = output.console
        let report = try IntegrityReport(of: try device.untouchedDevice())
        let failure = report.problems.isEmpty ? nil : CommandFailure(damage: report.problems)
        try console.present(IntegrityDocument(report), failure: failure) { Console.problems(report.problems) }
        console.note("\(counted(report.identities, "identity", "identities")), nothing wrong")
    }
}
