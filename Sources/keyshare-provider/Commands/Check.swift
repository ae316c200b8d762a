import ArgumentParser
import CommandSupport
import DeviceSimulation
import Diagnostics
import KeyShareProvider

struct Check: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "See that nothing in the keychain was damaged or altered.",
        discussion: """
            Opens every record, holds each identity's certificate, private key, label and summary against each \
            other, and looks at the keychain's tables and who may enter the device's folders. Makes and repairs \
            nothing; ends with 74 where something is wrong. It cannot tell that another program has deleted a \
            record, or put older files of this device in place of the newer ones.

            EXAMPLE:
              keyshare-provider check --json
            """)

    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
        let console = output.console
        let report = try IntegrityReport(of: try device.existingDevice())
        let failure = report.problems.isEmpty ? nil : CommandFailure(damage: report.problems)
        try console.present(IntegrityDocument(report), failure: failure) { Console.problems(report.problems) }
        console.note("\(counted(report.identities, "identity", "identities")), nothing wrong")
    }
}
