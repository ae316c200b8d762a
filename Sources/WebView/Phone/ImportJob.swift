internal import CommandSupport
internal import KeyShareConsumer
internal import KeySharing
internal import ZipBundles

/// An import that a page has started: its progress, and results like those of the command `import`.
struct ImportJob: Encodable, Sendable {
    /// The number that identifies the import.
    let number: Int
    /// The mechanism of the import: `2025` or `legacy`.
    let mechanism: String
    /// The types of the request, with which the page repeats the import.
    let types: [String]
    /// The names of the items to import.
    let items: [String]
    /// The equivalent command line.
    let command: String
    /// The number of items whose import has finished.
    var done = 0
    /// Whether the import of all items has finished.
    var isOver = false
    /// A row for each identity and each failure.
    var results: [ImportDocument.Row] = []
    /// The exit code of the equivalent command.
    var exitCode: Int32 = 0

    init(number: Int, _ request: PickerRequest, command: String) {
        self.number = number
        mechanism = request.mechanism.rawValue
        types = request.types
        items = request.items
        self.command = command
    }

    /// Adds the results of one item.
    mutating func take(_ results: [ImportResult]) {
        for result in results {
            switch result.outcome {
            case .imported(let identity):
                self.results.append(
                    .init(item: result.item, entry: result.entry, status: .imported, identity: identity))
            case .duplicate(let identity):
                self.results.append(
                    .init(item: result.item, entry: result.entry, status: .duplicate, identity: identity))
            case .failed(let error):
                let failure = CommandFailure(error)
                if exitCode == 0 { exitCode = failure.status.rawValue }
                self.results.append(.init(item: result.item, entry: result.entry, failure: failure))
            case .skipped: break
            }
        }
        done += 1
    }
}
