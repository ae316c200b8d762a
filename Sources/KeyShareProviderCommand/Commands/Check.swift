import ArgumentParser
import CommandSupport
import DeviceSimulation
import Diagnostics
import KeyShareProvider

struct Check: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Check the keychain for damage and alterations.",
        discussion: """
            The command opens every record, compares the certificate, private key, label and summary of each identity, \
            and checks the keychain's tables and the permissions of the device's folders. It changes and repairs \
            nothing. The exit code is 74 if it finds a problem.

            It detects records that another program deleted and databases that it replaced with an older copy, unless \
            that program also restored `keychain/generation` or has the master key.

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
        let authorities =
            report.authorities == 0
            ? "" : " and \(counted(report.authorities, "authority", "authorities")) of test PKIs"
        console.note("\(counted(report.identities, "identity", "identities"))\(authorities), no problems")
    }
}
