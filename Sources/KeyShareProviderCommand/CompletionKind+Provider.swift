import ArgumentParser
import CommandSupport
import Conformance
import Foundation
import KeyShareProvider
import KeySharing
import Scenarios
import TestVectors

extension CompletionKind {
    /// The labels of the identities in the provider's keychain, without those already on the line.
    static let providerLabels = CompletionKind.values { request in
        let identities = request.device.flatMap { try? ProviderStore(existingOn: $0)?.identities() }
        return request.matching((identities ?? []).map(\.label).filter { !request.contains($0) })
    }

    /// The names of the items that the provider publishes. The provider need not be running.
    static let publishedItems = CompletionKind.answers { request in
        guard let store = request.device.flatMap({ try? ProviderStore(existingOn: $0) }),
            let snapshot = try? ProviderCatalogue(store, root: .all).snapshot()
        else { return [] }
        let listing = ItemListing(snapshot, now: Date())
        let names = await request.itemNames { try listing.page(of: $0, after: nil, limit: .max).items }
        return names.filter { !request.contains($0) }
    }

    /// The faults of test credentials, without those already on the line.
    static let credentialFaults = CompletionKind.values { request in
        request.remaining(TestVector.defective.map(\.name), of: "--fault")
    }

    /// The names and groups of test vectors, without those already on the line.
    static let testVectors = CompletionKind.values { request in
        request.matching(VectorSelection.allNames.filter { !request.contains($0) })
    }

    /// The built-in scenarios, and the YAML files and folders that match the typed path.
    static let scenarios = CompletionKind.values { request in
        request.matching(Scenario.builtInNames) + request.paths(extensions: ["yaml", "yml"])
    }
}
