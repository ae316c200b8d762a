import ArgumentParser
import CommandSupport
import DeviceSimulation
import Foundation

struct PasteboardContent: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pasteboard",
        abstract: "Show the owner of the pasteboard item and the attempts to read it; never prints the item.",
        discussion: """
            EXAMPLE:
              keyshare-device pasteboard
              keyshare-device pasteboard --clear
            """)

    @Flag(help: "Remove the item from the pasteboard.")
    var clear = false

    @OptionGroup var clock: ClockOptions
    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
        let console = output.console
        let pasteboard = try Pasteboard(device: try device.openDevice())
        if clear { try pasteboard.clear() }
        let status = try pasteboard.status(now: clock.now)
        let accesses = try pasteboard.accesses()
        try console.present(PasteboardDocument(status, accesses)) {
            var table = Table("WHEN", .init("READER", .wraps(20)), .init("OWNER", .wraps(20)), "OUTCOME")
            for access in accesses {
                table.append(access.date.utcText, access.reader, access.owner ?? "-", access.outcome.rawValue)
            }
            try console.table(table)
            if let owner = status.owner, let expires = status.expires {
                console.note("the pasteboard contains an item of \(owner) until \(expires.utcText)")
            } else {
                console.note("the pasteboard is empty\(status.hasExpired ? ": its item has expired" : "")")
            }
        }
    }
}
