import ArgumentParser
import CommandSupport
import Diagnostics
import KeyShareClient
import KeyShareConsumer
import PersistentToken

extension TokenCommand {
    struct Matrix: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "matrix",
            abstract: "Try every algorithm with the keys of tokens, and compare the outcomes.",
            discussion: """
                The command runs the operations of the sample consumer: 6 paddings and 22 algorithms with each key that \
                signs, 3 paddings and 12 algorithms with each key that decrypts. --all adds 42 algorithms for elliptic \
                curves and tries everything with every key.

                A row with an unexpected outcome is called a surprise. If there is one, the exit code is 1.

                EXAMPLE:
                  keyshare-consumer token matrix --first
                  keyshare-consumer token matrix --all --json
                """)

        @Option(
            help: ArgumentHelp(
                "Only this identity, by label or serial number, or by a unique prefix.", valueName: "label"),
            completion: .tokenLabels)
        var identity: String?

        @Flag(help: "Try only the first key that signs and the first that decrypts, as the sample does.")
        var first = false

        @Flag(help: "Try every algorithm, including elliptic curves, with every key.")
        var all = false

        @Flag(help: "Expect the behaviour of the sample's token (keyshare-provider serve --like-the-sample).")
        var likeTheSample = false

        @OptionGroup var access: TokenAccessOptions
        @OptionGroup var output: OutputOptions

        func validate() throws {
            if first, identity != nil { throw ValidationError("--first and --identity cannot be combined") }
        }

        func run() async throws {
            let console = output.console
            let rows = try await access.withTokens { client, keychain in
                let named = try identity.map { try keychain.identity(askedFor: $0).entry.objectID }
                return try await results(client, keychain, named: named)
            }
            guard !rows.isEmpty else {
                throw CommandFailure(
                    .noSuchItem, "no token is registered",
                    hint: "register one: keyshare-provider token add --all")
            }
            let document = TokenMatrixDocument(rows: rows)
            let failure =
                document.surprises == 0
                ? nil
                : CommandFailure(
                    .tokenSurprise,
                    "\(counted(document.surprises, "row", "rows")) had an unexpected outcome",
                    hint: likeTheSample
                        ? "restart the provider: keyshare-provider serve --like-the-sample"
                        : "if the provider serves with --like-the-sample, add --like-the-sample here too")
            try console.present(document, failure: failure) {
                try console.matrix(rows)
                console.note(
                    "\(counted(rows.count, "row", "rows")), \(counted(document.surprises, "surprise", "surprises"))"
                )
            }
        }

        /// Tries the operations of the matrix with each selected identity.
        private func results(
            _ client: ProviderClient, _ keychain: TokenKeychain, named: String?
        ) async throws -> [TokenMatrixDocument.Row] {
            var rows: [TokenMatrixDocument.Row] = []
            let groups = TokenMatrix.Group.allCases.filter { all || $0.isOfTheSample }
            for group in groups {
                var found = keychain.identities(all ? .all : group.query)
                if let named { found = found.filter { $0.entry.objectID == named } }
                if first { found = Array(found.prefix(1)) }
                for identity in found {
                    for row in TokenMatrix.rows where row.group == group {
                        let result = try await TokenMatrix.run(row, identity, isLikeTheSample: likeTheSample)
                        {
                            try await client.use($0)
                        }
                        rows.append(TokenMatrixDocument.Row(result, identity))
                    }
                }
            }
            return rows
        }
    }
}

extension TokenMatrixDocument.Row {
    fileprivate init(_ result: TokenMatrix.Result, _ identity: TokenIdentity) {
        self.init(
            objectID: identity.entry.objectID, group: result.row.group.rawValue, name: result.row.name,
            expected: .init(result.expected), actual: .init(result.actual), message: result.error?.reason)
    }
}

extension TokenMatrixDocument.Outcome {
    fileprivate init(_ outcome: TokenMatrix.Outcome) {
        switch outcome {
        case .success: self = .success
        case .refused(let code): self = .refused(code)
        case .wrongResult: self = .wrongResult
        }
    }
}

extension Console {
    /// Prints the operations as a table: the key, the operation, the expected outcome and the actual outcome.
    ///
    /// - Throws: `CommandFailure` (74) if standard output cannot be written.
    fileprivate func matrix(_ rows: [TokenMatrixDocument.Row]) throws(CommandFailure) {
        var table = Table(
            .init("KEY", .uniqueStart()), .init("PART", leaves: 1), "ALGORITHM", .init("EXPECTED", leaves: 2),
            "ACTUAL", "")
        for row in rows {
            let name = row.name.hasPrefix("kSecKeyAlgorithm") ? String(row.name.dropFirst(16)) : row.name
            table.append(
                row.objectID, row.group, name, row.expected.text, row.actual.text,
                row.asExpected ? "" : "surprise")
        }
        try self.table(table)
    }
}
