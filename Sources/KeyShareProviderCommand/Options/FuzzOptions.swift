import ArgumentParser

/// The options for testing a consumer with mutated files.
struct FuzzOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Test mutations of valid files for a time such as 90s, 10m or 1h, or this number of files.",
            valueName: "amount"), transform: FuzzAmount.init)
    var fuzz: FuzzAmount?

    @Option(
        name: [.customShort("o"), .customLong("output")],
        help: ArgumentHelp(
            "Write the findings of --fuzz, or the messages of --only, to this folder.", valueName: "dir"),
        completion: .directory)
    var folder: String?
}

/// How long the fuzzer runs.
enum FuzzAmount: Sendable, Equatable {
    case time(Duration)
    case files(Int)

    init(_ text: String) throws {
        let units = ["s": 1, "m": 60, "h": 3_600]
        let unit = text.last.flatMap { units[String($0)] }
        guard let number = Int(unit == nil ? text : String(text.dropLast())),
            (1...1_000_000_000).contains(number)
        else {
            throw ValidationError(
                "\u{201C}\(text)\u{201D} is neither a time such as 90s, 10m or 1h, nor a number of files")
        }
        self = unit.map { .time(.seconds(number * $0)) } ?? .files(number)
    }
}
