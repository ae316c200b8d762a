import KeyShareClient
import ArgumentParser
import CommandSupport
import Foundation
import KeyShareConsumer
import KeySharing
import LocalSockets

struct Explain: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Say for every item why it is enabled, disabled or absent, and what would change that.",
        discussion: """
            The reasons come from the functions that filter, and their codes are stable: \
            \(ItemDecision.Reason.allCases.map(\.rawValue).joined(separator: ", ")).

            EXAMPLE:
              keyshare-consumer explain --uti \(Selector.signature.selectType(.keySharing2025))

            \(RequestOptions.types)
            """)

    @Argument(help: "Only the item of this identifier or file name.")
    var item: String?

    @OptionGroup var request: RequestOptions
    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func run() async throws {
        let console = output.console
        let problems = TypeRequest.problems(with: request.uti, mechanism: request.mechanism)
        let request = TypeRequest(droppingProblemsFrom: request.uti, mechanism: request.mechanism)
        var decisions = Explanation.rows(for: problems)
        let socket = try device.socketPath(of: try device.openDevice())
        do {
            decisions += try await ProviderClient.withConnection(path: socket) { client in
                try await explain(request, client)
            }
        } catch let error as SocketError where !problems.isEmpty && error.code == .notRunning {
            // The problems of the types can be explained without a provider.
            console.detail(error.reason)
        }
        if let item {
            decisions = decisions.filter {
                $0.identifier == item || $0.item?.filename == item || $0.item == nil
            }
            guard decisions.contains(where: { $0.item != nil }) || !problems.isEmpty else {
                throw RequestError(.noSuchItem, item)
            }
        }
        let failure = problems.first.map { CommandFailure($0) }
        try console.present(ExplanationDocument(request, decisions), failure: failure) {
            try write(decisions, console)
        }
    }

    private func explain(_ request: TypeRequest, _ client: ProviderClient) async throws -> [ItemDecision] {
        let identities = try await client.identityFacts()
        guard request.mechanism == .keySharing2025 else {
            return Explanation.legacy(identities: identities, request: request)
        }
        let root = try await client.items(in: Item.root)
        var items: [Item] = []
        for item in root {
            items.append(item)
            if item.kind == .folder { items += try await client.items(in: item.identifier) }
        }
        return Explanation.keySharing2025(items: items, identities: identities, request: request)
    }

    private func write(_ decisions: [ItemDecision], _ console: Console) throws {
        for decision in decisions {
            let folder = decision.item.map { $0.parent == Item.root ? "" : $0.parent + "/" } ?? ""
            let name = folder + (decision.item?.filename ?? decision.identifier)
            let line = "\(decision.state.rawValue)  \(name)  [\(decision.reason.rawValue)]"
            if decision.isEnabled {
                try console.data(line)
            } else {
                try console.dimmed(line)
            }
            try console.data("    \(decision.message)")
            if !decision.missing.isEmpty {
                try console.data("    to change that: --uti " + decision.missing.joined(separator: " --uti "))
            }
        }
    }
}
