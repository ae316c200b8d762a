import ArgumentParser
import CommandSupport
import Diagnostics
import KeyShareClient
import KeyShareConsumer
import PersistentToken

extension Token {
    struct Matrix: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "matrix",
            abstract: "Try every algorithm with the keys of tokens, and compare with what is expected.",
            discussion: """
                It runs the operations of the sample consumer: 6 paddings and 22 algorithms with each key that signs, 3 and \
                12 with each that decrypts. --all adds 42 algorithms for curves, and tries everything with every key.

                A row that does not end as expected is a surprise, and ends the command with 1.

                EXAMPLE:
                  keyshare-consumer token matrix --first
                  keyshare-consumer token matrix --all --json
                """)

        @Option(
            help: ArgumentHelp(
                "Only this identity, by label or serial number or enough of the start.", valueName: "label"),
            completion: .tokenLabels)
        var identity: String?

        @Flag(help: "Only the first key that signs and the first that decrypts, as the sample does.")
        var first = false

        @Flag(help: "Every algorithm with every key, curves included.")
        var all = false

        @Flag(help: "Expect what the sample's token does (keyshare-provider serve --like-the-sample).")
        var likeTheSample = false

        @OptionGroup var access: TokenAccessOptions
        @OptionGroup var output: OutputOptions

        func validate() throws {
            if first, identity != nil { throw ValidationError("--first goes without --identity") }
        }

        func run() async throws {
            let console = output.console
            let rows = try await access.withTokens { client, keychain in
                let named = try identity.map { try keychain.identity(named: $0).entry.objectID }
                return try await results(client, keychain, named: named)
            }
            guard !rows.isEmpty else {
                throw CommandFailure(
                    .noSuchItem, "there is no token to try",
                    hint: "register one: keyshare-provider token add --all")
            }
            let document = TokenMatrixDocument(rows: rows)
            let failure =
                document.surprises == 0
                ? nil
                : CommandFailure(
                    .tokenSurprise,
                    "\(counted(document.surprises, "row", "rows")) did not end as expected",
                    hint: likeTheSample
                        ? "serve the token as the sample's: keyshare-provider serve --like-the-sample"
                        : "a token that is like the sample's is expected to be so with --like-the-sample")
            try console.present(document, failure: failure) {
                try console.matrix(rows)
                console.note(
                    "\(counted(rows.count, "row", "rows")), \(counted(document.surprises, "surprise", "surprises"))"
                )
            }
        }

        /// Tries the rows with the identities that are meant.
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
    /// Writes operations as a table: with which key, which, how they were to end, how they ended.
    ///
    /// - Throws: `CommandFailure` (74) when standard output does not take it.
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
