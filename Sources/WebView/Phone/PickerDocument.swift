internal import CommandSupport
internal import KeyShareConsumer
internal import KeySharing

/// The items of one container as the picker shows them for a request, and the request as commands and code.
struct PickerDocument: Encodable {
    /// The decision about an item. Several rows can share one.
    struct Reason: Encodable {
        let state: String
        let reason: String
        let message: String
        let missing: [String]

        init(_ decision: ItemDecision) {
            state = decision.state.rawValue
            reason = decision.reason.rawValue
            message = decision.message
            missing = decision.missing
        }
    }

    /// An item that is not listed for the request.
    struct Absent: Encodable {
        let row: ItemListingDocument.Row
        let reason: Int
    }

    /// The mechanism of the request.
    let mechanism: String
    /// The container that the picker shows.
    let container: String
    /// The types of the request.
    let requested: [String]
    /// The errors in the request; empty if it is valid.
    let problems: [FailureDocument.Body]
    /// The distinct decisions.
    let reasons: [Reason]
    /// The listed items, in order; nil if the page has them already.
    let rows: [ItemListingDocument.Row]?
    /// The index in `reasons` of the decision about each listed item.
    let decisions: [Int]
    /// The first items that are not listed.
    let absent: [Absent]
    /// The number of items that are not listed.
    let absentCount: Int
    /// The command that imports the selected items, or lists the container if none is selected.
    let command: String
    /// The command that explains every decision.
    let explainCommand: String
    /// The picker call in Swift and in Objective-C; nil for an invalid request.
    let code: Code?

    /// The source code of the picker call.
    struct Code: Encodable {
        let swift: String
        let objc: String
    }

    /// Creates the document of a picker.
    ///
    /// - Parameters:
    ///   - listed: The decisions about listed items.
    ///   - left: The decisions about items that are not listed.
    ///   - identities: The holders of the items, keyed by label.
    ///   - hasRows: Whether to include the rows.
    init(
        _ asked: PickerRequest, problems: [RequestError], listed: [ItemDecision], left: [ItemDecision],
        identities: [String: IdentitySummary], hasRows: Bool, commands: CommandLines
    ) {
        mechanism = asked.mechanism.rawValue
        container = asked.container
        let request = try? TypeRequest(asked.types, under: asked.mechanism)
        requested = request?.identifiers ?? asked.types
        self.problems = problems.map { .init(CommandFailure($0)) }
        var reasons: [Reason] = []
        var numbers: [Key: Int] = [:]
        func number(_ decision: ItemDecision) -> Int {
            let key = Key(decision)
            if let number = numbers[key] { return number }
            numbers[key] = reasons.count
            reasons.append(Reason(decision))
            return reasons.count - 1
        }
        let items = listed.compactMap { decision in decision.item.map { ($0, decision) } }
        decisions = items.map { number($0.1) }
        rows = hasRows ? items.map { .init($0.0, of: identities, enabled: nil) } : nil
        absent = left.prefix(WebLimits.absentItems).compactMap { decision in
            decision.item.map {
                Absent(row: .init($0, of: identities, enabled: nil), reason: number(decision))
            }
        }
        absentCount = left.count
        self.reasons = reasons
        command = commands.importing(asked)
        explainCommand = commands.explaining(asked)
        code = request.map {
            let code = PickerCode($0)
            return Code(swift: code.text(.swift), objc: code.text(.objectiveC))
        }
    }

    /// The properties of a decision. Decisions with equal properties share one entry in `reasons`.
    private struct Key: Hashable {
        let state: ItemDecision.State
        let reason: ItemDecision.Reason
        let message: String
        let missing: [String]

        init(_ decision: ItemDecision) {
            state = decision.state
            reason = decision.reason
            message = decision.message
            missing = decision.missing
        }
    }
}

/// A request for the picker, as the page sends it.
struct PickerRequest: Sendable, Hashable, Decodable {
    /// The mechanism of the request.
    var mechanism: Mechanism
    /// The types that the consumer requests.
    var types: [String]
    /// The container that the picker shows.
    var container: String
    /// The items that the user selected.
    var items: [String]

    private enum CodingKeys: CodingKey { case mechanism, types, container, items }

    /// Reads a request. An unknown mechanism is rejected.
    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        let name = try values.decode(String.self, forKey: .mechanism)
        guard let mechanism = Mechanism(rawValue: name) else {
            throw DecodingError.dataCorruptedError(
                forKey: .mechanism, in: values, debugDescription: "unknown mechanism \(name)")
        }
        self.mechanism = mechanism
        types = try values.decode([String].self, forKey: .types)
        container = try values.decodeIfPresent(String.self, forKey: .container) ?? Item.root
        items = try values.decodeIfPresent([String].self, forKey: .items) ?? []
    }
}

/// The commands that are equivalent to actions on the page.
struct CommandLines: Sendable {
    /// The device's folder and the socket, as options of a command; empty for the defaults.
    let options: String

    /// The command that imports the selected items, or lists the container if none is selected.
    func importing(_ request: PickerRequest) -> String {
        let container = request.container == Item.root ? "" : " " + request.container.quotedForShell
        let verb =
            request.items.isEmpty
            ? "browse" + (request.mechanism == .legacy ? "" : container)
            : "import" + request.items.map { " " + $0.quotedForShell }.joined()
        return "keyshare-consumer \(verb)\(types(request))\(options)"
    }

    /// Returns the command that explains every decision about a request.
    func explaining(_ request: PickerRequest) -> String {
        "keyshare-consumer explain --all\(types(request))\(options)"
    }

    private func types(_ request: PickerRequest) -> String {
        request.types.map { " --uti " + $0.quotedForShell }.joined()
            + (request.mechanism == .legacy ? " --mechanism legacy" : "")
    }
}
