internal import CommandSupport
internal import KeyShareConsumer
internal import KeySharing
internal import ZipBundles

/// An import that a page has begun, with its progress and its results as the command `import` gives them.
struct ImportJob: Encodable, Sendable {
    /// The number of the import.
    let number: Int
    /// The mechanism.
    let mechanism: String
    /// The items, as they are named.
    let items: [String]
    /// The command that does the same.
    let command: String
    /// How many items are done.
    var done = 0
    /// Whether the import is over.
    var isOver = false
    /// A row for each identity and each failure.
    var results: [ImportDocument.Row] = []
    /// The exit code that the command would give.
    var exitCode: Int32 = 0

    init(number: Int, _ request: PickerRequest, command: String) {
        self.number = number
        mechanism = request.mechanism.rawValue
        items = request.items
        self.command = command
    }

    /// Takes the results of one item.
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
