/// The uniform types that a consumer asks for, checked against one mechanism.
///
/// ```swift
/// let request = try TypeRequest(
///     [Selector.signature.selectType(.keySharing2025), Selector.signature.companionType],
///     mechanism: .keySharing2025)
/// let selectable = items.filter { request.decide($0).isEnabled }
/// ```
public struct TypeRequest: Sendable, Hashable {
    /// The mechanism that the types belong to.
    public let mechanism: Mechanism
    /// The identifiers in the order they were given, each once; never empty.
    public let identifiers: [String]

    /// Checks every identifier. A request without identifiers asks for the mechanism's plain PKCS #12 type
    /// (docs/rules.md R1.4).
    ///
    /// - Throws: `RequestError` for the first identifier that cannot be asked for: `.undeclaredType`,
    ///   `.deprecatedSpelling`, `.mixedMechanisms`, `.otherMechanism`.
    public init(
        _ identifiers: [String], mechanism: Mechanism, registry: UniformTypeRegistry = .standard
    ) throws(RequestError) {
        let problems = Self.problems(with: identifiers, mechanism: mechanism, registry: registry)
        if let first = problems.first { throw first }
        self.init(accepting: identifiers, mechanism: mechanism)
    }

    /// The errors of a request, one for each identifier that cannot be asked for (docs/rules.md R1.1, R1.3,
    /// R2.11, R2.12).
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

    /// Drops every identifier that cannot be asked for, so that the rest can be explained (docs/rules.md
    /// R2.13).
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
