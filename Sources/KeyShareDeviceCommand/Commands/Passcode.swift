import ArgumentParser
import CommandSupport
import DeviceSimulation
import SecretMemory

struct Passcode: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "passcode",
        abstract: "Set or remove the passcode. Removing it deletes the items that require one.",
        discussion: """
            The passcode is also the PIN of the token, for programs that log in (keyshare-provider serve --token-login). \
            It is initially \(DevicePasscode.initial). Setting another one ends all logins and grants. The \
            password options supply the new passcode.

            After \(DevicePasscode.mostTries) consecutive wrong passcodes, the token accepts none in any login mode; \
            reset-tries resets the counter.

            EXAMPLE:
              keyshare-device passcode remove --yes
              echo 4711 | keyshare-device passcode set --password-stdin
            """)

    enum Change: String, CaseIterable, ExpressibleByArgument {
        case set
        case remove
        case resetTries = "reset-tries"
    }

    @Argument(help: "The action.")
    var passcode: Change

    @OptionGroup(title: "Options for the new passcode") var password: PasswordOptions

    @OptionGroup var confirmation: ConfirmationOptions
    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        if password.isGiven, passcode != .set {
            throw ValidationError("password options require the action set")
        }
    }

    func run() throws {
        let typed = try typedPasscode()
        if passcode == .remove {
            try confirmation.confirm("Remove the passcode and every key that requires one?")
        }
        try device.changeState(output, done: done(isTyped: typed != nil)) { device in
            switch passcode {
            case .set:
                try device.setPasscode()
                if let typed { try DevicePasscode(device).set(typed) }
            case .remove: try device.removePasscode()
            case .resetTries: try DevicePasscode(device).resetTries()
            }
        }
    }

    /// Returns a description of the change.
    private func done(isTyped: Bool) -> String {
        switch passcode {
        case .set: isTyped ? "the passcode was replaced" : "the device has a passcode"
        case .remove: "the passcode and every key that requires one are removed"
        case .resetTries: "all \(DevicePasscode.mostTries) tries are available again"
        }
    }

    /// Returns the passcode that the options name; nil if they name none.
    private func typedPasscode() throws -> SecretBytes? {
        guard let passcode = try password.password() else { return nil }
        guard DevicePasscode.lengths.contains(passcode.count) else {
            let (least, most) = (DevicePasscode.lengths.lowerBound, DevicePasscode.lengths.upperBound)
            throw CommandFailure(.usage, "a passcode must be \(least) to \(most) bytes long")
        }
        return passcode
    }
}
