import ArgumentParser
import CommandSupport
import KeyShareConsumerCommand
import KeyShareDeviceCommand
import KeyShareProviderCommand

/// All commands in one executable, for packages: the three commands share nearly all of their code.
///
/// The name of the executable, usually that of a symbolic link, selects the command.
@main
enum KeyshareMain {
    private static let commands: [any RootCommand.Type] = [
        ProviderCommand.self, ConsumerCommand.self, DeviceCommand.self,
    ]

    static func main() async {
        let name = CommandMain.programName
        guard let command = commands.first(where: { $0.configuration.commandName == name }) else {
            CommandMain.refuse(
                CommandFailure(
                    .usage,
                    "this executable contains several commands, but none is named \u{201C}\(name)\u{201D}",
                    hint: "start it through a link named "
                        + commands.compactMap { $0.configuration.commandName }.joined(separator: ", ")))
        }
        await command.main()
    }
}
