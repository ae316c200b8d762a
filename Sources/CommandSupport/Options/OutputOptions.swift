internal import ArgumentParser
internal import Foundation

/// What every command takes: how it talks.
package struct OutputOptions: ParsableArguments {
    @Flag(name: .long, help: "Write one JSON document to standard output instead of text.")
    package var json = false

    @Flag(name: .shortAndLong, help: "Say nothing on standard error but errors.")
    package var quiet = false

    @Flag(name: .shortAndLong, help: "Say more on standard error.")
    package var verbose = false

    package init() {}

    package func validate() throws {
        if quiet && verbose { throw ValidationError("--quiet and --verbose exclude each other") }
    }

    /// The console these options ask for.
    package var console: Console {
        Console(
            isJSON: json, verbosity: quiet ? .quiet : verbose ? .verbose : .normal,
            environment: ProcessInfo.processInfo.environment)
    }
}
