internal import OpenSSL
internal import SecretMemory

/// A PKCS #12 file that can be changed at every level before it is encrypted, authenticated and encoded.
///
/// `PKCS12FileBuilder` writes the layouts of common programs. A draft writes any layout, in any BER form, with a MAC and
/// with layers that are consistent after every change. Test vectors and the fuzzer use it.
package struct PKCS12Draft: Sendable {
    /// A password in the two encodings of key derivations.
    package struct Password: Sendable, Hashable {
        /// The octets for the derivation of RFC 7292, B: a BMPString with a terminator.
        package var wide: [UInt8]
        /// The octets for the derivations of RFC 8018: UTF-8.
        package var octets: [UInt8]

        /// Encodes a password as the standards specify.
        package init(_ text: String) {
            wide = BERElement.bmpString(text).octets + [0, 0]
            octets = Array(text.utf8)
        }

        /// An absent password, which differs from the empty one (RFC 7292, B.1).
        package static let absent: Password = {
            var password = Password("")
            password.wide = []
            return password
        }()
    }

    /// The encryption of a layer.
    package struct Encryption: Sendable, Hashable {
        /// The AlgorithmIdentifier that encrypts the layer.
        package var algorithm: BERElement
        /// The AlgorithmIdentifier to write instead of the one that encrypts, or nil.
        package var claimed: BERElement?
        /// The encryption's own password; nil if it is that of the file.
        package var password: Password?

        /// Creates an encryption.
        package init(_ algorithm: BERElement) {
            self.algorithm = algorithm
        }
    }

    /// The value of a bag.
    package enum Value: Sendable, Hashable {
        /// A certBag with an X.509 certificate.
        case certificate([UInt8])
        /// A pkcs8ShroudedKeyBag with a PrivateKeyInfo.
        case shroudedKey([UInt8], Encryption)
        /// A keyBag with a PrivateKeyInfo in the clear.
        case key([UInt8])
        /// A safeContentsBag.
        case bags([Bag])
        /// A bag of another type, which is a dotted identifier.
        case other(String, BERElement)
    }

    /// A bag of a safe (SafeBag, RFC 7292, 4.2).
    package struct Bag: Sendable, Hashable {
        /// The bag's type and content.
        package var value: Value
        /// The attributes, in the order in which they are written. Nil omits the SET.
        package var attributes: [BERElement]?

        /// Creates a bag.
        package init(_ value: Value, _ attributes: [BERElement]? = nil) {
            self.value = value
            self.attributes = attributes
        }
    }

    /// A safe (ContentInfo with SafeContents, RFC 7292, 4.1).
    package struct Safe: Sendable, Hashable {
        /// The bags, in the order in which they are written.
        package var bags: [Bag]
        /// The encryption; nil for a safe in the clear.
        package var encryption: Encryption?

        /// Creates a safe.
        package init(_ bags: [Bag], _ encryption: Encryption? = nil) {
            self.bags = bags
            self.encryption = encryption
        }
    }

    /// The algorithm and parameters of the MAC.
    package enum MAC: Sendable, Hashable {
        /// The MAC of RFC 7292, 4. `digest` is a dotted identifier.
        case pkcs12(digest: String, salt: [UInt8], iterations: Int)
        /// PBMAC1 (RFC 9879).
        case pbmac1(PBMAC1)
    }

    /// The parameters of PBMAC1.
    package struct PBMAC1: Sendable, Hashable {
        /// The salt of PBKDF2.
        package var salt: [UInt8]
        /// The iterations of PBKDF2.
        package var iterations = 2_048
        /// The length of the MAC's key, in octets.
        package var keyLength = 32
        /// The HMAC in PBKDF2, a dotted identifier.
        package var function = OID.hmacSHA256
        /// The HMAC of the MAC, a dotted identifier.
        package var scheme = OID.hmacSHA256

        /// Creates the parameters of HMAC-SHA-256.
        package init(salt: [UInt8]) {
            self.salt = salt
        }
    }

    /// A structure that is encoded as a whole, and that an edit can change after it is built.
    package enum Level: Sendable, Hashable {
        /// The PFX.
        case file
        /// The AuthenticatedSafe.
        case authenticatedSafe
        /// The SafeContents of a safe, by the safe's index.
        case safe(Int)
    }

    /// A change of a structure after it is built.
    package typealias Edit = @Sendable (inout BERElement) throws -> Void

    /// The safes, in the order in which they are written.
    package var safes: [Safe]
    /// The MAC; nil for a file without one.
    package var mac: MAC?
    /// The password of the MAC and of every encryption, unless they define their own.
    package var password: Password
    /// The MAC's own password; nil if it is ``password``.
    package var macPassword: Password?
    private var edits: [(level: Level, edit: Edit)] = []

    /// Creates a draft.
    package init(safes: [Safe], mac: MAC?, password: Password) {
        self.safes = safes
        self.mac = mac
        self.password = password
    }

    /// Adds a change of a structure. The MAC and the encryption cover the changed structure.
    package mutating func edit(_ level: Level, _ edit: @escaping Edit) {
        edits.append((level, edit))
    }

    /// Adds a change of the element at a path in a structure.
    package mutating func edit(
        _ level: Level, _ path: [Int], _ edit: @escaping @Sendable (inout BERElement) -> Void
    ) {
        self.edit(level) { try $0.edit(path, edit) }
    }

    /// The encoded file.
    ///
    /// - Throws: `PKCS12Error` or `OpenSSLError` for parameters that OpenSSL rejects, `BERElement.NoSuchElement` if an
    ///   edit finds no element.
    package func bytes() throws -> [UInt8] {
        let contents = try safes.enumerated().map { index, safe in
            try content(of: safe, applied(.sequence(try safe.bags.map(element)), .safe(index)).bytes)
        }
        let message = try applied(.sequence(contents), .authenticatedSafe).bytes
        var fields = [try BERElement.integer(3), try Self.data(message)]
        if let mac { fields.append(try macData(mac, over: message)) }
        return try applied(.sequence(fields), .file).bytes
    }

    private func applied(_ element: BERElement, _ level: Level) throws -> BERElement {
        var element = element
        for (wanted, edit) in edits where wanted == level { try edit(&element) }
        return element
    }

    /// A ContentInfo with Data (RFC 5652, 4).
    private static func data(_ content: [UInt8]) throws -> BERElement {
        .sequence([try .objectIdentifier(OID.data), .explicit(0, .octetString(content))])
    }

    /// A ContentInfo with the contents of a safe: Data, or EncryptedData (RFC 5652, 8).
    private func content(of safe: Safe, _ contents: [UInt8]) throws -> BERElement {
        guard let encryption = safe.encryption else { return try Self.data(contents) }
        let encrypted = BERElement.sequence([
            try .objectIdentifier(OID.data), encryption.claimed ?? encryption.algorithm,
            .string(0x80, try ciphertext(of: contents, encryption)),
        ])
        return .sequence([
            try .objectIdentifier(OID.encryptedData), .explicit(0, .sequence([try .integer(0), encrypted])),
        ])
    }

    private func ciphertext(of plaintext: [UInt8], _ encryption: Encryption) throws -> [UInt8] {
        let password = encryption.password ?? password
        // PBES2 and the schemes of PKCS #5 v1.5 use the octets of the password; all others use a BMPString.
        let algorithm = encryption.algorithm.bytes
        let scheme = try BERElement.objectIdentifier(OID.pbes2)
        let isWide = encryption.algorithm.children.first.map { Self.isWide($0, pbes2: scheme) } ?? false
        return try PKCS12FileBuilder.ciphertext(
            of: plaintext, algorithm: algorithm,
            password: SecretBytes(isWide ? password.wide : password.octets))
    }

    private static func isWide(_ scheme: BERElement, pbes2: BERElement) -> Bool {
        // The identifiers of all schemes of PKCS #5, including PBES2, differ only in the last octet.
        scheme.octets.dropLast() != pbes2.octets.dropLast()
    }

    private func element(_ bag: Bag) throws -> BERElement {
        let (type, value) = try typedValue(bag.value)
        return .sequence(
            [try .objectIdentifier(type), .explicit(0, value)] + (bag.attributes.map { [.set($0)] } ?? []))
    }

    private func typedValue(_ value: Value) throws -> (type: String, value: BERElement) {
        switch value {
        case .certificate(let der):
            let fields = [
                try BERElement.objectIdentifier(OID.x509Certificate), .explicit(0, .octetString(der)),
            ]
            return (OID.certBag, .sequence(fields))
        case .shroudedKey(let info, let encryption):
            let fields = [
                encryption.claimed ?? encryption.algorithm,
                .octetString(try ciphertext(of: info, encryption)),
            ]
            return (OID.shroudedKeyBag, .sequence(fields))
        case .key(let info): return (OID.keyBag, try BERElement(parsing: info))
        case .bags(let bags): return (OID.safeContentsBag, .sequence(try bags.map(element)))
        case .other(let type, let value): return (type, value)
        }
    }

    private func macData(_ mac: MAC, over message: [UInt8]) throws -> BERElement {
        let password = macPassword ?? password
        switch mac {
        case .pkcs12(let digest, let salt, let iterations):
            let code = try PKCS12FileBuilder.code(
                over: message, digest: digest, password: SecretBytes(password.wide), salt: salt,
                iterations: iterations)
            let info = BERElement.sequence([try .algorithm(digest), .octetString(code)])
            return .sequence(
                [info, .octetString(salt)] + (iterations == 1 ? [] : [try .integer(iterations)]))
        case .pbmac1(let parameters):
            let code = try PKCS12FileBuilder.pbmac1Code(
                over: message, function: parameters.function, scheme: parameters.scheme,
                password: SecretBytes(password.octets), salt: parameters.salt,
                iterations: parameters.iterations, keyLength: parameters.keyLength)
            let info = BERElement.sequence([try parameters.algorithm(), .octetString(code)])
            // Readers ignore the salt and the count of the MacData (RFC 9879, 4). These are the values of its examples.
            return .sequence([info, .octetString(Array("NOT USED".utf8)), try .integer(1)])
        }
    }
}

extension PKCS12Draft.PBMAC1 {
    /// The AlgorithmIdentifier.
    fileprivate func algorithm() throws -> BERElement {
        let derivation = BERElement.sequence([
            .octetString(salt), try .integer(iterations), try .integer(keyLength), try .algorithm(function),
        ])
        return try .algorithm(
            OID.pbmac1, .sequence([try .algorithm(OID.pbkdf2, derivation), try .algorithm(scheme)]))
    }
}
