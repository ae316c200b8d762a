import ArgumentParser
import CommandSupport
import DeviceSimulation
import SecretMemory

struct Passcode: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "passcode",
        abstract: "Set the passcode or remove it; removing it deletes what is kept only with one.",
        discussion: """
            The passcode is the PIN of the token where a program asks for one (keyshare-provider serve --token-login). \
            It is \(DevicePasscode.initial) until another is set with set --password-stdin. After \(DevicePasscode.mostTries) \
            wrong ones in a row the token takes none; reset-tries lets it take them again.

            EXAMPLE:
              keyshare-device passcode remove --yes
              echo 4711 | keyshare-device passcode set --password-stdin
            """)

    enum Change: String, CaseIterable, ExpressibleByArgument {
        case set
        case remove
        case resetTries = "reset-tries"
    }

    @Argument(help: "What to do with it.")
    var passcode: Change

    @OptionGroup(title: "The passcode to set") var password: PasswordOptions

    @OptionGroup var confirmation: ConfirmationOptions
    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        if password.isGiven, passcode != .set { throw ValidationError("a password goes with set") }
    }

    func run() throws {
        let typed = try typedPasscode()
        if passcode == .remove {
            try confirmation.confirm("Remove the passcode, and every key that is kept only with one?")
        }
        try device.changeState(output) { device in
            switch passcode {
            case .set:
                try device.setPasscode()
                if let typed { try DevicePasscode(device).set(typed) }
            case .remove: try device.removePasscode()
            case .resetTries: try DevicePasscode(device).resetTries()
            }
        }
    }

    /// The passcode that the options name; nil where they name none.
    private func typedPasscode() throws -> SecretBytes? {
        guard let passcode = try password.password() else { return nil }
        guard DevicePasscode.lengths.contains(passcode.count) else {
            let (least, most) = (DevicePasscode.lengths.lowerBound, DevicePasscode.lengths.upperBound)
            throw CommandFailure(.usage, "a passcode has \(least) to \(most) bytes")
        }
        return passcode
    }
}
