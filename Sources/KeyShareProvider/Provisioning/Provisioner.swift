package import Foundation
package import KeySharing
package import OpenSSL

/// What is to be provisioned.
package struct ProvisioningRequest: Sendable {
    package var persons: [TestPerson]
    package var types: [CredentialType]
    /// How many times each type was renewed and one: the newest starts the day before `date`, each older one
    /// three years earlier.
    package var generations: Int
    package var algorithm: KeyAlgorithm
    package var date: Date

    package init(
        persons: [TestPerson], types: [CredentialType] = [.encryption, .signature, .authentication],
        generations: Int = 4, algorithm: KeyAlgorithm = .rsa(bits: 2048), date: Date
    ) {
        self.persons = persons
        self.types = types
        self.generations = generations
        self.algorithm = algorithm
        self.date = date
    }

    /// How many identities that makes.
    package var count: Int { persons.count * types.count * generations }

    /// The validity of a generation, 0 being the newest: three years each.
    package func validity(ofGeneration generation: Int) -> Range<Date> {
        let calendar = Calendar.utc
        let whole = Date(timeIntervalSince1970: date.timeIntervalSince1970.rounded(.down))
        let newest = calendar.date(byAdding: .day, value: -1, to: whole) ?? whole
        let start = calendar.adding(years: -3 * generation, to: newest)
        return start..<calendar.adding(years: 3, to: start)
    }

    /// From the oldest generation's start to the newest one's end.
    package var validity: Range<Date> {
        validity(ofGeneration: max(generations, 1) - 1).lowerBound..<validity(ofGeneration: 0).upperBound
    }
}

/// Makes test credentials into a provider's key chain.
package struct Provisioner: Sendable {
    private let store: ProviderStore
    /// How many keys are made at a time; one for each core is as quick as it gets.
    private let width: Int

    package init(_ store: ProviderStore, width: Int = ProcessInfo.processInfo.activeProcessorCount) {
        self.store = store
        self.width = max(width, 1)
    }

    /// Makes what is asked for, with the authorities of an earlier run where these will do.
    ///
    /// Identities are stored in batches, in the order of persons, types and generations.
    ///
    /// - Parameter progress: called with the number of identities stored so far.
    /// - Returns: the new identities, in order.
    /// - Throws: `KeychainError` where they cannot be stored, `OpenSSLError` and `CertificateError` where they
    ///   cannot be made.
    package func run(
        _ request: ProvisioningRequest, using random: inout some RandomNumberGenerator,
        progress: (Int) -> Void = { _ in }
    ) async throws -> [IdentitySummary] {
        let authority = try authority(for: request, using: &random)
        var made: [IdentitySummary] = []
        var batch: [Work] = []
        for person in request.persons {
            for type in request.types {
                for generation in 0..<request.generations {
                    let template = try IdentityTemplate.make(
                        type, for: person, algorithm: request.algorithm,
                        validity: request.validity(ofGeneration: generation), using: &random)
                    batch.append(Work(template: template, issuer: IdentityTemplate.issuer(of: type)))
                    guard batch.count == Self.batchSize else { continue }
                    made += try await store(batch, request.algorithm, authority)
                    batch = []
                    progress(made.count)
                }
            }
        }
        made += try await store(batch, request.algorithm, authority)
        progress(made.count)
        return made
    }

    private static let batchSize = 64

    private struct Work {
        let template: CertificateTemplate
        let issuer: TestAuthorityRole
    }

    private func authority(
        for request: ProvisioningRequest, using random: inout some RandomNumberGenerator
    ) throws -> TestAuthority {
        if let known = try store.authority(), known.covers(request.validity) { return known }
        let authority = try TestAuthority(
            algorithm: request.algorithm, validity: request.validity, using: &random)
        try store.add(authority)
        return authority
    }

    private func store(
        _ batch: [Work], _ algorithm: KeyAlgorithm, _ authority: TestAuthority
    ) async throws -> [IdentitySummary] {
        let identities = try await batch.concurrentMap(width: width) { work in
            let key = try PrivateKey.generate(algorithm)
            return (certificate: try authority[work.issuer].issue(work.template, to: key), privateKey: key)
        }
        _ = try store.add(identities)
        return identities.map { IdentitySummary($0.certificate) }
    }
}
