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
    /// Identities are stored in batches, in the order of persons, types and generations. What one identity is
    /// depends on its place in the request and on the source, not on the others.
    ///
    /// - Parameter progress: called with the number of identities stored so far.
    /// - Returns: the new identities, in order.
    /// - Throws: `KeychainError` where they cannot be stored, `OpenSSLError` and `CertificateError` where they
    ///   cannot be made.
    package func run(
        _ request: ProvisioningRequest, from source: RandomSource, progress: (Int) -> Void = { _ in }
    ) async throws -> [IdentitySummary] {
        let authority = try authority(for: request, from: source)
        var made: [IdentitySummary] = []
        var start = 0
        while start < request.count {
            let batch = start..<min(start + Self.batchSize, request.count)
            let identities = try await batch.concurrentMap(width: width) { index in
                try request.identity(index, issuedBy: authority, from: source)
            }
            _ = try store.add(identities)
            made += identities.map { IdentitySummary($0.certificate) }
            progress(made.count)
            start = batch.upperBound
        }
        return made
    }

    private static let batchSize = 64

    private func authority(for request: ProvisioningRequest, from source: RandomSource) throws
        -> TestAuthority
    {
        if let known = try store.authority(), known.covers(request.validity) { return known }
        let authority = try TestAuthority(
            algorithm: request.algorithm, validity: request.validity, from: source)
        try store.add(authority)
        return authority
    }
}

extension ProvisioningRequest {
    /// Makes the identity at a place of the request.
    func identity(
        _ index: Int, issuedBy authority: TestAuthority, from source: RandomSource
    ) throws -> (certificate: Certificate, privateKey: PrivateKey) {
        let source = source.child("identity \(index)")
        let (rest, generation) = index.quotientAndRemainder(dividingBy: generations)
        let (person, type) = rest.quotientAndRemainder(dividingBy: types.count)
        var random = source.generator()
        let template = try IdentityTemplate.make(
            types[type], for: persons[person], algorithm: algorithm,
            validity: validity(ofGeneration: generation), using: &random)
        let key = try PrivateKey.generate(algorithm, seed: source.child("key").seed)
        let issuer = authority[IdentityTemplate.issuer(of: types[type])]
        return (try issuer.issue(template, to: key, seed: source.child("signature").seed), key)
    }
}
