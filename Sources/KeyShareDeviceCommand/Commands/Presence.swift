import ArgumentParser
import CommandSupport
import DeviceSimulation
import Diagnostics
import KeySharing

struct Presence: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "presence",
        abstract: "Set the simulated user's answer when an app uses a persistent token's key.",
        discussion: """
            The same answer applies when an Android app asks for the permission READ_ALIAS or for a key in KeyChain. \
            In KeyChain's dialog the user confirms the preselected alias, or selects the one that --alias names.

            With ask, each key use waits for an answer: keyshare-device presence answer yes. Without an argument, the \
            command shows the current setting and the pending questions.

            EXAMPLE:
              keyshare-device presence deny
              keyshare-device presence allow --delay 200
              keyshare-device presence allow --alias 'Purebred Recovered #1'
            """)

    enum Change: String, CaseIterable, ExpressibleByArgument {
        case allow, deny, cancel, ask, answer
    }

    enum Reply: String, CaseIterable, ExpressibleByArgument {
        case yes, no, cancel

        var answer: UserPresence.Answer {
            switch self {
            case .yes: .allow
            case .no: .deny
            case .cancel: .cancel
            }
        }
    }

    @Argument(help: "The answer to all future questions; answer replies to the pending ones.")
    var change: Change?

    @Argument(help: "The reply to the pending questions, after answer.")
    var reply: Reply?

    @Option(
        help: ArgumentHelp(
            "The delay before each answer, up to \(UserPresence.longestDelay).", valueName: "milliseconds"))
    var delay: Int?

    @Option(
        help: ArgumentHelp(
            "The alias that the user selects in KeyChain's dialog, with allow or answer yes.",
            valueName: "name"),
        completion: .installedAliases)
    var alias: String?

    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        if (change == .answer) != (reply != nil) {
            throw ValidationError(
                "answer must be followed by yes, no or cancel; the other settings have no argument")
        }
        if let alias {
            guard change == .allow || reply == .yes else {
                throw ValidationError("--alias requires \u{201C}allow\u{201D} or \u{201C}answer yes\u{201D}")
            }
            guard AliasNaming.isValid(alias) else {
                throw ValidationError(
                    "--alias must be 1 to \(AliasNaming.longestAlias) bytes long, without control or formatting characters"
                )
            }
        }
        if let delay {
            guard change != nil, change != .answer else {
                throw ValidationError("--delay requires allow, deny, cancel or ask")
            }
            guard (0...UserPresence.longestDelay).contains(delay) else {
                throw ValidationError("--delay must be 0 to \(UserPresence.longestDelay) milliseconds")
            }
        }
    }

    func run() throws {
        let console = output.console
        let presence = UserPresence(try device.openDevice())
        var answered = 0
        if let reply {
            answered = try presence.answer(reply.answer, selecting: alias)
            guard answered > 0 else {
                throw CommandFailure(
                    .noSuchItem, "no question is pending",
                    hint: "to be asked at each key use: keyshare-device presence ask")
            }
        } else if let answer = change.flatMap({ UserPresence.Answer(rawValue: $0.rawValue) }) {
            try presence.set(answer, selecting: alias, delayMilliseconds: delay ?? 0)
        }
        let status = try presence.status()
        try console.present(PresenceDocument(status)) {
            if answered > 0 { return console.note("answered \(counted(answered, "question", "questions"))") }
            try console.data(status.answer.rawValue)
            if status.questionsWaiting > 0 {
                console.note("\(counted(status.questionsWaiting, "pending question", "pending questions"))")
            }
            for dialog in status.pendingDialogs.map(\.dialog) { console.note(Self.words(for: dialog)) }
        }
    }

    /// Describes a pending dialog on one line.
    private static func words(for dialog: AndroidDialog) -> String {
        switch dialog.kind {
        case .readAlias: "\(dialog.app) asks for the permission READ_ALIAS"
        case .chooseKey:
            "\(dialog.app) asks for a key: \(counted(dialog.offered.count, "alias is", "aliases are")) offered, "
                + (dialog.preselected.map { "\u{201C}\($0)\u{201D} is selected" } ?? "none is selected")
        }
    }
}
