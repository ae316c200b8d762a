import ArgumentParser
import CommandSupport
import Diagnostics
import Foundation
import KeyShareProvider
import KeySharing
import OpenSSL
import TestCredentials
import TestVectors

struct Revoke: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke",
        abstract: "Add identities to their issuers' revocation lists.",
        discussion: """
            The identities appear immediately in the lists of trust --crl and serve --pki, and in the responses of \
            the OCSP responder. Entries that already exist do not change. All labels are processed; the exit code is \
            that of the first failure.

            EXAMPLE:
              label=$(keyshare-provider list piv --json | grep -om1 '[0-9A-F]\\{64\\}')
              keyshare-provider revoke $label --reason keyCompromise
              keyshare-provider trust --crl -o revoked.pem
            """)

    @Argument(
        help: ArgumentHelp("Labels or serial numbers, or unique prefixes of them.", valueName: "label"),
        completion: .providerLabels)
    var labels: [String]

    @Option(
        help: ArgumentHelp(
            "The reason: \(RevocationReason.allCases.map(\.rawValue).joined(separator: ", ")).",
            valueName: "reason"))
    var reason: RevocationReason = .unspecified

    @OptionGroup var clock: ClockOptions
    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func run() throws {
        let console = output.console
        let store = try ProviderStore(try device.openDevice())
        let identities = try store.heldIdentities()
        let named = labels.map { label -> Result<IdentitySummary, CommandFailure> in
            do {
                return .success(try identities.identity(named: label))
            } catch {
                return .failure(CommandFailure(error))
            }
        }
        let found = named.compactMap { try? $0.get() }
        var outcomes = try ProvisioningStore(store).revoke(
            try found.map { try store.heldCertificate($0.label) }, reason: reason, at: clock.now)[...]
        var failures: [CommandFailure] = []
        let results = zip(labels, named).map { label, identity -> RevocationDocument.Result in
            let identity = identity.flatMap { identity in
                (outcomes.popFirst() ?? .failure(ProvisioningError(.notRevocable, "it was not revoked"))).map
                {
                    (identity: identity, outcome: $0)
                }.mapError { CommandFailure($0) }
            }
            switch identity {
            case .success(let (identity, outcome)):
                return RevocationDocument.Result(
                    item: label, identity: identity, revoked: outcome.revocation.date,
                    reason: outcome.revocation.reason.rawValue, isNew: outcome.isNew)
            case .failure(let failure):
                failures.append(failure.about(label))
                return RevocationDocument.Result(item: label, identity: nil, failure: failure)
            }
        }
        try console.present(
            RevocationDocument(results: results), failure: failures.first, reporting: failures
        ) {
            var table = Table("STATUS", "TYPE", "PERSON", "REVOKED", "REASON", "LABEL")
            for result in results {
                guard let identity = result.identity else { continue }
                table.append(
                    result.status.rawValue, identity.type, identity.personText, result.revoked?.dayText ?? "",
                    result.reason ?? "", identity.label)
            }
            try console.table(table)
        }
    }
}

extension RevocationReason: ExpressibleByArgument {}

extension [IdentitySummary] {
    /// Returns the identity that the user named by label, serial number or file name, in full or by a prefix.
    ///
    /// - Throws: `CommandFailure` (9) if no identity or more than one matches.
    func identity(named name: String) throws(CommandFailure) -> IdentitySummary {
        do throws(RequestError) {
            return try IdentityLookup.find(name, in: self)
        } catch {
            let failure = CommandFailure(error)
            guard error.code == .noSuchIdentity else { throw failure }
            throw failure.advising("to list the identities: keyshare-provider list")
        }
    }
}
