internal import OpenSSL
/// The rules of one reader: the PKCS #12 features that it accepts.
struct ReaderRules {
    /// The behaviour for a file without a MAC.
    enum MissingMAC {
        /// The reader opens the file.
        case opens
        /// The reader opens the file only without a password or with the empty one.
        case opensUnderEmptyPassword
        /// The reader does not open the file.
        case fails
    }

    /// The accepted schemes of RFC 7292 and PKCS #5 v1.5. Each is given by the end of its object identifier, such as
    /// `12.1.3` or `5.3`.
    var schemes: Set<String> = []
    /// The accepted ciphers of PBES2, by OpenSSL's names. The name of RC2 does not include the effective key bits.
    var ciphers: Set<String> = []
    /// The accepted digests in the HMAC of PBKDF2.
    var functions: Set<String> = []
    /// Whether scrypt is accepted.
    var hasScrypt = false
    /// The accepted digests of a MAC of RFC 7292.
    var macs: Set<String> = []
    /// The accepted digests of PBMAC1; nil if the reader does not support PBMAC1.
    var pbmac1: Set<String>?
    /// The behaviour for a file without a MAC.
    var missingMAC = MissingMAC.fails
    /// Whether BER is accepted in addition to DER.
    var takesBER = true
    /// Whether zero bytes after the file are accepted.
    var takesTrailingZeroes = true
    /// Whether octets after the AuthenticatedSafe, or after the contents of a safe, are ignored.
    var takesTrailingOctets = true
    /// Whether passwords with characters outside ASCII are accepted.
    var takesNonASCII = true
    /// Whether a file that was encrypted without a password is opened. No password is not the same as the empty
    /// password.
    var takesAbsentPassword = true
    /// Whether the reader also tries an absent password if the user's password is empty.
    var triesAbsentPassword = true
    /// Whether a private key is accepted if its localKeyID is missing or matches no certificate.
    var takesUntiedKeys = true
    /// Whether the certificate of a private key is found only if the localKeyID or the friendly name links them.
    var needsLinks = false
    /// Whether private keys of version 1, which contain their public half (RFC 5958), are accepted.
    var takesVersion1Keys = false
    /// Whether bags with revocation lists are accepted.
    var takesRevocationLists = true
    /// Whether bags with secrets are accepted.
    var takesSecrets = true
    /// Whether keys in the clear are read. If false, they are skipped.
    var readsPlainKeys = true
    /// Whether nested safe contents are read. If false, they are skipped.
    var readsNestedSafes = true
    /// Whether certificates without a key are found even if Java's attribute does not mark them as trust anchors.
    var readsUnmarkedCertificates = true
    /// Whether bags of unknown types are accepted.
    var takesUnknownBags = true
    /// Whether a friendly name or localKeyID with no value or several values is accepted.
    var takesOddAttributes = true
    /// Whether a file with a certificate that cannot be parsed is opened.
    var takesUnreadableCertificates = false
    /// The only accepted number of private keys; nil for any.
    var onlyKeyCount: Int?
    /// The maximum number of safes.
    var safeCount = Int.max
    /// The maximum iteration count.
    var iterationLimit = Int.max
    /// Whether the reader opens files whose key derivation specifies a 256-bit key and whose cipher's identifier
    /// specifies AES with a shorter key. The key length of the derivation is then used.
    var takesMislabelledAES = false
    /// Whether a MAC with an empty salt is accepted.
    var takesEmptySalt = true
    /// Returns whether private keys of a type are accepted.
    var takesKey: @Sendable (KeyType) -> Bool = { _ in true }
    /// The reader's wording for an error of the MAC; nil if the exact wording is unknown.
    var macError: String?
    /// The reader's wording for other errors; nil if the exact wording is unknown.
    var structureError: String?
}

extension ReaderRules {
    /// Returns the obstacles to opening the file, one sentence each: first those that are visible without a password.
    func obstacles(in report: PKCS12Report) -> [String] {
        let contents = report.contents
        // No reader supports a scheme for which OpenSSL has no name.
        let unknown = contents.unknownSchemes.map(\.name).uniqued.map {
            error("The reader does not support the encryption \($0)", structureError)
        }
        let outer = outerObstacles(in: contents) + contents.layers.compactMap(obstacle).uniqued + unknown
        // If this program could not open the file, the contents are unknown.
        return report.verdict == .ok ? outer + innerObstacles(in: contents) : outer
    }

    /// Returns the contents that the reader skips silently, one sentence each.
    func losses(in contents: PKCS12Contents) -> [String] {
        var losses: [String] = []
        if !readsPlainKeys, contents.plainKeyCount > 0 {
            losses.append("Unencrypted private keys are skipped silently.")
        }
        if !readsNestedSafes, contents.nestedSafeCount > 0 {
            losses.append("Safe contents inside safes are skipped silently.")
        }
        if needsLinks, contents.hasLostCertificate {
            losses.append("A private key is returned without its certificate, because nothing links them.")
        }
        let isUnmarked = contents.certificateEntries.contains { !$0.isTrusted }
        if !readsUnmarkedCertificates, contents.identities.isEmpty, isUnmarked {
            losses.append("Certificates without a key and without Java's trust attribute are skipped.")
        }
        return losses
    }

    /// Returns whether the file contains private keys or certificates and the reader skips all of them.
    func findsNothing(in contents: PKCS12Contents) -> Bool {
        guard contents.keyCount + contents.certificateCount > 0 else { return false }
        let keysLeftOut = max(
            readsPlainKeys ? 0 : contents.plainKeyCount, readsNestedSafes ? 0 : contents.nestedKeyCount)
        let hasKeys = contents.keyCount > keysLeftOut
        let hasCertificates =
            readsUnmarkedCertificates
            ? contents.certificateCount > (readsNestedSafes ? 0 : contents.nestedCertificateCount)
            : contents.certificateEntries.contains(where: \.isTrusted)
        return !hasKeys && !hasCertificates
    }

    /// Returns the obstacles in the encoding, the MAC and the form of the password.
    private func outerObstacles(in contents: PKCS12Contents) -> [String] {
        var found: [String] = []
        let form = contents.passwordForm
        if contents.notes.contains(.basicEncoding), !takesBER {
            found.append("The encoding is BER, not DER.")
        }
        if !takesTrailingZeroes, contents.notes.contains(where: \.isTrailingZeroes) {
            found.append("Zero bytes follow the file's end.")
        }
        if let mac = contents.mac {
            found += obstacles(in: mac)
        } else if contents.notes.contains(.noMAC) {
            switch missingMAC {
            case .opens: break
            case .opensUnderEmptyPassword where form?.isEmpty ?? true: break
            case .opensUnderEmptyPassword: found.append("The file has no MAC, and the password is not empty.")
            case .fails: found.append(error("There is no MAC", structureError))
            }
        }
        if let form {
            if !form.isASCII, !takesNonASCII {
                found.append("The password contains characters outside ASCII.")
            }
            if form.encoding == .absent, contents.mac != nil, !takesAbsentPassword {
                found.append(error("The password is absent, not empty", macError))
            }
        }
        // If the encoding of the password is non-standard, only the program that wrote the file can open it.
        if contents.notes.contains(where: \.isOddPassword) {
            found.append("The password is not encoded as the standard requires.")
        }
        return found
    }

    /// Returns the obstacle in the MAC, if any, as an array.
    private func obstacles(in mac: MACInfo) -> [String] {
        switch mac.scheme {
        case .unknown: return [error("The reader does not support the MAC \(mac.algorithm)", macError)]
        case .pkcs12(let digest):
            if !macs.contains(digest) {
                return [error("The reader does not support the MAC \(mac.algorithm)", macError)]
            }
            if mac.saltLength == 0, !takesEmptySalt { return [error("The MAC's salt is empty", macError)] }
        case .pbmac1(let digest, let derivation):
            guard let pbmac1, pbmac1.isSuperset(of: [digest, derivation]) else {
                return [error("The reader does not support the MAC \(mac.algorithm)", macError)]
            }
        }
        return mac.iterations > iterationLimit
            ? ["The MAC has \(mac.iterations) iterations, above the limit of \(iterationLimit)."] : []
    }

    /// Returns the obstacle in a layer's encryption; nil if the reader supports the encryption.
    private func obstacle(_ layer: PKCS12Layer) -> String? {
        if layer.iterations > iterationLimit {
            return "\(layer.description): more iterations than the limit of \(iterationLimit)."
        }
        guard layer.scheme == OID.pbes2 else {
            let isKnown = schemes.contains { layer.scheme.hasSuffix("1.2.840.113549.1.\($0)") }
            return isKnown
                ? nil
                : error("The reader does not support the encryption \(layer.description)", structureError)
        }
        guard takesMislabelledAES || !layer.isMislabelled else {
            return error(
                "The key length of \(layer.description) does not match its identifier", structureError)
        }
        let cipher = layer.cipher.hasPrefix("RC2-") ? "RC2-CBC" : layer.cipher
        guard ciphers.contains(cipher) else {
            return error("The cipher of \(layer.description) is not supported", structureError)
        }
        switch layer.derivation {
        case .pbkdf2(let digest) where functions.contains(digest): return nil
        case .scrypt where hasScrypt: return nil
        default: return error("The key derivation of \(layer.description) is not supported", structureError)
        }
    }

    /// Returns the obstacles that are visible only after the file is decrypted.
    private func innerObstacles(in contents: PKCS12Contents) -> [String] {
        var found: [String] = []
        if !takesTrailingOctets, contents.notes.contains(where: \.isTrailingInSafe) {
            found.append(error("Octets follow the contents of a safe", structureError))
        }
        if contents.safeCount > safeCount { found.append("The file has more than \(safeCount) safes.") }
        if let onlyKeyCount, contents.keyCount != onlyKeyCount {
            found.append("The file contains \(contents.keyCount) private keys instead of \(onlyKeyCount).")
        }
        if !contents.lockedKeys.isEmpty {
            found.append("A private key is damaged or has a different password.")
        }
        if !takesUntiedKeys, contents.untiedKeyCount > 0 {
            found.append("No certificate has the localKeyID of a private key.")
        }
        if needsLinks, contents.hasLostEveryCertificate {
            found.append("No certificate has the localKeyID or the friendly name of a private key.")
        }
        if !contents.unreadableKeys.isEmpty {
            found.append(error("A private key cannot be parsed", structureError))
        }
        let keys = contents.identities.map(\.privateKey.type) + contents.keys.map(\.privateKey.type)
        for type in keys.uniqued where !takesKey(type) {
            found.append(
                error("The reader does not support private keys of type \(type.words)", structureError))
        }
        let unknown = contents.unknownKeys.filter { !($0.isVersion1 && takesVersion1Keys) }
        for key in unknown.map(\.name).uniqued where !takesKey(.other(key)) {
            found.append(error("The reader does not support private keys of type \(key)", structureError))
        }
        if !takesUnreadableCertificates, !contents.unreadableCertificates.isEmpty {
            found.append(error("A certificate cannot be parsed", structureError))
        }
        if !takesOddAttributes, contents.oddAttributeCount > 0 {
            found.append(
                error("A friendly name or a localKeyID does not have exactly one value", structureError))
        }
        for bag in contents.otherBags {
            switch bag.kind {
            case .revocationList where !takesRevocationLists:
                found.append("The file contains a revocation list.")
            case .secret where !takesSecrets: found.append("The file contains a secret bag.")
            case .unknown(let type) where !takesUnknownBags:
                found.append(error("The file contains a bag of type \(type)", structureError))
            default: break
            }
        }
        return found.uniqued
    }

    /// Returns a sentence with the reason and, if known, the reader's own wording of the error.
    private func error(_ reason: String, _ words: String?) -> String {
        words.map { "\(reason): \($0)." } ?? "\(reason)."
    }
}

extension PKCS12Note {
    fileprivate var isTrailingZeroes: Bool {
        if case .trailingZeroes = self { true } else { false }
    }

    /// Whether octets follow the AuthenticatedSafe or the bags of a safe. Octets inside a bag are another matter.
    fileprivate var isTrailingInSafe: Bool {
        if case .trailingOctets(let place, _) = self { !place.contains(",") } else { false }
    }

    fileprivate var isOddPassword: Bool {
        switch self {
        case .passwordEncoding(_, .widenedBytes), .passwordEncoding(_, .latin1), .passwordEncoding(_, .utf16):
            true
        default: false
        }
    }
}

extension PKCS12PasswordForm {
    fileprivate var isEmpty: Bool { encoding == .empty || encoding == .absent }
}

extension KeyType {
    fileprivate var words: String {
        if case .ec(let curve) = self { "EC on \(curve)" } else { name }
    }
}

extension Sequence where Element: Hashable {
    /// The elements without duplicates, in order.
    fileprivate var uniqued: [Element] {
        var seen: Set<Element> = []
        return filter { seen.insert($0).inserted }
    }
}
