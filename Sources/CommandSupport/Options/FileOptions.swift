package import SecretMemory
package import ArgumentParser
internal import DeviceSimulation
internal import Foundation
internal import Glibc
package import OpenSSL

/// Where a command writes the bytes it was asked for.
package struct DestinationOptions: ParsableArguments {
    @Option(
        name: [.customShort("o"), .long],
        help: ArgumentHelp("Write to a file (default: - for standard output).", valueName: "file"))
    package var output: String?

    package init() {}

    /// Writes to the file whole or not at all, mode 0600; to what is there and no regular file, such as a pipe,
    /// as it is; or to standard output, though not binary data to a terminal.
    ///
    /// - Throws: `CommandFailure`: 64 for binary data on a terminal, 73 where no file can be made, 74 where the
    ///   bytes are not taken.
    package func write(_ bytes: [UInt8], _ console: Console, isBinary: Bool = false) throws {
        if let output, output != "-" {
            try Self.write(bytes, to: output)
            console.note("wrote \(bytes.count) bytes to \(output)")
            return
        }
        if isBinary, output == nil, isatty(STDOUT_FILENO) == 1 {
            throw CommandFailure(
                .usage, "refusing to write binary data to a terminal",
                hint: "name a file with -o, or -o - to insist")
        }
        try console.write(Data(bytes))
    }

    private static func write(_ bytes: [UInt8], to path: String) throws(CommandFailure) {
        // What a link leads to is meant, not the link.
        let target = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
        let type = try? FileManager.default.attributesOfItem(atPath: target)[.type] as? FileAttributeType
        if let type, type != .typeRegular, type != .typeDirectory {
            do {
                let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: target))
                try handle.write(contentsOf: Data(bytes))
                try handle.close()
            } catch {
                throw CommandFailure(.inputOutput, "cannot write to \(path): \(error.localizedDescription)")
            }
            return
        }
        do throws(DeviceError) {
            try AtomicFile.write(bytes, to: target)
        } catch {
            let failure = error.commandFailure
            throw CommandFailure(
                failure.status, code: failure.code, failure.message, hint: "name another file with -o")
        }
    }

    /// Insists on a file, for commands whose standard output is taken by a JSON document.
    ///
    /// - Throws: `CommandFailure` 64 where none is named.
    package func requireFile() throws(CommandFailure) {
        guard let output, output != "-" else {
            throw CommandFailure(
                .usage, "--json needs standard output for itself", hint: "name a file with -o")
        }
    }
}

/// Whether something that cannot be undone is meant.
package struct ConfirmationOptions: ParsableArguments {
    @Flag(name: .shortAndLong, help: "Do not ask.")
    package var yes = false

    package init() {}

    /// Asks on the terminal, unless `--yes` was given.
    ///
    /// - Throws: `CommandFailure` 10 where the answer is no, or nobody is there to answer.
    package func confirm(_ question: String) throws(CommandFailure) {
        if yes { return }
        guard isatty(STDIN_FILENO) == 1 else {
            throw CommandFailure(
                .refused, code: "not-confirmed", "nobody is there to confirm this", hint: "add --yes")
        }
        Console.say("\(question) [y/N] ")
        let answer = readLine()?.lowercased() ?? ""
        guard answer == "y" || answer == "yes" else {
            throw CommandFailure(.refused, code: "not-confirmed", "nothing was done")
        }
    }
}

/// By which algorithms PKCS #12 files are made.
package struct ProfileOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "How files are protected: \(Self.names.joined(separator: ", ")). (default: modern)",
            valueName: "profile"))
    package var profile: String?

    @Option(help: ArgumentHelp("Key derivation iterations (default: the profile's).", valueName: "n"))
    package var iterations: Int?

    @Flag(help: "Put the authorities' certificates into each file too.")
    package var chain = false

    @Option(
        help: ArgumentHelp(
            "The name on key and certificate (default: SKP in 2025, the subject in legacy).",
            valueName: "name"))
    package var friendlyName: String?

    package init() {}

    package func validate() throws {
        if let profile, PKCS12Profile.Name(rawValue: profile) == nil {
            throw ValidationError(
                "\u{201C}\(profile)\u{201D} is no profile; there are \(Self.names.joined(separator: ", "))")
        }
        if let friendlyName, friendlyName.unicodeScalars.count > PKCS12Limits.standard.friendlyName {
            throw ValidationError(
                "--friendly-name is longer than \(PKCS12Limits.standard.friendlyName) characters")
        }
        if let iterations, !(1...PKCS12Limits.standard.iterations).contains(iterations) {
            throw ValidationError("--iterations takes a number from 1 to \(PKCS12Limits.standard.iterations)")
        }
    }

    /// The profile these options describe.
    ///
    /// - Parameters:
    ///   - usual: the profile where the options name none.
    ///   - usualIterations: the iterations where the options name none; nil for the profile's.
    ///   - usuallyChain: whether there is a chain where the options do not ask for one.
    package func selected(
        usual: PKCS12Profile.Name = .modern, iterations usualIterations: Int? = nil,
        chain usuallyChain: Bool = false
    ) -> PKCS12Profile {
        let named = PKCS12Profile(profile.flatMap(PKCS12Profile.Name.init(rawValue:)) ?? usual)
        var selected = (iterations ?? usualIterations).map(named.iterations) ?? named
        selected.includesChain = chain || usuallyChain
        return selected
    }

    private static let names = PKCS12Profile.Name.allCases.map(\.rawValue)
}

/// How much is taken of PKCS #12 files from anywhere.
package struct ReadingOptions: ParsableArguments {
    @Flag(help: "Take files without a MAC too, whose integrity nothing vouches for.")
    package var allowNoMac = false

    @Option(help: ArgumentHelp("The most bags a file may hold (default: 64).", valueName: "n"))
    package var maxBags: Int?

    package init() {}

    package func validate() throws {
        try Self.validate(maxBags: maxBags)
    }

    /// Checks a number of bags.
    ///
    /// - Throws: `ValidationError` for one that no file can be held to.
    package static func validate(maxBags: Int?) throws {
        if let maxBags, !(1...100_000).contains(maxBags) {
            throw ValidationError("--max-bags takes a number from 1 to 100000")
        }
    }

    /// The limits these options set.
    package var limits: PKCS12Limits {
        var limits = PKCS12Limits.standard
        if let maxBags { limits.bags = maxBags }
        return limits
    }

    /// Opens one file under the passwords there are.
    ///
    /// - Throws: `PKCS12Error`.
    package func open(
        _ bytes: [UInt8], with passwords: inout PasswordAttempts, named name: String
    ) throws -> PKCS12Contents {
        try passwords.open(name) { password in
            try PKCS12.read(
                bytes, password: password.map { .text($0) }, limits: limits, allowNoMAC: allowNoMac)
        }
    }
}

/// The passwords to try on one file after another: the one that was given, or else none and the empty one, then
/// what the user answered for an earlier file, then what the user answers now.
package struct PasswordAttempts {
    /// The password of the options; where there is one no other is tried.
    package let given: SecretBytes?
    /// An answer that opened something.
    package private(set) var answer: SecretBytes?

    package init(given: SecretBytes?) {
        self.given = given
    }

    /// What `attempt` makes of the first password that is not wrong.
    ///
    /// - Parameter name: what the user is asked the password of.
    /// - Throws: what `attempt` throws for the last password there is.
    package mutating func open<Result>(
        _ name: String, _ attempt: (SecretBytes?) throws -> Result
    ) throws -> Result {
        func isWrong(_ error: any Error) -> Bool { (error as? PKCS12Error)?.code == .wrongPassword }
        do {
            return try attempt(given)
        } catch  where isWrong(error) && given == nil {
            if let answer, let result = try? attempt(answer) { return result }
            guard let typed = PasswordOptions.prompt("Password of \(name)") else { throw error }
            let result = try attempt(typed)
            answer = typed
            return result
        }
    }

    /// The next password to try where no exception tells, in the order of ``open(_:_:)``: the earlier answer
    /// first, then the user's.
    package func next(after tried: Int, for name: String) -> SecretBytes? {
        guard given == nil else { return nil }
        if tried == 0, let answer { return answer }
        return tried < 2 ? PasswordOptions.prompt("Password of \(name)") : nil
    }

    /// Keeps an answer that opened something.
    package mutating func keep(_ password: SecretBytes) {
        answer = password
    }
}
