import ArgumentParser
import CommandSupport
import KeyShareConsumerCommand
import KeyShareDeviceCommand
import KeyShareProviderCommand

/// All commands as one executable, which is what packages install: the three share nearly all of their code.
///
/// The name by which it is started, that of a link to it, says which command it is.
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
                    "this file holds several commands, and \u{201C}\(name)\u{201D} is the name of none",
                    hint: "start it by a link named "
                        + commands.compactMap { $0.configuration.commandName }.joined(separator: ", ")))
        }
        await command.main()
    }
}
