internal import SecretMemory
internal import COpenSSL
internal import SwiftASN1

extension PKCS12 {
    /// Opens a file.
    ///
    /// If a file has several problems, a refusal is thrown before any other error. The errors that follow are, in this
    /// order: a MAC that is unsupported or malformed, a malformed structure, a password that does not match the MAC, and
    /// an unsupported encryption of a safe or key (docs/rules.md R7.10).
    ///
    /// - Parameters:
    ///   - bytes: The whole file.
    ///   - password: The password; nil tries an absent password and then the empty one (docs/rules.md R7.11).
    ///   - limits: The limits on sizes, counts and work.
    ///   - allowNoMAC: Whether a file without a MAC is read. Changes to such a file cannot be detected (docs/rules.md
    ///     R7.9).
    ///   - share: The file's share of its archive's budget; nil for a file outside an archive.
    /// - Returns: The contents of the file. Call `requireIdentities` to check that they include an identity.
    /// - Throws: Every code of `PKCS12Error` except `noIdentity` and `keyMismatch`.
    package static func read(
        _ bytes: [UInt8], password: PKCS12Password?, limits: PKCS12Limits = .standard,
        allowNoMAC: Bool = false, share: ArchiveShare? = nil
    ) throws(PKCS12Error) -> PKCS12Contents {
        var reader = PKCS12Reader(limits: limits, allowsNoMAC: allowNoMAC, share: share)
        try reader.read(bytes, password: password)
        return reader.contents
    }

    /// Reports everything known about a file, even if it cannot be opened. A file without a MAC is also read, and a
    /// note records it.
    ///
    /// - Parameters:
    ///   - bytes: The whole file.
    ///   - password: The password; nil tries an absent password and then the empty one.
    ///   - limits: The limits on sizes, counts and work.
    ///   - share: The file's share of its archive's budget; nil for a file outside an archive.
    /// - Returns: A verdict and the contents; after a failure, the contents that were read before it.
    package static func inspect(
        _ bytes: [UInt8], password: PKCS12Password?, limits: PKCS12Limits = .standard,
        share: ArchiveShare? = nil
    ) -> PKCS12Report {
        var reader = PKCS12Reader(limits: limits, allowsNoMAC: true, share: share)
        do {
            try reader.read(bytes, password: password)
            return PKCS12Report(contents: reader.contents, error: nil)
        } catch {
            return PKCS12Report(contents: reader.contents, error: error)
        }
    }
}

/// Reads one file. If reading fails, ``contents`` holds everything that was read before.
///
/// The reader first parses the structure and every iteration count that is visible without a password, then verifies
/// the MAC, then decrypts each layer (docs/rules.md R7.10). Each count is checked before its derivation. OpenSSL's
/// `PKCS12_parse` offers no way to do this, because the counts of inner layers are visible only after the outer layers
/// are decrypted.
struct PKCS12Reader {
    /// The contents that have been read.
    private(set) var contents = PKCS12Contents()

    private let limits: PKCS12Limits
    private let allowsNoMAC: Bool
    private var parser: SafeContentsParser
    private var pairing = BagPairing()
    /// Whether the MAC or a layer has accepted the password.
    private var isPasswordProven = false
    /// The first safe that could not be decrypted; nil if there is none. If `isDecrypted` is true, the padding or the
    /// tag was valid, so the password is not the cause.
    private var unopenedSafe: (place: String, isDecrypted: Bool)?
    /// The keys that could not be decrypted. `finish` decides whether the password is the cause.
    private var unopenedKeys: [(key: PKCS12LockedKey, isDecrypted: Bool)] = []

    /// Creates a reader that has read nothing.
    ///
    /// - Parameters:
    ///   - allowsNoMAC: Whether a file without a MAC is read (docs/rules.md R7.9).
    ///   - share: The file's share of its archive's budget; nil for a file outside an archive.
    init(limits: PKCS12Limits, allowsNoMAC: Bool, share: ArchiveShare? = nil) {
        self.limits = limits
        self.allowsNoMAC = allowsNoMAC
        parser = SafeContentsParser(limits: limits, share: share)
    }

    /// Returns the work that a file declares visibly without a password, in nanoseconds of processor time; zero for a
    /// file that is rejected before any work is done.
    static func visibleWork(_ bytes: [UInt8], limits: PKCS12Limits) -> Int {
        var reader = PKCS12Reader(limits: limits, allowsNoMAC: true)
        guard let pfx = try? PFX(bytes, limits: limits) else { return 0 }
        let authentication = reader.authentication(of: pfx)
        let safes = reader.outline(of: pfx)
        guard case .success = authentication, case .success = safes else { return 0 }
        return reader.parser.budget.taken
    }

    /// Reads the whole file into `contents`.
    ///
    /// - Throws: `refused`, `unsupportedAlgorithm`, `malformed`, `missingMAC`, `wrongPassword`. ``contents`` remains
    ///   valid after an error.
    mutating func read(_ bytes: [UInt8], password: PKCS12Password?) throws(PKCS12Error) {
        defer {
            contents.encryption = parser.encryption
            contents.notes += parser.notes
            contents.layers = parser.layers
            contents.unknownSchemes = parser.unknownSchemes
            contents.nestedSafeCount = parser.nestedSafeCount
            contents.nestedKeyCount = parser.nestedKeyCount
            contents.nestedCertificateCount = parser.nestedCertificateCount
            contents.oddAttributeCount = parser.oddAttributeCount
        }
        let pfx = try PFX(bytes, limits: limits)
        if pfx.trailingZeroes > 0 { contents.notes.append(.trailingZeroes(pfx.trailingZeroes)) }
        if pfx.isBasicEncoding { contents.notes.append(.basicEncoding) }

        let authentication = authentication(of: pfx)
        let safes = outline(of: pfx)
        // A refusal is thrown first, even if an earlier part of the file is unsupported or malformed.
        for case .failure(let error) in [authentication.map { _ in }, safes.map { _ in }] {
            if case .refused = error.code { throw error }
        }
        let mac = try authentication.get()
        let readable = try safes.get()
        var forms = try PasswordForms(password)
        if let mac {
            try verify(mac, of: pfx, &forms)
        } else {
            contents.notes.append(.noMAC)
            guard allowsNoMAC else { throw PKCS12Error(.missingMAC) }
        }
        for safe in readable {
            try open(safe, &forms)
        }
        try finish()
    }

    /// Parses the MAC of the file, if any, and reserves its work.
    private mutating func authentication(of pfx: PFX) -> Result<MessageAuthentication?, PKCS12Error> {
        guard let node = pfx.macData else { return .success(nil) }
        do {
            let mac = try MessageAuthentication(node, limits: limits) { contents.mac = $0 }
            contents.mac = mac.information
            try parser.budget.take(mac.processorTime)
            return .success(mac)
        } catch {
            return .failure(error)
        }
    }

    /// Parses the safes as far as possible without a password.
    private mutating func outline(of pfx: PFX) -> Result<[Safe], PKCS12Error> {
        do throws(PKCS12Error) {
            let (root, trailing) = try ASN1Node.parseFirst(pfx.authenticatedSafe, at: "AuthenticatedSafe")
            if trailing > 0 {
                contents.notes.append(.trailingOctets(place: "AuthenticatedSafe", count: trailing))
            }
            var nodes = try root.children(at: "AuthenticatedSafe")
            var safes: [Safe] = []
            while let node = nodes.next() {
                guard safes.count < limits.safes else {
                    throw PKCS12Error.refused(
                        .safes, reason: "refused: the file has more than \(limits.safes) safes")
                }
                safes.append(try Safe(node, &parser, at: "safe \(safes.count + 1)"))
            }
            contents.safeCount = safes.count
            return .success(safes)
        } catch {
            return .failure(error)
        }
    }

    /// Tries the forms of the password on the MAC.
    ///
    /// The work for all forms is reserved before the first derivation, because a wrong password is tried in every form.
    /// A file is therefore rejected before any work is done if the last form would exceed the budget. The work for
    /// unused forms is returned.
    private mutating func verify(
        _ mac: MessageAuthentication, of pfx: PFX, _ forms: inout PasswordForms
    ) throws(PKCS12Error) {
        let candidates = forms.forms(mac.family)
        // The work of the first form was reserved for the file's own declaration.
        try parser.budget.take(mac.processorTime * (candidates.count - 1))
        for (index, form) in candidates.enumerated() {
            if try mac.verifies(pfx.authenticatedSafe, password: form.bytes) {
                parser.budget.giveBack(mac.processorTime * (candidates.count - 1 - index))
                accept(form.encoding, mac.family, layer: "the MAC", &forms)
                return
            }
        }
        throw PKCS12Error(.wrongPassword, reason: "the password is wrong: the MAC does not match")
    }

    private mutating func open(_ safe: Safe, _ forms: inout PasswordForms) throws(PKCS12Error) {
        switch safe.content {
        case .plain(let bags):
            try add(bags, &forms)
        case .encrypted(let scheme, let ciphertext):
            let scheme = try scheme.get()
            let isProven = isPasswordProven
            let opening = try open(scheme, ciphertext, at: safe.place, &forms) {
                $0.holdsSequence(isPasswordProven: isProven)
            }
            guard case .opened(let plaintext) = opening else {
                unopenedSafe = unopenedSafe ?? (safe.place, opening.isDecrypted)
                return
            }
            let bags = try plaintext.withTransientArray { (bytes) throws(PKCS12Error) in
                try parser.bags(of: bytes[...], at: safe.place)
            }
            if bags.holdOnlyKeys { contents.keySafes.insert(safe.place) }
            try add(bags, &forms)
        }
    }

    /// Adds the bags of an open safe, and decrypts the keys that have their own layer.
    private mutating func add(_ safeBags: [SafeBag], _ forms: inout PasswordForms) throws(PKCS12Error) {
        contents.linkedBags += safeBags.compactMap(\.linked)
        for bag in safeBags {
            switch bag.value {
            case .key(let info):
                contents.plainKeyCount += 1
                add(DecodedKey(info) ?? .damaged, of: bag)
            case .shroudedKey(let scheme, let ciphertext):
                try open(try scheme.get(), ciphertext, keyOf: bag, &forms)
            case .certificate(let der):
                add(certificate: der, of: bag)
            case .other(let kind):
                contents.otherBags.append(
                    PKCS12OtherBag(kind: kind, friendlyName: bag.attributes.friendlyName))
            }
        }
    }

    private mutating func open(
        _ scheme: EncryptionScheme, _ ciphertext: [UInt8], keyOf bag: SafeBag, _ forms: inout PasswordForms
    ) throws(PKCS12Error) {
        var key: DecodedKey?
        var trailing = 0
        let opening = try open(scheme, ciphertext, at: bag.place, &forms) { plaintext in
            let info: SecretBytes
            (info, trailing) = plaintext.firstObject
            key = DecodedKey(info)
            return key != nil
        }
        guard let key else {
            let locked = PKCS12LockedKey(
                place: bag.place, encryption: scheme.description,
                friendlyName: bag.attributes.friendlyName, localKeyID: bag.attributes.localKeyID)
            unopenedKeys.append((locked, opening.isDecrypted))
            contents.keyCount += 1
            return
        }
        noteTrailing(trailing, at: bag.place)
        add(key, of: bag)
    }

    private mutating func add(certificate der: [UInt8], of bag: SafeBag) {
        contents.certificateCount += 1
        let end = unsafe der.withUnsafeBytes { unsafe ASN1Node.objectCount($0) } ?? der.count
        let trailing = der.count - end
        if let certificate = try? Certificate(der: trailing > 0 ? Array(der[..<end]) : der) {
            noteTrailing(trailing, at: bag.place)
            pairing.certificates.append((certificate, bag.attributes))
        } else {
            contents.unreadableCertificates.append(
                PKCS12UnreadableBag(place: bag.place, friendlyName: bag.attributes.friendlyName))
        }
    }

    private mutating func add(_ key: DecodedKey, of bag: SafeBag) {
        contents.keyCount += 1
        switch key {
        case .usable(let key):
            pairing.keys.append((key, bag.attributes, bag.place))
        case .damaged:
            note(unreadableKey: bag.place, bag.attributes.friendlyName)
        case .unusable(let oid, let name, let refusal, let isVersion1):
            if let refusal { contents.notes.append(.refusedKey(place: bag.place, reason: refusal)) }
            contents.unknownKeys.append(
                PKCS12UnknownKey(
                    algorithm: oid, name: name, isRefused: refusal != nil,
                    friendlyName: bag.attributes.friendlyName, localKeyID: bag.attributes.localKeyID,
                    isVersion1: isVersion1))
        }
    }

    private mutating func noteTrailing(_ count: Int, at place: String) {
        if count > 0 { contents.notes.append(.trailingOctets(place: place, count: count)) }
    }

    private mutating func note(unreadableKey place: String, _ friendlyName: String?) {
        contents.unreadableKeys.append(PKCS12UnreadableBag(place: place, friendlyName: friendlyName))
        contents.notes.append(.unreadableKey(place: place))
    }

    /// The result of trying the password on a layer.
    private enum Opening {
        /// The plaintext.
        case opened(SecretBytes)
        /// The padding or the tag is valid, but the plaintext is not plausible.
        case decrypted
        /// No form of the password opens the layer.
        case shut

        var isDecrypted: Bool {
            if case .decrypted = self { true } else { false }
        }
    }

    /// Decrypts a layer with the first form of the password that yields a plausible plaintext.
    private mutating func open(
        _ scheme: EncryptionScheme, _ ciphertext: [UInt8], at place: String, _ forms: inout PasswordForms,
        isPlausible: (SecretBytes) -> Bool
    ) throws(PKCS12Error) -> Opening {
        var isDecrypted = false
        for (index, form) in forms.forms(scheme.family).enumerated() {
            if index > 0 { try parser.budget.take(scheme.processorTime) }
            let outcome = try scheme.decrypt(ciphertext, password: form.bytes, limits: limits, at: place)
            guard case .opened(let plaintext) = outcome else { continue }
            if isPlausible(plaintext) {
                accept(form.encoding, scheme.family, layer: place, &forms)
                return .opened(plaintext)
            }
            // A stream cipher decrypts anything, so its plaintext proves nothing.
            isDecrypted = isDecrypted || scheme.cipher.tagLength != nil || scheme.cipher.blockLength > 1
        }
        return isDecrypted ? .decrypted : .shut
    }

    /// Remembers that a form of the password opened the MAC or a layer.
    private mutating func accept(
        _ encoding: PasswordEncoding, _ family: PasswordFamily, layer: String, _ forms: inout PasswordForms
    ) {
        if !isPasswordProven {
            contents.passwordForm = PKCS12PasswordForm(encoding: encoding, isASCII: forms.isASCII)
        }
        isPasswordProven = true
        if forms.prove(encoding, family), encoding != family.standard {
            contents.notes.append(.passwordEncoding(layer: layer, encoding))
        }
    }

    /// Decides the result for layers that could not be decrypted, and pairs keys with certificates. Called after all
    /// layers were tried, when it is known whether the password is correct.
    ///
    /// - Throws: `wrongPassword` if no part of the file accepted the password; `malformed` if a safe did not open;
    ///   `refused` if checking the keys requires too much work.
    private mutating func finish() throws(PKCS12Error) {
        if !isPasswordProven, let place = unopenedSafe?.place ?? unopenedKeys.first?.key.place {
            throw PKCS12Error(
                .wrongPassword, reason: "the password is wrong: it does not decrypt \(place)")
        }
        if let unopenedSafe {
            if unopenedSafe.isDecrypted {
                throw .malformed(unopenedSafe.place, expected: "a SEQUENCE of bags")
            }
            throw .unopened(unopenedSafe.place, underMAC: contents.mac != nil)
        }
        for (key, isDecrypted) in unopenedKeys {
            if isDecrypted {
                note(unreadableKey: key.place, key.friendlyName)
            } else {
                contents.lockedKeys.append(key)
                contents.notes.append(
                    contents.mac == nil ? .lockedKey(place: key.place) : .ownPassword(place: key.place))
            }
        }
        try pairing.pair(into: &contents, budget: &parser.budget)
    }
}

extension [SafeBag] {
    /// Whether the bags include private keys and no certificates.
    fileprivate var holdOnlyKeys: Bool {
        var hasKeys = false
        for bag in self {
            switch bag.value {
            case .key, .shroudedKey: hasKeys = true
            case .certificate: return false
            case .other: break
            }
        }
        return hasKeys
    }
}

/// One safe of the AuthenticatedSafe.
private struct Safe {
    enum Content {
        /// The bags of a safe in the clear.
        case plain([SafeBag])
        /// The scheme of an encrypted safe, or the reason why the scheme is unusable, and the ciphertext.
        case encrypted(Result<EncryptionScheme, PKCS12Error>, [UInt8])
    }

    /// The contents, as far as they are visible without a password.
    let content: Content
    /// The safe's place in the file, such as `safe 1`.
    let place: String

    init(_ node: ASN1Node, _ parser: inout SafeContentsParser, at place: String) throws(PKCS12Error) {
        self.place = place
        let info = try ContentInfo(node, at: place)
        switch info.type {
        case OID.data:
            let octets = try info.requiredContent(at: place).octets(at: "\(place) content")
            content = .plain(try parser.bags(of: octets, at: place))
        case OID.encryptedData:
            var fields = try info.requiredContent(at: place).children(at: place)
            _ = try fields.required("a version", at: place).integer(at: "\(place) version")
            var encrypted = try fields.required("an EncryptedContentInfo", at: place).children(at: place)
            let type = try encrypted.required("a content type", at: place).objectIdentifier(at: place)
            guard type == OID.data else { throw .malformed(place, expected: "encrypted Data, not \(type)") }
            let algorithm = try encrypted.required("an encryption algorithm", at: place)
            let ciphertext = try encrypted.required("encrypted content", at: place)
            let octets = Array(try ciphertext.octets(.context(0), at: "\(place), encrypted content"))
            do {
                content = .encrypted(.success(try parser.scheme(algorithm, at: place)), octets)
            } catch {
                guard case .unsupportedAlgorithm = error.code else { throw error }
                content = .encrypted(.failure(error), octets)
            }
        default:
            content = .encrypted(.failure(.unsupported(oid: info.type)), [])
        }
    }
}

extension SecretBytes {
    /// Returns whether the bytes start with a SEQUENCE. If the password is known to be correct, any octets may follow.
    /// Otherwise only zero octets may follow, because decryption with a wrong password yields random octets.
    fileprivate func holdsSequence(isPasswordProven: Bool) -> Bool {
        withTransientArray { bytes in
            guard let (node, trailing) = try? ASN1Node.parseFirst(bytes[...], at: ""),
                node.identifier == .sequence
            else { return false }
            return isPasswordProven || bytes.suffix(trailing).allSatisfy { $0 == 0 }
        }
    }

    /// The first object and the number of octets after it. If the first object has no definite length, all bytes and
    /// zero.
    fileprivate var firstObject: (bytes: SecretBytes, trailing: Int) {
        guard let end = unsafe withUnsafeBytes({ unsafe ASN1Node.objectCount($0) }), end < count else {
            return (self, 0)
        }
        return (part(0..<end), count - end)
    }
}
