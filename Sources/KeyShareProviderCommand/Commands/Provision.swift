import ArgumentParser
import CommandSupport
import DeviceSimulation
import Diagnostics
import Foundation
import KeyShareProvider
import KeySharing
import OpenSSL
import PrivateFiles
import Scenarios
import TestCredentials
import TestVectors

struct Provision: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "provision",
        abstract: "Create a test PKI and DoD-like identities in the provider's keychain.",
        discussion: """
            The newest generation of each type starts the day before now (or --at), each older one three years \
            earlier, and each is valid for three years. The authorities of an earlier run are reused. Repeat the same \
            command to continue an interrupted run; after a finished run it creates nothing, unless --new is given. \
            Ctrl-C finishes the keys in progress, stores them, and prints the command that continues.

            Before a run of more than half a minute, the command prints an estimate. RSA keys take most of the time. \
            For load tests, --key p256 or --key-pool is faster.

            --renew creates each identity like its predecessor: token-only, or also registered as a token, if the \
            predecessor is. With --token-only it renews only token-only identities.

            A scenario describes all of this, the faults and the behaviour of the service in one YAML file. The \
            behaviour is stored on the device: serve and export follow it until another scenario is provisioned or the \
            keychain is cleared. Options of serve and export take precedence.

            EXAMPLE:
              keyshare-provider provision --person "Dana Example" --types signature
              keyshare-provider provision --scenario three-renewals --seed 1 --at 2026-01-01
            """)

    @OptionGroup(title: "Options for persons") var persons: PersonOptions
    @OptionGroup(title: "Options for credentials") var contents: ContentsOptions
    @OptionGroup(title: "Options for scenarios") var scenarios: ScenarioOptions

    @Flag(
        help: ArgumentHelp(
            "Add one generation for every person in the keychain, like the newest certificate of each type except "
                + "for --profile, --key, --policy-arc and --pki."))
    var renew = false

    @Option(
        name: .customLong("fault"),
        help: ArgumentHelp(
            "Create one identity with this defect; may be repeated. The faults command lists the defects.",
            valueName: "name"), completion: .credentialFaults)
    var faults: [String] = []

    @Flag(
        name: .customLong("new"),
        help: "Create new identities even if the same command already created some.")
    var makesNew = false

    @Flag(
        help: """
            Register the new identities as persistent tokens, and never publish them: key sharing neither lists nor \
            exports them.
            """)
    var tokenOnly = false

    @Option(
        help: ArgumentHelp(
            "Create only part i of n of a seeded run, by person; 0 means part n. merge combines the parts.",
            valueName: "i/n"),
        transform: Provision.shard)
    var shard: ProvisioningRequest.Shard?

    @OptionGroup var seeding: SeedOptions
    @OptionGroup(title: "Options for defective files") var destination: DestinationOptions
    @OptionGroup(title: "Options for defective files") var password: PasswordOptions
    @OptionGroup var clock: ClockOptions
    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        if scenarios.scenario != nil {
            guard !contents.areGiven, !persons.areGiven, !renew, faults.isEmpty, shard == nil, !makesNew
            else {
                throw ValidationError(
                    "--scenario defines persons and credentials; only --seed, --at and --pki can be added")
            }
        }
        guard !tokenOnly || destination.output == nil else {
            throw ValidationError(
                "--token-only and -o cannot be combined: a token-only identity is never exported")
        }
        guard shard == nil || seeding.seed != nil else {
            throw ValidationError("--shard requires --seed, so that the parts belong to the same run")
        }
        guard !renew || !(persons.areGiven || contents.areGenerationsGiven || shard != nil || !faults.isEmpty)
        else {
            throw ValidationError(
                "--renew adds one generation for existing persons; it does not permit persons, --generations, "
                    + "--dates, --expires, --validity, --key-pool, --recovered, --shard or --fault")
        }
        if !faults.isEmpty {
            guard !contents.areGivenExceptKey, persons.count == nil, persons.persons == nil, shard == nil
            else {
                throw ValidationError(
                    "--fault creates a specific identity; only --key, --pki and one person can be added"
                )
            }
        }
        guard !faults.isEmpty || destination.output == nil else {
            throw ValidationError("-o requires --fault")
        }
        guard faults.count < 2 || destination.output == nil else {
            throw ValidationError("-o accepts only one --fault")
        }
        guard !makesNew || (seeding.seed == nil && !renew && faults.isEmpty) else {
            throw ValidationError(
                "--new cannot be combined with --seed, --renew or --fault: a seed repeats a run, and the others always create identities"
            )
        }
    }

    func run() async throws {
        let console = output.console
        if scenarios.listScenarios { return try ScenarioOptions.list(console) }
        // Report an error in the scenario before anything is created.
        let scenario = try scenarios.read()
        seeding.warn(console)
        let vectors = try faults.map(FaultProvisioning.vector)
        try destination.requireFree()
        let device = try device.makeDevice(noting: console.note)
        let use = try device.lockShared()
        defer { use.release() }
        let store = try ProviderStore(device)
        if tokenOnly { try TokenStore(store).requireOpen() }
        let lock = try ProvisioningStore(store).lockProvisioning()
        defer { lock.release() }
        if !vectors.isEmpty {
            return try await FaultProvisioning(vectors: vectors, provision: self).run(store, console)
        }
        Interruption.watch()
        let control = ProvisioningControl { Interruption.isRequested }
        let outcome: Provisioner.Outcome
        do {
            if let scenario {
                outcome = try await make(scenario, in: store, console, control)
                if !outcome.isStopped { try ServiceBehaviour.store(scenario.service, on: device) }
            } else {
                outcome = try await make(in: store, console, control)
            }
        } catch  where control.stored > 0 {
            console.note(
                "\(counted(control.stored, "identity was", "identities were")) stored before the failure")
            console.note(Self.continuation)
            throw error
        }
        try report(outcome, console, scenario)
        guard outcome.isStopped else { return }
        Console.standardError(Self.continuation)
        lock.release()
        Interruption.end()
    }

    /// The command that continues this run.
    private static var continuation: String {
        let command = [CommandMain.programName] + CommandLine.arguments.dropFirst()
        return "to continue: " + command.map(\.quotedForShell).joined(separator: " ")
    }

    private func make(
        _ scenario: Scenario, in store: ProviderStore, _ console: Console, _ control: ProvisioningControl
    ) async throws -> Provisioner.Outcome {
        let run = try ScenarioRun(
            scenario, in: store, seed: seeding.seed, at: clock.at, now: clock.now,
            locations: contents.locations, purpose: purpose("scenario", publication))
        if let warning = ProvisioningEstimate(run).warning() { console.note(warning) }
        var bar = ProgressBar(console, "identities", total: run.identityCount)
        defer { bar.clear() }
        return try await Provisioner(store, as: publication, control: control).run(run) { bar.show($0) }
    }

    private func make(
        in store: ProviderStore, _ console: Console, _ control: ProvisioningControl
    ) async throws -> Provisioner.Outcome {
        let requests: [PublishedRequest]
        if renew {
            requests = try renewals(of: store)
        } else {
            let persons = try persons.persons(seed: seeding.seed)
            var request = contents.request(
                for: persons, count: persons.isEmpty ? self.persons.count ?? 1 : persons.count)
            request.shard = shard
            requests = [(request, publication)]
        }
        let runs = try requests.map { request, publication in
            let run = try ProvisioningRun(
                request, in: store, seed: seeding.seed.map { Seed(String($0)) },
                purpose: purpose(renew ? "renew" : "provision", publication),
                at: clock.at, now: clock.now, isRepeated: makesNew || renew)
            return (run: run, publication: publication)
        }
        let estimate = ProvisioningEstimate(runs.map(\.run), of: renew ? .renewal : .options)
        if let warning = estimate.warning() { console.note(warning) }
        var bar = ProgressBar(
            console, "identities", total: runs.reduce(0) { $0 + $1.run.identityCount })
        defer { bar.clear() }
        var outcome = Provisioner.Outcome()
        for (run, publication) in runs {
            let before = outcome.count + outcome.skipped
            let provisioner = Provisioner(store, as: publication, control: control)
            outcome.add(try await provisioner.run(run, isWhole: false) { bar.show(before + $0) })
            if outcome.isStopped { return outcome }
        }
        let registered = renew && !tokenOnly ? try TokenStore(store).registerRenewed() : 0
        if registered > 0 {
            console.note("registered \(counted(registered, "token", "tokens")) instead of older ones")
        }
        if renew {
            let installed = try AliasStore(store) { [clock] in clock.now }
                .addRenewed(fault: try AliasFault.stored(on: store.device))
            if installed > 0 {
                console.note("installed \(counted(installed, "alias", "aliases")) for renewed identities")
            }
        }
        // All runs finish together: repeating an interrupted renewal must not renew the persons of its first runs again.
        for (run, _) in runs { try ProvisioningStore(store).finishRun(of: run.randomness) }
        return outcome
    }

    private typealias PublishedRequest = (request: ProvisioningRequest, publication: IdentityPublication)

    /// How the identities are made available.
    var publication: IdentityPublication { tokenOnly ? .tokenOnly : .keySharing }

    /// Returns the purpose string, from which the random numbers of a run are derived together with the seed.
    /// Token-only identities have a different purpose, so that they never equal published ones.
    private func purpose(_ purpose: String, _ publication: IdentityPublication) -> String {
        publication == .tokenOnly ? purpose + " token-only" : purpose
    }

    /// Returns the renewals of published identities, followed by those of token-only identities. With `--token-only`,
    /// returns only the latter.
    ///
    /// - Throws: `ProvisioningError` `.nothingToRenew` if there is nothing to renew.
    private func renewals(of store: ProviderStore) throws -> [PublishedRequest] {
        var requests: [PublishedRequest] = []
        var nothing: ProvisioningError?
        for publication in tokenOnly ? [.tokenOnly] : [IdentityPublication.keySharing, .tokenOnly] {
            do {
                let renewal = try Renewal(
                    of: store, types: contents.types, publication: publication, changing: contents.changes)
                requests += renewal.groups.map { ($0.request, publication) }
            } catch let error as ProvisioningError where error.code == .nothingToRenew {
                nothing = error
            }
        }
        if requests.isEmpty, let nothing { throw nothing }
        if requests.contains(where: { $0.publication == .tokenOnly }) { try TokenStore(store).requireOpen() }
        return requests
    }

    private func report(
        _ outcome: Provisioner.Outcome, _ console: Console, _ scenario: Scenario? = nil
    ) throws {
        let document = ProvisioningDocument(
            outcome.made, made: outcome.count, alreadyThere: outcome.skipped, scenario: scenario?.name,
            service: scenario.map { ServiceBehaviourDocument($0.service) },
            authorities: outcome.authorities.map(ProvisioningDocument.Authority.init),
            keyPool: contents.keyPool)
        try console.present(document) {
            if outcome.count <= Self.longestTable {
                try console.table(of: document.identities)
            }
            let there = outcome.skipped == 0 ? "" : "; \(outcome.skipped) already existed"
            let persons = Set(document.identities.map(\.personText))
            let whose = persons.count == 1 ? persons.first.map { " of \($0)" } ?? "" : ""
            let place = tokenOnly ? ", token-only" : ""
            console.note(
                "created \(counted(outcome.count, "identity", "identities"))\(whose)\(place)\(there)")
            if outcome.isStopped {
                console.note("interrupted; the keys in progress were finished and stored")
            }
            if !outcome.isStopped, let summary = scenario?.service.summary {
                console.note("serve will follow the scenario: \(summary)")
            }
        }
        if let pool = contents.keyPool {
            console.note("the keys come from a pool of \(pool); use these identities only for load tests")
        }
        if outcome.count == 0, outcome.skipped > 0, seeding.seed == nil, scenario == nil {
            console.note("this command already created its identities; --new creates additional ones")
        }
        console.note(outcome.authorities)
    }

    private static let longestTable = 100

    static func shard(_ text: String) throws -> ProvisioningRequest.Shard {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map { Int($0) }
        guard parts.count == 2, let number = parts[0], let count = parts[1],
            // Indices of batch systems may count from 0.
            let shard = ProvisioningRequest.Shard(number: number == 0 ? count : number, count: count)
        else { throw ValidationError("\u{201C}\(text)\u{201D} is not a part of a run, such as 2/5") }
        return shard
    }
}
