import ArgumentParser
import CommandSupport
import DeviceSimulation
import Diagnostics

struct Presence: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "presence",
        abstract: "Say how the user answers when an app wants to use a persistent token's key.",
        discussion: """
            With ask, each use waits until somebody answers: keyshare-device presence answer yes. Without an \
            argument it shows how the user answers, and how many questions wait.

            EXAMPLE:
              keyshare-device presence deny
              keyshare-device presence allow --delay 200
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

    @Argument(help: "How the user answers from now on; or answer, for the questions that wait.")
    var change: Change?

    @Argument(help: "With answer: what the user says to the questions that wait.")
    var reply: Reply?

    @Option(
        help: ArgumentHelp(
            "How long the user takes for it, up to \(UserPresence.longestDelay).", valueName: "milliseconds"))
    var delay: Int?

    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        if (change == .answer) != (reply != nil) {
            throw ValidationError("answer goes with yes, no or cancel, and these go with answer")
        }
        if let delay {
            guard change != nil, change != .answer else {
                throw ValidationError("--delay goes with allow, deny, cancel or ask")
            }
            guard (0...UserPresence.longestDelay).contains(delay) else {
                throw ValidationError("--delay takes 0 to \(UserPresence.longestDelay) milliseconds")
            }
        }
    }

    func run() throws {
        let console = output.console
        let presence = UserPresence(try device.openDevice())
        var answered = 0
        if let reply {
            answered = try presence.answer(reply.answer)
            guard answered > 0 else {
                throw CommandFailure(
                    .noSuchItem, "no question waits for an answer",
                    hint: "questions wait after keyshare-device presence ask")
            }
        } else if let answer = change.flatMap({ UserPresence.Answer(rawValue: $0.rawValue) }) {
            try presence.set(answer, delayMilliseconds: delay ?? 0)
        }
        let status = try presence.status()
        try console.present(PresenceDocument(status)) {
            if answered > 0 { return console.note("answered \(counted(answered, "question", "questions"))") }
            try console.data(status.answer.rawValue)
            if status.questionsWaiting > 0 {
                console.note("\(counted(status.questionsWaiting, "question waits", "questions wait"))")
            }
        }
    }
}
