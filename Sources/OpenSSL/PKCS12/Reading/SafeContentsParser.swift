internal import SecretMemory
internal import SwiftASN1

/// One bag of a safe (RFC 7292, 4.2), nested safe contents already unfolded.
struct SafeBag {
    /// What the bag holds.
    enum Value {
        /// A PrivateKeyInfo in the clear.
        case key(SecretBytes)
        /// An EncryptedPrivateKeyInfo: its scheme, or why that cannot be used.
        case shroudedKey(Result<EncryptionScheme, PKCS12Error>, ciphertext: [UInt8])
        /// An X.509 certificate's DER.
        case certificate([UInt8])
        /// Anything else.
        case other(PKCS12OtherBag.Kind)
    }

    let value: Value
    let attributes: BagAttributes
    /// Such as `safe 1, bag 2`.
    let place: String
}

/// Walks safe contents and counts what it meets against the limits before doing work for it.
struct SafeContentsParser {
    let limits: PKCS12Limits
    var budget: IterationBudget
    /// The names of schemes, each once, in the order of the file.
    private(set) var encryption: [String] = []
    var notes: [PKCS12Note] = []
    private(set) var layers: [PKCS12Layer] = []
    private(set) var unknownSchemes: [String] = []
    private(set) var nestedSafeCount = 0
    private(set) var oddAttributeCount = 0
    private var bagCount = 0

    init(limits: PKCS12Limits) {
        self.limits = limits
        budget = IterationBudget(limits: limits)
    }

    /// Reads the scheme of one layer and declares its work.
    mutating func scheme(_ node: ASN1Node, at place: String) throws(PKCS12Error) -> EncryptionScheme {
        do {
            let scheme = try EncryptionScheme(node, limits: limits, at: place)
            try budget.declare(scheme.work)
            note(encryption: scheme.description)
            layers.append(PKCS12Layer(scheme, at: place))
            return scheme
        } catch {
            if case .unsupportedAlgorithm(let oid, let name) = error.code {
                let outer = (try? AlgorithmIdentifier(node, at: place))?.oid
                let prefix = outer == OID.pbes2 && oid != OID.pbes2 ? "PBES2 with " : ""
                note(encryption: "\(prefix)\(name) (not supported)")
                unknownSchemes.append("\(prefix)\(name)")
            }
            throw error
        }
    }

    /// The bags of one safe.
    mutating func bags(
        of octets: ArraySlice<UInt8>, at place: String
    ) throws(PKCS12Error) -> [SafeBag] {
        let (contents, trailing) = try ASN1Node.parseFirst(octets, at: place)
        if trailing > 0 { notes.append(.trailingOctets(place: place, count: trailing)) }
        return try bags(in: contents, at: place)
    }

    /// The bags of one SafeContents, nested ones unfolded.
    private mutating func bags(
        in contents: ASN1Node, at place: String, depth: Int = 0
    ) throws(PKCS12Error) -> [SafeBag] {
        guard depth <= limits.nesting else {
            throw .refused(
                .nesting, reason: "refused: \(place) nests safe contents more than \(limits.nesting) deep")
        }
        var iterator = try contents.children(at: place)
        var bags: [SafeBag] = []
        var number = 0
        while let node = iterator.next() {
            number += 1
            bagCount += 1
            guard bagCount <= limits.bags else {
                throw .refused(.bags, reason: "refused: the file has more than \(limits.bags) bags")
            }
            bags += try bag(node, at: "\(place), bag \(number)", depth: depth)
        }
        if number == 0 { notes.append(.emptySafe(place: place)) }
        return bags
    }

    private mutating func bag(
        _ node: ASN1Node, at place: String, depth: Int
    ) throws(PKCS12Error) -> [SafeBag] {
        var fields = try node.children(at: place)
        let type = try fields.required("a bag type", at: place).objectIdentifier(at: place)
        let content = try fields.required("a bag value", at: place).explicit(0, at: "\(place) value")
        let attributes = try BagAttributes(fields.optional(.set), limits: limits, at: place)
        try fields.end(at: place)
        oddAttributeCount += attributes.oddCount
        if attributes.isFriendlyNameOdd { notes.append(.oddFriendlyName(place: place)) }
        if type == OID.safeContentsBag {
            nestedSafeCount += 1
            return try self.bags(in: content, at: place, depth: depth + 1)
        }
        return [SafeBag(value: try value(type, content, at: place), attributes: attributes, place: place)]
    }

    private mutating func value(
        _ type: String, _ content: ASN1Node, at place: String
    ) throws(PKCS12Error) -> SafeBag.Value {
        switch type {
        case OID.keyBag:
            return .key(SecretBytes(content.encodedBytes))
        case OID.shroudedKeyBag:
            var fields = try content.children(at: place)
            let algorithm = try fields.required("an encryption algorithm", at: place)
            let ciphertext = Array(
                try fields.required("an encrypted key", at: place).octets(at: "\(place), encrypted key"))
            try fields.end(at: place)
            do {
                return .shroudedKey(.success(try scheme(algorithm, at: place)), ciphertext: ciphertext)
            } catch {
                guard case .unsupportedAlgorithm = error.code else { throw error }
                return .shroudedKey(.failure(error), ciphertext: ciphertext)
            }
        case OID.certBag:
            let (kind, value) = try typedValue(content, at: place)
            guard kind == OID.x509Certificate else { return .other(.certificate(type: kind)) }
            return .certificate(Array(try value.octets(at: "\(place), certificate")))
        case OID.crlBag:
            return .other(.revocationList)
        case OID.secretBag:
            // Some leave the value out, or its tag; nothing is done with it but to name its type.
            var fields = try content.children(at: place)
            return .other(
                .secret(type: try fields.required("a type", at: place).objectIdentifier(at: place)))
        default:
            return .other(.unknown(type: type))
        }
    }

    /// The form that certificate and secret bags share: a type, and a value in [0].
    private func typedValue(
        _ content: ASN1Node, at place: String
    ) throws(PKCS12Error) -> (type: String, value: ASN1Node) {
        var fields = try content.children(at: place)
        let type = try fields.required("a type", at: place).objectIdentifier(at: place)
        let value = try fields.required("a value", at: place).explicit(0, at: place)
        try fields.end(at: place)
        return (type, value)
    }

    private mutating func note(encryption scheme: String) {
        if !encryption.contains(scheme) { encryption.append(scheme) }
    }
}
