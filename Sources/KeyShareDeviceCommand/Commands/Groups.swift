import ArgumentParser
import CommandSupport
import DeviceSimulation
import SimulatedKeychain

struct Groups: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "groups",
        abstract: "List the application groups, their members and their files.",
        discussion: """
            EXAMPLE:
              keyshare-device groups
            """)

    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
        let console = output.console
        let device = try device.openDevice()
        var names: [String] = []
        for group in App.installed.flatMap(\.applicationGroups) where !names.contains(group) {
            names.append(group)
        }
        let groups = try names.map { name in
            let members = App.installed.filter { $0.applicationGroups.contains(name) }
            let files = try members.first.map { try AppGroup(name, app: $0, device: device).names() }
            return GroupsDocument.Group(
                identifier: name, members: members.map(\.bundleIdentifier), files: files ?? [])
        }
        try console.present(GroupsDocument(groups)) {
            var table = Table(
                .init("GROUP", .wraps(20)), .init("MEMBERS", .wraps(30)), .init("FILES", .wraps(10)))
            for group in groups {
                table.append(
                    group.identifier, group.members.joined(separator: ", "),
                    group.files.isEmpty ? "-" : group.files.joined(separator: ", "))
            }
            try console.table(table)
        }
    }
}
