import CommandSupport
import KeyShareProvider
import KeySharing
import TestVectors

extension ExportChoice {
    /// Returns the files with these names, or every file if there are no names. File names in the result are unique.
    ///
    /// - Throws: `RequestError` for the first unknown name; `CommandFailure` (9) if there are no files.
    func files(_ items: [String]) async throws -> [ExportedFile] {
        var files: [ExportedFile] = []
        if items.isEmpty {
            files = try allFiles()
        } else {
            var failures: [CommandFailure] = []
            for item in items {
                do {
                    let file = try await file(item)
                    if !files.contains(where: { $0.identifier == file.identifier }) { files.append(file) }
                } catch {
                    failures.append(CommandFailure(error))
                }
            }
            if let first = failures.first {
                for failure in failures.dropFirst() { Console.failure(failure) }
                throw first
            }
        }
        guard !files.isEmpty else {
            throw CommandFailure(
                .noSuchItem, "there is nothing to export",
                hint: "to create identities: keyshare-provider provision")
        }
        var unique = UniqueFilenames()
        return files.map { $0.named(unique.claim($0.name)) }
    }

    /// Returns the files that a sample app bundles.
    ///
    /// - Throws: `CommandFailure` (9) if no person has enough identities, or several persons have.
    func files(for app: SampleApp) throws(CommandFailure) -> [ExportedFile] {
        switch app.choose(from: snapshot.identities) {
        case .files(let files):
            return files.map { file(of: $0.identity).named($0.name) }
        case .notEnough(let needed):
            let words = needed.map { "\($0.count) of the type \($0.type.rawValue)" }.joined(separator: ", ")
            throw CommandFailure(
                .noSuchItem, "\(app.rawValue) bundles \(words), and no person has that many",
                hint: "to create such a person: keyshare-provider provision --person \"Dana Example\"")
        case .severalPersons(let persons):
            throw CommandFailure(
                .noSuchItem, code: "ambiguous-name",
                "\(persons.count) persons have the identities that \(app.rawValue) bundles",
                hint: "choose one with --person: " + persons.prefix(3).joined(separator: ", "))
        }
    }
}
