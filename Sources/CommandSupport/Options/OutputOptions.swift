internal import ArgumentParser

/// The options of every command about what it writes.
package struct OutputOptions: ParsableArguments {
    @Flag(name: .long, help: "Write one JSON document to standard output instead of text.")
    package var json = false

    @Flag(name: .shortAndLong, help: "Write only errors to standard error.")
    package var quiet = false

    @Flag(name: .shortAndLong, help: "Write details to standard error too.")
    package var verbose = false

    @Flag(help: "Show tables whole, however narrow the terminal.")
    package var wide = false

    package init() {}

    package func validate() throws {
        if quiet && verbose { throw ValidationError("--quiet and --verbose exclude each other") }
    }

    /// The console that these options ask for.
    package var console: Console {
        Console(
            isJSON: json, verbosity: quiet ? .quiet : verbose ? .verbose : .normal, isWide: wide,
            environment: Console.variables)
    }
}
