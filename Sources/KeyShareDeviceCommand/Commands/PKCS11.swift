import ArgumentParser
import CommandSupport
import Foundation

struct PKCS11: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pkcs11",
        abstract: "Print the commands that connect a program to the persistent token through PKCS #11.",
        discussion: """
            keyshare-provider serve provides the token, and libkeyshare-pkcs11.so connects programs to it. Replace \
            words in capitals: LABEL is an object's name, as pkcs11-tool -O or p11tool --list-all prints it.

            EXAMPLE:
              keyshare-device pkcs11 --for ssh
              keyshare-device pkcs11 --for p11-kit
              keyshare-device pkcs11 --path
            """)

    @Option(name: .customLong("for"), help: ArgumentHelp("The program.", valueName: "program"))
    var client: Client?

    @Flag(help: "Print only the path of the module, for scripts.")
    var path = false

    @Option(
        help: ArgumentHelp(
            "The module (default: libkeyshare-pkcs11.so next to this command, or in the package's location).",
            valueName: "path"))
    var module: String?

    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard client != nil || path else { throw ValidationError("either --for or --path is required") }
        guard client == nil || !path else { throw ValidationError("--for and --path cannot be combined") }
    }

    func run() throws {
        let module = try modulePath()
        let lines = client?.lines(module: module) ?? [module]
        try output.console.present(PKCS11Document(client: client?.rawValue, module: module, lines: lines)) {
            for line in lines { try output.console.data(line) }
        }
    }

    private func modulePath() throws -> String {
        if let module {
            let path = URL(fileURLWithPath: module).standardizedFileURL.path
            guard FileManager.default.isReadableFile(atPath: path) else {
                throw CommandFailure(
                    .noSuchItem, "no module exists at \(path)",
                    hint: "set the path of libkeyshare-pkcs11.so with --module"
                )
            }
            return path
        }
        let command = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
            .deletingLastPathComponent()
        // Packages install the module in the directory that p11-kit searches.
        #if arch(arm64)
            let triplet = "aarch64-linux-gnu"
        #else
            let triplet = "x86_64-linux-gnu"
        #endif
        let places = ["", "../pkcs11/", "../\(triplet)/pkcs11/", "../lib/", "../lib/keyshare/"].map {
            command.appendingPathComponent($0 + "libkeyshare-pkcs11.so").standardizedFileURL.path
        }
        guard let found = places.first(where: FileManager.default.isReadableFile(atPath:)) else {
            throw CommandFailure(
                .noSuchItem, "libkeyshare-pkcs11.so is not next to this command",
                hint: "build it with swift build --product keyshare-pkcs11, or set its path with --module")
        }
        return found
    }
}
