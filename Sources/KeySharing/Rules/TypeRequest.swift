/// The uniform types a consumer asks for, checked against one mechanism.
public struct TypeRequest: Sendable, Hashable {
    public let mechanism: Mechanism
    /// The identifiers in the order they were given, each once; never empty.
    public let identifiers: [String]

    /// Checks every identifier; asking for nothing means the mechanism's plain PKCS #12 type.
    ///
    /// - Throws: `RequestError` for the first identifier that is undeclared, deprecated, or of the other
    ///   mechanism.
    public init(
        _ identifiers: [String], mechanism: Mechanism, registry: UniformTypeRegistry = .standard
    ) throws(RequestError) {
        let problems = Self.problems(with: identifiers, mechanism: mechanism, registry: registry)
        if let first = problems.first { throw first }
        self.init(accepting: identifiers, mechanism: mechanism)
    }

    /// What is wrong with the identifiers, one error for each that cannot be asked for.
    public static func problems(
        with identifiers: [String], mechanism: Mechanism, registry: UniformTypeRegistry = .standard
    ) -> [RequestError] {
        let owners = Set(identifiers.compactMap(Mechanism.init(owning:)))
        return identifiers.compactMap { identifier in
            do throws(RequestError) {
                _ = try registry.type(identifier)
            } catch {
                return error
            }
            guard let owner = Mechanism(owning: identifier), owner != mechanism else { return nil }
            return RequestError(owners.count > 1 ? .mixedMechanisms : .otherMechanism(owner), identifier)
        }
    }

    /// The request that is left once every identifier with a problem is dropped, for explaining the rest.
    public init(
        droppingProblemsFrom identifiers: [String], mechanism: Mechanism,
        registry: UniformTypeRegistry = .standard
    ) {
        let bad = Set(
            Self.problems(with: identifiers, mechanism: mechanism, registry: registry).map(\.name))
        self.init(accepting: identifiers.filter { !bad.contains($0) }, mechanism: mechanism)
    }

    private init(accepting identifiers: [String], mechanism: Mechanism) {
        self.mechanism = mechanism
        var seen: Set<String> = []
        let distinct = identifiers.filter { seen.insert($0).inserted }
        self.identifiers = distinct.isEmpty ? [mechanism.plainType] : distinct
    }
}
