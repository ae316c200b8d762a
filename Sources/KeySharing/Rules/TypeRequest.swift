/// The uniform types a consumer asks for, checked against one mechanism.
public struct TypeRequest: Sendable, Hashable {
    public let mechanism: Mechanism
    /// The identifiers in the order they were given, each once; never empty.
    public let identifiers: [String]

    /// Checks every identifier; asking for nothing means the mechanism's plain PKCS #12 type.
    ///
    /// - Throws: `TypeRequestError` for the first identifier that is undeclared, deprecated, or of the other
    ///   mechanism.
    public init(
        _ identifiers: [String], mechanism: Mechanism, registry: UniformTypeRegistry = .standard
    ) throws(TypeRequestError) {
        let problems = Self.problems(with: identifiers, mechanism: mechanism, registry: registry)
        if let first = problems.first { throw first }
        self.init(accepting: identifiers, mechanism: mechanism)
    }

    /// What is wrong with the identifiers, one error for each that cannot be asked for.
    public static func problems(
        with identifiers: [String], mechanism: Mechanism, registry: UniformTypeRegistry = .standard
    ) -> [TypeRequestError] {
        let owners = Set(identifiers.compactMap(Mechanism.init(owning:)))
        return identifiers.compactMap { identifier in
            do throws(UniformTypeError) {
                _ = try registry.type(identifier)
            } catch {
                return TypeRequestError(identifier, error)
            }
            guard let owner = Mechanism(owning: identifier), owner != mechanism else { return nil }
            return TypeRequestError(identifier, owners.count > 1 ? .mixedMechanisms : .otherMechanism(owner))
        }
    }

    /// The request that is left once every identifier with a problem is dropped, for explaining the rest.
    public init(
        droppingProblemsFrom identifiers: [String], mechanism: Mechanism,
        registry: UniformTypeRegistry = .standard
    ) {
        let bad = Set(
            Self.problems(with: identifiers, mechanism: mechanism, registry: registry).map(\.identifier))
        self.init(accepting: identifiers.filter { !bad.contains($0) }, mechanism: mechanism)
    }

    private init(accepting identifiers: [String], mechanism: Mechanism) {
        self.mechanism = mechanism
        var seen: Set<String> = []
        let distinct = identifiers.filter { seen.insert($0).inserted }
        self.identifiers = distinct.isEmpty ? [mechanism.plainType] : distinct
    }
}

/// Why a type cannot be asked for; equal by code and identifier.
public struct TypeRequestError: Error, Hashable, Sendable {
    /// What kind of mistake it is.
    public enum Code: Hashable, Sendable {
        case undeclared
        /// An old spelling; the one to use stands beside it.
        case deprecated(use: String)
        /// The request names types of both mechanisms.
        case mixedMechanisms
        /// All of the request belongs to the other mechanism.
        case otherMechanism(Mechanism)
    }

    public let identifier: String
    public let code: Code

    init(_ identifier: String, _ code: Code) {
        self.identifier = identifier
        self.code = code
    }

    init(_ identifier: String, _ error: UniformTypeError) {
        self.identifier = identifier
        if case .deprecated(let modern) = error.code {
            code = .deprecated(use: modern)
        } else {
            code = .undeclared
        }
    }

    /// Whether what belongs to one mechanism was asked of the other.
    public var isMixed: Bool {
        switch code {
        case .mixedMechanisms, .otherMechanism: true
        case .undeclared, .deprecated: false
        }
    }

    /// A stable code for scripts.
    public var name: String {
        switch code {
        case .undeclared: "undeclared-type"
        case .deprecated: "deprecated-spelling"
        case .mixedMechanisms: "mixed-mechanisms"
        case .otherMechanism: "other-mechanism"
        }
    }

    /// What is wrong, in one sentence.
    public var reason: String {
        switch code {
        case .undeclared: "\(identifier) is no declared uniform type"
        case .deprecated: "\(identifier) is a deprecated spelling"
        case .mixedMechanisms: "\(identifier) stands beside types of the other mechanism; the two never mix"
        case .otherMechanism(let owner): "\(identifier) belongs to the \(owner) mechanism"
        }
    }

    /// What to do about it.
    public var hint: String {
        switch code {
        case .undeclared: "the types that can be asked for are listed by browse --help"
        case .deprecated(let modern): "use \(modern)"
        case .mixedMechanisms: "ask for types of one mechanism only"
        case .otherMechanism(.legacy): "add --mechanism legacy"
        case .otherMechanism(.keySharing2025): "ask for a legacy type, or leave out --mechanism legacy"
        }
    }
}
