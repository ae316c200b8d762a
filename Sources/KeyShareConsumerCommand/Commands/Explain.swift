import KeyShareClient
import ArgumentParser
import CommandSupport
import Diagnostics
import Foundation
import KeyShareConsumer
import KeySharing
import LocalSockets

struct Explain: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Explain why each item is enabled, disabled or absent, and what would change that.",
        discussion: """
            The reasons come from the same functions that filter the items. Their codes are stable: \
            \(ItemDecision.Reason.allCases.map(\.rawValue).joined(separator: ", ")).

            --code prints source code that makes this request in an iOS app and imports the picked items, \
            instead of the reasons. It needs no running provider. If the request includes zips, the code \
            opens them with ZIPFoundation (Swift) or SSZipArchive (Objective-C). A warning is printed for \
            each part of the request that enables no item.

            Without an item and without --all, items of one folder with the same reason share a line, and requested \
            items come first.

            EXAMPLE:
              keyshare-consumer explain --uti \(IdentitySelector.signature.selectType(under: .keySharing2025))
              keyshare-consumer explain --preset newest-authentication --code swift

            \(RequestOptions.requestable)
            """)

    @Argument(
        help: "The item, by identifier, file name or path, or a unique prefix of its label or serial number.",
        completion: .providerItems)
    var item: String?

    @Option(
        help: ArgumentHelp(
            "Print code that makes this request and imports: swift or objc.",
            valueName: "language"))
    var code: PickerCode.Language?

    @Flag(help: "Explain every item on separate lines.")
    var all = false

    @OptionGroup var request: RequestOptions
    @OptionGroup var device: DeviceOptions
    @OptionGroup var socket: SocketOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        if code != nil, item != nil {
            throw ValidationError("--code cannot be combined with an item")
        }
    }

    func run() async throws {
        let console = output.console
        if request.listPresets { return try request.writePresets(console) }
        if let code { return try write(code, console) }
        let (asked, mechanism) = (request.types, request.mechanism)
        let problems = TypeRequest.problems(with: asked, under: mechanism)
        // An invalid request enables nothing, so it becomes nil (docs/rules.md R2.13).
        let request = problems.isEmpty ? try TypeRequest(asked, under: mechanism) : nil
        var offer = Offer()
        do {
            offer = try await ProviderClient.withConnection(path: try socket.path(in: device)) { client in
                try await Offer(of: client, mechanism)
            }
        } catch let error where !problems.isEmpty && Self.isUnreachable(error) {
            // Errors in the types can be explained without a provider.
            console.detail(CommandFailure(error).message)
        }
        var decisions =
            switch (request, mechanism) {
            case (nil, _): Explanation.refusal(for: problems, items: offer.items, under: mechanism)
            case (let request?, .legacy): Explanation.legacy(identities: offer.identities, request: request)
            case (let request?, .keySharing2025):
                Explanation.keySharing2025(
                    items: offer.items, identities: offer.identities, request: request)
            }
        if let item {
            let named = Set(try ItemLookup.all(item, in: decisions.compactMap(\.item)).map(\.identifier))
            decisions = decisions.filter { $0.item == nil || named.contains($0.identifier) }
            guard decisions.contains(where: { $0.item != nil }) || !problems.isEmpty else {
                throw RequestError(.noSuchItem, item)
            }
        }
        let failure = problems.first.map { CommandFailure($0) }
        let identities = offer.identities.reduce(into: [:]) { $0[$1.label] = $1 }
        let document = ExplanationDocument(
            mechanism, requested: request?.identifiers ?? asked, decisions, of: identities)
        try console.present(document, failure: failure) {
            guard item == nil, !all else { return try write(decisions, of: identities, console) }
            try console.summary(ExplanationSummary(decisions))
            console.note("\(counted(decisions.count, "decision", "decisions")); --all explains each")
        }
    }

    private func write(_ language: PickerCode.Language, _ console: Console) throws {
        let request = try TypeRequest(request.types, under: request.mechanism)
        let code = PickerCode(request).text(language)
        for obstacle in request.obstacles {
            let types = obstacle.missing.map { "--uti " + $0.quotedForShell }.joined(separator: " ")
            Console.standardError("warning: \(obstacle.message): add \(types)")
        }
        try console.present(PickerCodeDocument(request, language: language.rawValue, code: code)) {
            try console.write(Data(code.utf8))
        }
    }

    /// Whether the provider or the device is unavailable.
    private static func isUnreachable(_ error: any Error) -> Bool {
        if let error = error as? SocketError { return error.code == .notRunning }
        return (error as? CommandFailure)?.code == CommandFailure.Kind.noDevice.rawValue
    }

    /// The items and identities that a provider offers under a mechanism.
    private struct Offer {
        /// All listed items, folders before their contents. In the legacy mechanism, all identities.
        var items: [Item] = []
        /// All identities, with their owners if the provider reports them.
        var identities: [IdentitySummary] = []

        init() {}

        /// - Throws: `ProviderFailure`, `SocketError`.
        init(of client: ProviderClient, _ mechanism: Mechanism) async throws {
            identities = Array(
                try await client.identitiesByLabel(in: IdentitySelector.noFilter.folderName).values)
            if identities.isEmpty { identities = try await client.identityFacts() }
            guard mechanism == .keySharing2025 else {
                items = identities.map { .file($0, under: .legacy) }
                return
            }
            items = try await client.allItems()
        }
    }

    private func write(
        _ decisions: [ItemDecision], of identities: [String: IdentitySummary], _ console: Console
    ) throws {
        for decision in decisions {
            let identity = decision.item?.label.flatMap { identities[$0] }.map(IdentityDocument.init)
            let person = identity.map { "  \($0.personText)" } ?? ""
            let name = "\(decision.state.rawValue)  \(decision.path)"
            let rest = "[\(decision.reason.rawValue)]\(person)"
            let whole = "\(name)  \(rest)"
            for line in console.fits(whole) ? [whole] : [name, "    " + rest] {
                if decision.isEnabled {
                    try console.data(line)
                } else {
                    try console.dimmed(line)
                }
            }
            try console.paragraph(decision.message, indent: 4)
            if !decision.missing.isEmpty {
                let options = decision.missing.map { "--uti \($0)" }
                let advice = "    also request: " + options.joined(separator: " ")
                let lines =
                    console.fits(advice)
                    ? [advice] : ["    also request:"] + options.map { "      " + $0 }
                for line in lines { try console.data(line) }
            }
        }
    }
}

extension PickerCode.Language: ExpressibleByArgument {}
