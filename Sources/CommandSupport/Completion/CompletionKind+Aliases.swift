package import ArgumentParser
package import DeviceSimulation
internal import Foundation

extension CompletionKind {
    /// The aliases of the entries in KeyChain.
    package static let installedAliases = CompletionKind.values { request in
        let keyChain = request.device.flatMap { try? AndroidKeyChain(existingOn: $0, now: { Date() }) }
        return request.matchingTexts((try? keyChain?.entries().map(\.alias)) ?? [])
    }

    /// The aliases for which an app has a key grant.
    package static let grantedAliases = CompletionKind.values { request in
        let aliases = Set(request.aliasDecisions.values.flatMap(\.keyGrants))
        return request.matchingTexts(aliases.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) })
    }

    /// The apps about which the user has decided.
    package static let appsWithDecisions = CompletionKind.values { request in
        request.matching(["consumer"] + request.aliasDecisions.keys.sorted())
    }
}

extension CompletionRequest {
    /// The user's decisions about apps on this device; empty if they cannot be read.
    package var aliasDecisions: [String: AliasAccess.AppAccess] {
        guard let access = device.flatMap({ try? AliasAccess(existingOn: $0) }) else { return [:] }
        return (try? access.all()) ?? [:]
    }
}
