internal import SecretMemory
internal import SwiftASN1

/// A bag (RFC 7292, 4.2). Bags of nested safe contents are listed individually, so no bag is a safeContentsBag.
struct SafeBag {
    /// The content of a bag.
    enum Value {
        /// A PrivateKeyInfo in the clear.
        case key(SecretBytes)
        /// An EncryptedPrivateKeyInfo: its encryption scheme, or the reason why the scheme is not supported, and the
        /// ciphertext.
        case shroudedKey(Result<EncryptionScheme, PKCS12Error>, ciphertext: [UInt8])
        /// The DER of an X.509 certificate.
        case certificate([UInt8])
        /// A bag that is neither a key nor an X.509 certificate.
        case other(PKCS12OtherBag.Kind)
    }

    /// The content of the bag.
    let value: Value
    /// The attributes of the bag.
    let attributes: BagAttributes
    /// The bag's place in the file, such as `safe 1, bag 2`.
    let place: String

    /// The attributes that link keys and certificates; nil for other bags.
    var linked: PKCS12LinkedBag? {
        let kind: PKCS12LinkedBag.Kind
        switch value {
        case .key: kind = .plainKey
        case .shroudedKey: kind = .shroudedKey
        case .certificate: kind = .certificate(isTrusted: attributes.isTrusted)
        case .other: return nil
        }
        return PKCS12LinkedBag(
            kind: kind, place: place, friendlyName: attributes.friendlyName,
            localKeyID: attributes.localKeyID)
    }
}

/// Parses SafeContents (RFC 7292, 4.2), and checks bags, attributes, nesting and work of the whole file against the
/// limits before any work is done (docs/rules.md R7.12, R7.13).
struct SafeContentsParser {
    /// The limits on the contents.
    let limits: PKCS12Limits
    /// The budget from which the work of the file's derivations is reserved.
    var budget: WorkBudget
    /// The encryption schemes in readable form, without duplicates, in the order of the file.
    private(set) var encryption: [String] = []
    /// Unusual properties of the bags that are not errors.
    var notes: [PKCS12Note] = []
    /// The encrypted layers with known schemes, in the order in which they were read.
    private(set) var layers: [PKCS12Layer] = []
    /// The schemes of the other encrypted layers.
    private(set) var unknownSchemes: [PKCS12UnknownScheme] = []
    /// The number of SafeContents that are nested in other SafeContents.
    private(set) var nestedSafeCount = 0
    /// The number of private keys in nested safe contents.
    private(set) var nestedKeyCount = 0
    /// The number of X.509 certificates in nested safe contents.
    private(set) var nestedCertificateCount = 0
    /// The number of friendly names and localKeyIDs that have no value or several values.
    private(set) var oddAttributeCount = 0
    private var bagCount = 0
    private var attributeCount = 0
    private var certificateObjectCount = 0

    /// Creates a parser with all counts zero.
    ///
    /// - Parameter share: The file's share of its archive's budget; nil for a file outside an archive.
    init(limits: PKCS12Limits, share: ArchiveShare?) {
        self.limits = limits
        budget = WorkBudget(patience: limits.patience, share: share)
    }

    /// Reads the scheme of one layer and reserves the work that it requires.
    ///
    /// - Throws: `refused`, `unsupportedAlgorithm`, `malformed`.
    mutating func scheme(_ node: ASN1Node, at place: String) throws(PKCS12Error) -> EncryptionScheme {
        do {
            let scheme = try EncryptionScheme(node, limits: limits, at: place)
            try budget.take(scheme.processorTime)
            note(encryption: scheme.description)
            layers.append(PKCS12Layer(scheme, at: place))
            if let named = scheme.cipher.labelledName {
                notes.append(.keyLength(place: place, named: named, used: scheme.cipher.displayName))
            }
            return scheme
        } catch {
            if case .unsupportedAlgorithm(let oid, let name) = error.code {
                let outer = (try? AlgorithmIdentifier(node, at: place))?.oid
                let prefix = outer == OID.pbes2 && oid != OID.pbes2 ? "PBES2 with " : ""
                note(encryption: "\(prefix)\(name) (not supported)")
                unknownSchemes.append(PKCS12UnknownScheme(place: place, name: "\(prefix)\(name)"))
            }
            throw error
        }
    }

    /// Parses the bags of one safe, including those in nested safe contents.
    ///
    /// - Throws: `refused`, `malformed`. If a key's encryption algorithm is not supported, the error is in its bag.
    mutating func bags(
        of octets: ArraySlice<UInt8>, at place: String
    ) throws(PKCS12Error) -> [SafeBag] {
        let (contents, trailing) = try ASN1Node.parseFirst(octets, at: place)
        if trailing > 0 { notes.append(.trailingOctets(place: place, count: trailing)) }
        return try bags(in: contents, at: place)
    }

    /// Parses the bags of one SafeContents that is nested `depth` levels deep in a safe.
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
        let attributes = try BagAttributes(
            fields.optional(.set), limits: limits, count: &attributeCount, at: place)
        try fields.end(at: place)
        oddAttributeCount += attributes.oddCount
        if attributes.isFriendlyNameOdd { notes.append(.oddFriendlyName(place: place)) }
        if type == OID.safeContentsBag {
            nestedSafeCount += 1
            return try self.bags(in: content, at: place, depth: depth + 1)
        }
        let value = try value(type, content, at: place)
        switch value {
        case .key where depth > 0, .shroudedKey where depth > 0: nestedKeyCount += 1
        case .certificate where depth > 0: nestedCertificateCount += 1
        default: break
        }
        return [SafeBag(value: value, attributes: attributes, place: place)]
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
            let der = Array(try value.octets(at: "\(place), certificate"))
            try count(objectsOf: der)
            return .certificate(der)
        case OID.crlBag:
            return .other(.revocationList)
        case OID.secretBag:
            // Some writers omit the value, or the tag [0] around it. Only the type is reported.
            var fields = try content.children(at: place)
            return .other(
                .secret(type: try fields.required("a type", at: place).objectIdentifier(at: place)))
        default:
            return .other(.unknown(type: type))
        }
    }

    /// Counts the objects of a certificate, because describing very many names or extensions takes seconds.
    ///
    /// - Throws: `refused` if the certificates of the file have too many objects.
    private mutating func count(objectsOf certificate: [UInt8]) throws(PKCS12Error) {
        let most = limits.certificateObjects
        certificateObjectCount += unsafe certificate.withUnsafeBytes {
            unsafe ObjectHeader.upperBound(in: $0, most: most)
        }
        guard certificateObjectCount <= most else {
            throw .refused(
                .objects, reason: "refused: the certificates consist of more than \(most) ASN.1 objects")
        }
    }

    /// Reads the structure of certificate bags: a type, and a value in [0].
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
