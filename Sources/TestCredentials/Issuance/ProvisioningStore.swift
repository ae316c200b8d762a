internal import DeviceSimulation
package import Foundation
package import KeyShareProvider
package import OpenSSL
package import PrivateFiles
internal import SecretMemory
internal import SimulatedKeychain

/// The test PKI's part of a provider's keychain: its authorities, their register, and the state of provisioning runs.
package struct ProvisioningStore: Sendable {
    /// The provider's keychain, which also contains the generated identities.
    package let provider: ProviderStore

    /// Creates a view of the test PKI in `provider`.
    package init(_ provider: ProviderStore) {
        self.provider = provider
    }

    /// Waits until no other process is provisioning, and then prevents other processes from provisioning until the lock
    /// is released. Without the lock, two runs of one request would generate equal serial numbers, one of two concurrent
    /// changes to the authorities' register would be lost, and a run would continue to issue certificates of authorities
    /// that another process removed.
    ///
    /// - Throws: `FileError` if the lock file cannot be created.
    package func lockProvisioning() throws -> FileLock {
        try FileLock.acquire(try provider.device.container(of: .provider) + "/provisioning.lock")
    }
}

// MARK: - Runs

extension ProvisioningStore {
    /// Begins a run, or continues an interrupted one. Returns its randomness and its time.
    ///
    /// - Parameters:
    ///   - seed: The seed, or nil for a random run.
    ///   - purpose: Distinguishes runs of the same request for different commands.
    ///   - date: The time of the run. If it is nil, a seeded run uses the start of the year, and a random run
    ///     uses `now` or the recorded time of its first start.
    ///   - now: The current time.
    ///   - isRepeated: Whether to start a new random run if one of this request is finished.
    ///   - fingerprint: Returns a digest of the request, with start dates computed from a time. If the clock
    ///     determines the time, a fixed time is passed instead, so that the digest does not depend on the clock.
    /// - Throws: `KeychainError` if the run cannot be recorded.
    package func beginRun(
        seed: Seed?, purpose: String, at date: Date?, now: Date, isRepeated: Bool = false,
        fingerprint: (Date) -> String
    ) throws -> (ProvisioningRandomness, date: Date) {
        if let seed {
            let date = date ?? Calendar.utc.startOfYear(now)
            let part = RandomSource.seeded(seed.child(purpose + fingerprint(date)))
            return (ProvisioningRandomness(drawing: part, keys: part, authorities: .seeded(seed)), date)
        }
        let name = purpose + fingerprint(date ?? Date(timeIntervalSince1970: 0))
        // The record of an interrupted run is kept, so that the run can be continued.
        if isRepeated, try savedRun(name)?.isFinished == true {
            try provider.keychain.deletePassword(
                service: Self.runService, account: name, accessGroup: App.authorityGroup)
        }
        var random = RandomSource.system.generator()
        let words = (0..<4).map { _ in String(random.next(), radix: 16) }
        var record = RunRecord(began: Int64(now.timeIntervalSince1970), secret: words.joined())
        let new = try record.stored()
        let stored = try provider.keychain.createOrReadPassword(
            service: Self.runService, account: name, accessGroup: App.authorityGroup, make: { new })
        if let kept = RunRecord(stored) { record = kept } else { try keep(record, of: name) }
        let randomness = ProvisioningRandomness(
            drawing: .seeded(record.seed), keys: .system, authorities: .system, runName: name)
        return (randomness, date ?? record.beginning)
    }

    /// Records that a run is finished, so that a repetition does not continue it. Does nothing for a run without a
    /// record, such as a seeded one.
    ///
    /// - Throws: `KeychainError` if the keychain cannot be written.
    package func finishRun(of randomness: ProvisioningRandomness) throws {
        guard let name = randomness.runName, var record = try savedRun(name), !record.isFinished else {
            return
        }
        record.isFinished = true
        try keep(record, of: name)
    }

    private func savedRun(_ name: String) throws(KeychainError) -> RunRecord? {
        try provider.keychain.password(
            service: Self.runService, account: name, accessGroup: App.authorityGroup
        ).flatMap(RunRecord.init)
    }

    private func keep(_ record: RunRecord, of name: String) throws {
        try provider.keychain.setPassword(
            try record.stored(), service: Self.runService, account: name, accessGroup: App.authorityGroup)
    }

    private static let runService = "KeyShareProvisioning"
}

// MARK: - Authorities

extension ProvisioningStore {
    /// Reads the newest test PKI. Returns nil if the keychain contains none.
    ///
    /// - Throws: `KeychainError` if the keychain cannot be read. `CertificateError` if OpenSSL rejects an authority.
    package func authority() throws -> TestAuthority? { try authorities().last }

    /// Reads all test PKIs, in the order of creation. Incomplete PKIs are skipped.
    ///
    /// - Throws: `KeychainError` if the keychain cannot be read. `CertificateError` if OpenSSL rejects an authority.
    package func authorities() throws -> [TestAuthority] {
        var parts: [[TestAuthorityRole: CertificateIssuer]] = []
        // The authorities of a PKI are stored in sequence, beginning with the root.
        for attributes in try provider.keychain.identityAttributes(accessGroup: App.authorityGroup) {
            guard
                let role = TestAuthorityRole(
                    rawValue: String(decoding: attributes.applicationTag, as: UTF8.self))
            else { continue }
            if role == .root || parts.isEmpty { parts.append([:]) }
            parts[parts.count - 1][role] = try issuer(attributes.label)
        }
        return parts.compactMap(TestAuthority.init)
    }

    /// Opens an authority by the label of its certificate.
    ///
    /// - Throws: `KeychainError`: `.itemNotFound` if the keychain contains no such authority. `CertificateError` if
    ///   OpenSSL rejects it.
    func issuer(_ label: String) throws -> CertificateIssuer {
        let opened = try provider.keychain.openIdentity(label: label, accessGroup: App.authorityGroup)
        return CertificateIssuer(
            certificate: try Certificate(der: opened.record.certificate),
            privateKey: try PrivateKey(pkcs8: opened.privateKey))
    }

    /// Returns the newest authorities that are valid over all of `span`. If there are none, creates and stores new
    /// ones.
    ///
    /// New authorities are valid for longer than the run needs. They cover everything that provisioning generates
    /// without explicit dates: a scenario's older generations, recovered keys, and the defects of expired certificates.
    /// An installed anchor therefore also covers credentials of later runs.
    ///
    /// - Parameters:
    ///   - span: The time over which the authorities must be valid.
    ///   - algorithm: The algorithm of new authorities' keys.
    ///   - locations: The URLs of the PKI in the certificates of new authorities.
    ///   - source: The randomness of new authorities' keys and serial numbers.
    /// - Throws: `KeychainError` if authorities can be neither read nor stored. `OpenSSLError` and `CertificateError`
    ///   if new ones cannot be created.
    package func authority(
        covering span: Range<Date>, algorithm: KeyAlgorithm, locations: PKILocations,
        from source: RandomSource
    ) throws -> (authority: TestAuthority, use: Provisioner.AuthorityUse) {
        let known = try authorities()
        func use(_ authority: TestAuthority, isNew: Bool) -> (TestAuthority, Provisioner.AuthorityUse) {
            let root = authority[.root].certificate
            let others = known.map { $0[.root].certificate }.filter { $0 != root }
            return (authority, Provisioner.AuthorityUse(root: root, isNew: isNew, others: others))
        }
        if let latest = known.last(where: { $0.covers(span) }) { return use(latest, isNew: false) }
        let name =
            "authorities \(span.lowerBound.timeIntervalSince1970) \(span.upperBound.timeIntervalSince1970)"
        let authority = try TestAuthority(
            algorithm: algorithm, validity: Self.widened(span), locations: locations,
            number: (known.map(\.number).max() ?? 0) + 1, from: source.child(name))
        let identities = try TestAuthorityRole.allCases.map { role -> Result<NewIdentity, any Error> in
            let issuer = authority[role]
            return .success(
                NewIdentity(
                    label: issuer.certificate.label, certificate: issuer.certificate.der,
                    privateKey: try issuer.privateKey.pkcs8(), applicationTag: Array(role.rawValue.utf8),
                    notBefore: issuer.certificate.notBefore, accessibility: ProviderStore.accessibility,
                    accessGroup: App.authorityGroup))
        }
        for outcome in try provider.keychain.add(identities) { _ = try outcome.result.get() }
        return use(authority, isNew: true)
    }

    /// Extends the span to the start of the oldest certificate that provisioning generates by default in the same year.
    /// That certificate is eight generations old.
    private static func widened(_ span: Range<Date>) -> Range<Date> {
        let start = Calendar.utc.adding(years: -usualYears, to: span.upperBound)
        return min(start, span.lowerBound)..<span.upperBound
    }

    /// The number of years from the start of the oldest default certificate to the end of the newest. Eight generations
    /// determine it. Defects need fewer years: their dates are at most ten years in the past and five in the future.
    private static let usualYears = 27
}

/// The state of a random run. The keychain stores it so that an interrupted run can be continued.
struct RunRecord: Codable, Sendable {
    /// The time at which the run began, in seconds since 1970.
    let began: Int64
    /// The secret from which serial numbers and names are drawn, in hexadecimal.
    let secret: String
    /// Whether the run is finished.
    var isFinished = false
}

extension RunRecord {
    /// Decodes a stored record. Returns nil if the bytes are not a record.
    init?(_ stored: SecretBytes) {
        let text = unsafe stored.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
        if let record = try? JSONDecoder().decode(RunRecord.self, from: Data(text.utf8)) {
            self = record
            return
        }
        // Earlier versions stored two words, and a third one after the run was finished.
        let words = text.split(separator: " ")
        guard (2...3).contains(words.count), let began = Int64(words[0]) else { return nil }
        self.began = began
        secret = String(words[1])
        isFinished = words.count == 3
    }

    /// Encodes the record for the keychain.
    func stored() throws -> SecretBytes {
        SecretBytes(utf8: String(decoding: try JSONEncoder().encode(self), as: UTF8.self))
    }

    /// The time at which the run began.
    var beginning: Date { Date(timeIntervalSince1970: Double(began)) }

    /// The seed from which the run's serial numbers and names are drawn.
    var seed: Seed { Seed("\(began) \(secret)") }
}
