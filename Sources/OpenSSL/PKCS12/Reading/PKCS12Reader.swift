internal import SecretMemory
internal import COpenSSL
internal import SwiftASN1

/// Opens one file and keeps what it finds, so that a failure still tells what was known by then.
///
/// The order is: the structure and every count that can be seen, then the MAC, then layer by layer with each
/// count checked before its derivation. One-call parsers cannot do this, for the counts of the inner layers
/// show only when the outer ones are open.
struct PKCS12Reader {
    /// What was found so far.
    private(set) var contents = PKCS12Contents()

    private let limits: PKCS12Limits
    private let allowsNoMAC: Bool
    private var walk: SafeContentsParser
    private var found = BagPairing()
    /// Whether MAC or some layer accepted the password.
    private var isPasswordProven = false
    /// A safe and the keys that did not open, while it is open whether the password is to blame; `isDecrypted`
    /// where it is not, for padding or tag fit.
    private var unopenedSafe: (place: String, isDecrypted: Bool)?
    private var unopenedKeys: [(key: PKCS12LockedKey, isDecrypted: Bool)] = []

    init(limits: PKCS12Limits, allowsNoMAC: Bool) {
        self.limits = limits
        self.allowsNoMAC = allowsNoMAC
        walk = SafeContentsParser(limits: limits)
    }

    /// Reads the whole file into `contents`.
    mutating func read(_ bytes: [UInt8], password: PKCS12Password?) throws(PKCS12Error) {
        defer {
            contents.encryption = walk.encryption
            contents.notes += walk.notes
            contents.layers = walk.layers
            contents.unknownSchemes = walk.unknownSchemes
            contents.nestedSafeCount = walk.nestedSafeCount
            contents.oddAttributeCount = walk.oddAttributeCount
        }
        let pfx = try PFX(bytes, limits: limits)
        if pfx.trailingZeroes > 0 { contents.notes.append(.trailingZeroes(pfx.trailingZeroes)) }
        if pfx.isBasicEncoding { contents.notes.append(.basicEncoding) }

        let authentication = authentication(of: pfx)
        let safes = outline(of: pfx)
        // What asks for too much is told before what is not supported, and that before what is broken.
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
        try settle()
    }

    /// The MacData, read; nil where there is none.
    private mutating func authentication(of pfx: PFX) -> Result<MessageAuthentication?, PKCS12Error> {
        guard let node = pfx.macData else { return .success(nil) }
        do {
            let mac = try MessageAuthentication(node, limits: limits) { contents.mac = $0 }
            contents.mac = mac.information
            try walk.budget.declare(mac.iterations)
            return .success(mac)
        } catch {
            return .failure(error)
        }
    }

    /// The safes, as far as they show without a password.
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
                safes.append(try Safe(node, &walk, at: "safe \(safes.count + 1)"))
            }
            contents.safeCount = safes.count
            return .success(safes)
        } catch {
            return .failure(error)
        }
    }

    private mutating func verify(
        _ mac: MessageAuthentication, of pfx: PFX, _ forms: inout PasswordForms
    ) throws(PKCS12Error) {
        for (index, form) in forms.forms(mac.family).enumerated() {
            guard walk.budget.spend(mac.iterations, isFirst: index == 0) else { break }
            if try mac.verifies(pfx.authenticatedSafe, password: form.bytes) {
                accept(form.encoding, mac.family, layer: "the MAC", &forms)
                return
            }
        }
        throw PKCS12Error(.wrongPassword, reason: "the password is wrong: the MAC does not fit it")
    }

    private mutating func open(_ safe: Safe, _ forms: inout PasswordForms) throws(PKCS12Error) {
        switch safe.content {
        case .plain(let bags):
            try take(bags, &forms)
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
                try walk.bags(of: bytes[...], at: safe.place)
            }
            try take(bags, &forms)
        }
    }

    private mutating func take(_ bags: [SafeBag], _ forms: inout PasswordForms) throws(PKCS12Error) {
        for bag in bags {
            switch bag.value {
            case .key(let info):
                contents.plainKeyCount += 1
                take(DecodedKey(info) ?? .damaged, of: bag)
            case .shroudedKey(let scheme, let ciphertext):
                let scheme = try scheme.get()
                var key: DecodedKey?
                var trailing = 0
                let opening = try open(scheme, ciphertext, at: bag.place, &forms) { plaintext in
                    let info: SecretBytes
                    (info, trailing) = plaintext.firstObject
                    key = DecodedKey(info)
                    return key != nil
                }
                if let key {
                    if trailing > 0 {
                        contents.notes.append(.trailingOctets(place: bag.place, count: trailing))
                    }
                    take(key, of: bag)
                } else {
                    let locked = PKCS12LockedKey(
                        place: bag.place, encryption: scheme.description,
                        friendlyName: bag.attributes.friendlyName, localKeyID: bag.attributes.localKeyID)
                    unopenedKeys.append((locked, opening.isDecrypted))
                    contents.keyCount += 1
                }
            case .certificate(let der):
                contents.certificateCount += 1
                let end = unsafe der.withUnsafeBytes { unsafe ASN1Node.objectCount($0) } ?? der.count
                let trailing = der.count - end
                if let certificate = try? Certificate(der: trailing > 0 ? Array(der[..<end]) : der) {
                    if trailing > 0 {
                        contents.notes.append(.trailingOctets(place: bag.place, count: trailing))
                    }
                    found.certificates.append((certificate, bag.attributes))
                } else {
                    contents.unreadableCertificates.append(
                        PKCS12UnreadableBag(place: bag.place, friendlyName: bag.attributes.friendlyName))
                }
            case .other(let kind):
                contents.otherBags.append(
                    PKCS12OtherBag(kind: kind, friendlyName: bag.attributes.friendlyName))
            }
        }
    }

    private mutating func take(_ key: DecodedKey, of bag: SafeBag) {
        contents.keyCount += 1
        switch key {
        case .usable(let key):
            found.keys.append((key, bag.attributes, bag.place))
        case .damaged:
            note(unreadableKey: bag.place, bag.attributes.friendlyName)
        case .unusable(let oid, let name, let refusal):
            if let refusal { contents.notes.append(.refusedKey(place: bag.place, reason: refusal)) }
            contents.unknownKeys.append(
                PKCS12UnknownKey(
                    algorithm: oid, name: name, isRefused: refusal != nil,
                    friendlyName: bag.attributes.friendlyName, localKeyID: bag.attributes.localKeyID))
        }
    }

    private mutating func note(unreadableKey place: String, _ friendlyName: String?) {
        contents.unreadableKeys.append(PKCS12UnreadableBag(place: place, friendlyName: friendlyName))
        contents.notes.append(.unreadableKey(place: place))
    }

    /// What became of a layer.
    private enum Opening {
        case opened(SecretBytes)
        /// Padding or tag fit, though what is inside is not what should be.
        case decrypted
        case shut

        var isDecrypted: Bool {
            if case .decrypted = self { true } else { false }
        }
    }

    /// The plaintext of a layer under the first form of the password that `accept` agrees with.
    private mutating func open(
        _ scheme: EncryptionScheme, _ ciphertext: [UInt8], at place: String, _ forms: inout PasswordForms,
        accept isPlausible: (SecretBytes) -> Bool
    ) throws(PKCS12Error) -> Opening {
        var isDecrypted = false
        for (index, form) in forms.forms(scheme.family).enumerated() {
            guard walk.budget.spend(scheme.work, isFirst: index == 0) else { break }
            let outcome = try scheme.decrypt(ciphertext, password: form.bytes, limits: limits, at: place)
            guard case .opened(let plaintext) = outcome else { continue }
            if isPlausible(plaintext) {
                accept(form.encoding, scheme.family, layer: place, &forms)
                return .opened(plaintext)
            }
            // A stream cipher makes something of everything.
            isDecrypted = isDecrypted || scheme.cipher.tagLength != nil || scheme.cipher.blockLength > 1
        }
        return isDecrypted ? .decrypted : .shut
    }

    private mutating func accept(
        _ encoding: PasswordEncoding, _ family: PasswordFamily, layer: String, _ forms: inout PasswordForms
    ) {
        if !isPasswordProven {
            contents.passwordForm = PKCS12PasswordForm(encoding: encoding, isASCII: forms.isASCII)
        }
        isPasswordProven = true
        let isNews = forms.prove(encoding, family)
        if isNews, encoding != family.standard {
            contents.notes.append(.passwordEncoding(layer: layer, encoding))
        }
    }

    /// Decides what the layers that stayed shut mean, and pairs what was found.
    private mutating func settle() throws(PKCS12Error) {
        if !isPasswordProven, let place = unopenedSafe?.place ?? unopenedKeys.first?.key.place {
            throw PKCS12Error(
                .wrongPassword, reason: "the password is wrong: \(place) does not open under it")
        }
        if let unopenedSafe {
            throw unopenedSafe.isDecrypted
                ? .malformed(unopenedSafe.place, expected: "a SEQUENCE of bags")
                : .unopened(unopenedSafe.place)
        }
        for (key, isDecrypted) in unopenedKeys {
            if isDecrypted {
                note(unreadableKey: key.place, key.friendlyName)
            } else {
                contents.lockedKeys.append(key)
                contents.notes.append(.lockedKey(place: key.place))
            }
        }
        found.pair(into: &contents)
    }
}

/// One safe: its bags where they lie open, else how it is encrypted.
private struct Safe {
    enum Content {
        case plain([SafeBag])
        case encrypted(Result<EncryptionScheme, PKCS12Error>, [UInt8])
    }

    let content: Content
    let place: String

    init(_ node: ASN1Node, _ walk: inout SafeContentsParser, at place: String) throws(PKCS12Error) {
        self.place = place
        let info = try ContentInfo(node, at: place)
        switch info.type {
        case OID.data:
            let octets = try info.requiredContent(at: place).octets(at: "\(place) content")
            content = .plain(try walk.bags(of: octets, at: place))
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
                content = .encrypted(.success(try walk.scheme(algorithm, at: place)), octets)
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
    /// Whether the bytes are one SEQUENCE; other octets may follow where the password is known to be right, and
    /// zeroes otherwise.
    fileprivate func holdsSequence(isPasswordProven: Bool) -> Bool {
        withTransientArray { bytes in
            guard let (node, trailing) = try? ASN1Node.parseFirst(bytes[...], at: ""),
                node.identifier == .sequence
            else { return false }
            return isPasswordProven || bytes.suffix(trailing).allSatisfy { $0 == 0 }
        }
    }

    /// The first object, and how many octets follow it; everything where no object's end is to be seen.
    fileprivate var firstObject: (bytes: SecretBytes, trailing: Int) {
        guard let end = unsafe withUnsafeBytes({ unsafe ASN1Node.objectCount($0) }), end < count else {
            return (self, 0)
        }
        return (part(0..<end), count - end)
    }
}
