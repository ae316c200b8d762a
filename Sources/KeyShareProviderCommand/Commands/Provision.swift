import TestCredentials
import ArgumentParser
import CommandSupport
import DeviceSimulation
import Diagnostics
import Foundation
import KeyShareProvider
import KeySharing
import OpenSSL
import PrivateFiles

struct Provision: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "provision",
        abstract: "Make a test PKI and identities like the DoD's in the provider's keychain.",
        discussion: """
            The newest generation of each type starts the day before now (or --at), each older one three years \
            earlier, and each is valid for three years. The authorities of an earlier run are used again. A run \
            that was interrupted goes on when the same command is given again; one that was finished has nothing \
            left to make then, unless --new is given.

            --renew makes each identity as the one before it: a token alone where that is one, and registered as a \
            token where that is registered. With --token-only it renews the tokens alone, and nothing else.

            A scenario describes all of that, and the faults and the behaviour of the service, in one YAML file. \
            The behaviour is kept with the device: serve and export follow it until another scenario is \
            provisioned or the keychain is cleared. Options of serve and export take precedence.

            EXAMPLE:
              keyshare-provider provision --person "Dana Example" --types signature
              keyshare-provider provision --scenario three-renewals --seed 1 --at 2026-01-01
            """)

    @OptionGroup(title: "Options for persons") var persons: PersonOptions
    @OptionGroup(title: "Options for credentials") var contents: ContentsOptions
    @OptionGroup(title: "Options for scenarios") var scenarios: ScenarioOptions

    @Flag(
        help: ArgumentHelp(
            "Add one generation for everybody who is in the keychain: like the newest certificate of each type, "
                + "but for what --profile, --key, --policy-arc and --pki say."))
    var renew = false

    @Option(
        name: .customLong("fault"),
        help: ArgumentHelp(
            "Make one identity with a fault; may be given several times; faults lists them.",
            valueName: "name"), completion: .credentialFaults)
    var faults: [String] = []

    @Flag(
        name: .customLong("new"),
        help: "Make new identities even if the same command has made some already.")
    var makesNew = false

    @Flag(
        help: """
            Register the new identities as persistent tokens, and never publish them: key sharing neither lists nor \
            hands them over.
            """)
    var tokenOnly = false

    @Option(
        help: ArgumentHelp(
            "Make only part i of n of a seeded run, by person; merge puts them together.", valueName: "i/n"),
        transform: Provision.shard)
    var shard: ProvisioningRequest.Shard?

    @OptionGroup var seeding: SeedOptions
    @OptionGroup(title: "Options for the file of a fault") var destination: DestinationOptions
    @OptionGroup(title: "Options for the file of a fault") var password: PasswordOptions
    @OptionGroup var clock: ClockOptions
    @OptionGroup var device: DeviceOptions
    @OptionGroup var output: OutputOptions

    func validate() throws {
        if scenarios.scenario != nil {
            guard !contents.areGiven, !persons.areGiven, !renew, faults.isEmpty, shard == nil, !makesNew
            else {
                throw ValidationError(
                    "--scenario says by itself who gets what; it goes with --seed, --at and --pki only")
            }
        }
        guard !tokenOnly || destination.output == nil else {
            throw ValidationError("--token-only goes without -o: a token alone is never in a file")
        }
        guard shard == nil || seeding.seed != nil else {
            throw ValidationError("--shard needs --seed, or the parts would not fit together")
        }
        guard !renew || !(persons.areGiven || contents.areGenerationsGiven || shard != nil || !faults.isEmpty)
        else {
            throw ValidationError(
                "--renew adds one generation for who is there; it goes without persons, --generations, "
                    + "--dates, --recovered, --shard and --fault")
        }
        if !faults.isEmpty {
            guard !contents.areGivenBesideKey, persons.count == nil, persons.persons == nil, shard == nil
            else {
                throw ValidationError(
                    "--fault makes one identity of its own kind; it goes with --key, --pki and one person only"
                )
            }
        }
        guard !faults.isEmpty || destination.output == nil else {
            throw ValidationError("-o goes with --fault")
        }
        guard faults.count < 2 || destination.output == nil else {
            throw ValidationError("-o takes one --fault; a file holds one")
        }
        guard !makesNew || (seeding.seed == nil && !renew && faults.isEmpty) else {
            throw ValidationError(
                "--new goes without --seed, --renew and --fault: a seed makes the same again, the others make anew"
            )
        }
    }

    func run() async throws {
        let console = output.console
        if scenarios.listScenarios { return try ScenarioOptions.list(console) }
        // An error in the scenario is reported before anything is made.
        let scenario = try scenarios.read()
        seeding.warn(console)
        let vectors = try faults.map(FaultProvisioning.vector)
        try destination.requireFree()
        let device = try device.makeDevice(console)
        let store = try ProviderStore(device)
        if tokenOnly { try TokenStore(store).requireOpen() }
        let lock = try store.lockProvisioning()
        defer { lock.release() }
        if !vectors.isEmpty {
            try await FaultProvisioning(vectors: vectors, provision: self).run(store, console)
        } else if let scenario {
            let outcome = try await make(scenario, in: store, console)
            try ServiceBehaviour.store(scenario.service, on: device)
            try report(outcome, console, scenario)
        } else {
            try report(try await make(in: store, console), console)
        }
    }

    private func make(
        _ scenario: Scenario, in store: ProviderStore, _ console: Console
    ) async throws -> Provisioner.Outcome {
        let run = try ScenarioRun(
            scenario, in: store, seed: seeding.seed, at: clock.at, now: clock.now,
            locations: contents.locations, purpose: purpose("scenario", publication))
        var bar = ProgressBar(console, "identities", total: run.identityCount)
        defer { bar.clear() }
        return try await Provisioner(store, as: publication).run(run) { bar.show($0) }
    }

    private func make(in store: ProviderStore, _ console: Console) async throws -> Provisioner.Outcome {
        let runs = try runs(in: store)
        var bar = ProgressBar(
            console, "identities", total: runs.reduce(0) { $0 + $1.run.identityCount })
        defer { bar.clear() }
        var outcome = Provisioner.Outcome()
        for (run, publication) in runs {
            let before = outcome.count + outcome.skipped
            let provisioner = Provisioner(store, as: publication)
            outcome.add(try await provisioner.run(run) { bar.show(before + $0) })
        }
        let registered = renew && !tokenOnly ? try TokenStore(store).registerRenewed() : 0
        if registered > 0 {
            console.note("registered \(counted(registered, "token", "tokens")) in place of older ones")
        }
        return outcome
    }

    private typealias PublishedRun = (run: ProvisioningRun, publication: IdentityPublication)

    private func runs(in store: ProviderStore) throws -> [PublishedRun] {
        func run(
            _ request: ProvisioningRequest, purpose: String, _ publication: IdentityPublication
        ) throws -> PublishedRun {
            let run = try ProvisioningRun(
                request, in: store, seed: seeding.seed.map { Seed(String($0)) },
                purpose: self.purpose(purpose, publication),
                at: clock.at, now: clock.now, isRepeated: makesNew || renew)
            return (run, publication)
        }
        if renew { return try renewals(of: store).map { try run($0, purpose: "renew", $1) } }
        let persons = try persons.persons(seed: seeding.seed)
        var request = contents.request(
            for: persons, count: persons.isEmpty ? self.persons.count ?? 1 : persons.count)
        request.shard = shard
        return [try run(request, purpose: "provision", publication)]
    }

    /// Where the identities go.
    var publication: IdentityPublication { tokenOnly ? .tokenOnly : .keySharing }

    /// What a run is for. From one seed, other identities are tokens alone than are published.
    private func purpose(_ purpose: String, _ publication: IdentityPublication) -> String {
        publication == .tokenOnly ? purpose + " token-only" : purpose
    }

    /// Who is renewed: first those whom key sharing publishes, unless tokens alone are asked for, then those who have
    /// tokens alone.
    ///
    /// - Throws: `ProvisioningError` `.nothingToRenew` where there is neither.
    private func renewals(
        of store: ProviderStore
    ) throws -> [(request: ProvisioningRequest, publication: IdentityPublication)] {
        var requests: [(request: ProvisioningRequest, publication: IdentityPublication)] = []
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
            authorities: outcome.authorities.map(ProvisioningDocument.Authority.init))
        try console.present(document) {
            if outcome.count <= Self.longestTable {
                try console.table(of: document.identities)
            }
            let there = outcome.skipped == 0 ? "" : "; \(outcome.skipped) were there already"
            let persons = Set(document.identities.map(\.personText))
            let whose = persons.count == 1 ? persons.first.map { " of \($0)" } ?? "" : ""
            let place = tokenOnly ? ", as tokens alone" : ""
            console.note("made \(counted(outcome.count, "identity", "identities"))\(whose)\(place)\(there)")
            if let summary = scenario?.service.summary {
                console.note("serve will do as the scenario says: \(summary)")
            }
        }
        if outcome.count == 0, outcome.skipped > 0, seeding.seed == nil, scenario == nil {
            console.note("this command has made them before; --new makes others")
        }
        console.note(outcome.authorities)
    }

    private static let longestTable = 100

    static func shard(_ text: String) throws -> ProvisioningRequest.Shard {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false).map { Int($0) }
        guard parts.count == 2, let number = parts[0], let count = parts[1],
            let shard = ProvisioningRequest.Shard(number: number, count: count)
        else { throw ValidationError("\u{201C}\(text)\u{201D} is no part such as 2/5") }
        return shard
    }
}
