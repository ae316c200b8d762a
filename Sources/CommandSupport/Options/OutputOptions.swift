internal import ArgumentParser

/// The output options of every command.
package struct OutputOptions: ParsableArguments {
    @Flag(name: .long, help: "Write one JSON document to standard output instead of text.")
    package var json = false

    @Flag(name: .shortAndLong, help: "Print no messages except errors.")
    package var quiet = false

    @Flag(name: .shortAndLong, help: "Also write details to standard error.")
    package var verbose = false

    @Flag(help: "Show tables in full width, even on a narrow terminal.")
    package var wide = false

    package init() {}

    package func validate() throws {
        if quiet && verbose { throw ValidationError("--quiet and --verbose cannot be combined") }
    }

    /// The console with the behaviour that these options specify.
    package var console: Console {
        Console(
            isJSON: json, verbosity: quiet ? .quiet : verbose ? .verbose : .normal, isWide: wide,
            environment: Console.variables)
    }
}
