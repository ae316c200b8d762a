internal import DeviceSimulation
internal import KeyOperations
internal import KeyShareProtocol
package import KeyShareServer
package import KeyShareWire
internal import OpenSSL
package import PersistentToken
internal import SimulatedKeychain
internal import StandardExtensions

// The token extension's services.

extension TokenExtension: KeyOpeningToken {
    /// The maximum size of a certificate in a list of tokens, in bytes, so that the certificate and its names fit in
    /// one reply.
    package static let longestCertificate = 60_000

    /// Returns a page of the tokens, in the order of registration. The cursor consists of the list's change count and
    /// the number of the next token, separated by a colon.
    package func tokens(after cursor: String?, limit: Int) async throws(ProviderFailure) -> TokenPage {
        let snapshot: TokenCatalogue.Snapshot
        do {
            snapshot = try catalogue.snapshot()
        } catch {
            throw ProviderFailure(error, during: "the tokens cannot be read")
        }
        // A certificate that is too long would fit in no page, and no later token could be listed.
        let listed = snapshot.registrations.filter { $0.certificate.der.count <= Self.longestCertificate }
        let start = try Self.start(cursor, snapshot.changeCount, count: listed.count)
        let end = start + min(max(limit, 1), listed.count - start)
        return TokenPage(
            entries: listed[start..<end].map { entry($0) },
            changeCount: UInt64(clamping: snapshot.changeCount),
            nextCursor: end < listed.count ? "\(snapshot.changeCount):\(end)" : nil)
    }

    /// The maximum size of a certificate in a list of objects, in bytes, so that the certificate and its parsed fields
    /// fit in one reply.
    static let longestObject = 20_000

    /// Returns a page of the PKCS #11 objects. The cursor has the same format as for the list of tokens.
    package func tokenObjects(after cursor: String?, limit: Int) async throws(ProviderFailure)
        -> TokenObjectPage
    {
        let list: TokenObjectList
        do {
            list = try catalogue.objects()
        } catch {
            throw ProviderFailure(error, during: "the tokens cannot be read")
        }
        let start = try Self.start(cursor, list.changeCount, count: list.objects.count)
        let end = start + min(max(limit, 1), list.objects.count - start)
        return TokenObjectPage(
            changeCount: UInt64(clamping: list.changeCount), holder: list.holder,
            objects: Array(list.objects[start..<end]),
            nextCursor: end < list.objects.count ? "\(list.changeCount):\(end)" : nil)
    }

    /// Returns the number of tokens, and the device's state, which determines whether their keys can be used.
    package func tokenStatus() async throws(ProviderFailure) -> TokenStatus {
        do {
            let snapshot = try catalogue.snapshot()
            let status = try deviceStatus()
            return TokenStatus(
                changeCount: UInt64(clamping: snapshot.changeCount), tokenCount: snapshot.registrations.count,
                isUnlocked: status.state.lock == .unlocked, hasPasscode: status.state.hasPasscode,
                lockCount: status.lockCount, openKeys: openKeys, deviceSerial: deviceSerial())
        } catch {
            throw ProviderFailure(error, during: "the token's state cannot be read")
        }
    }

    /// Begins a multipart message, which is digested as its parts arrive. Only for algorithms that sign messages
    /// instead of digests.
    package func message(for use: TokenUse) throws(TokenError) -> any MultipartSignature {
        guard use.operation == .sign, let algorithm = SecKeyAlgorithm(named: use.algorithm),
            algorithm.takesMessage, let digest = algorithm.digest
        else {
            throw TokenError(
                .badParameter, "\u{201C}\(use.algorithm)\u{201D} cannot sign messages",
                obstacle: .wrongAlgorithm)
        }
        do {
            return DigestedMessage(use, algorithm, try DigestStream(digest.algorithm))
        } catch {
            throw TokenError(.communicationError, "the message could not be digested: \(error)")
        }
    }

    private static func start(
        _ cursor: String?, _ changeCount: Int64, count: Int
    ) throws(ProviderFailure) -> Int {
        guard let cursor else { return 0 }
        let parts = cursor.split(separator: ":", maxSplits: 1).map { Int64($0) }
        guard parts.count == 2, parts[0] == changeCount, let start = parts[1].flatMap({ Int(exactly: $0) }),
            (0...count).contains(start)
        else {
            throw ProviderFailure(.notAvailable, "the tokens have changed; start again from the first page")
        }
        return start
    }

    private func entry(_ registration: TokenRegistration) -> TokenEntry {
        TokenEntry(
            tokenID: registration.tokenIdentifier, objectID: registration.label,
            label: registration.certificate.subject.commonName ?? registration.label,
            certificate: registration.certificate.der, keyFamily: registration.keyType == .rsa ? .rsa : .ec,
            keyBits: registration.keyBits, properties: registration.properties,
            hasKey: registration.hasKey, rule: registration.rule)
    }

    /// The device's serial number in PKCS #11: the first eight bytes of the SHA-256 digest of the device's folder.
    private func deviceSerial() -> String { Digest.sha256(device.folder.utf8).prefix(8).upperHex }
}

/// A message that is digested for one signature. It is used only on the server's event loop.
private final class DigestedMessage: MultipartSignature {
    private let use: TokenUse
    private let algorithm: SecKeyAlgorithm
    private let stream: DigestStream

    init(_ use: TokenUse, _ algorithm: SecKeyAlgorithm, _ stream: DigestStream) {
        self.use = use
        self.algorithm = algorithm
        self.stream = stream
    }

    func append(_ bytes: [UInt8]) throws(TokenError) {
        do {
            try stream.update(bytes)
        } catch {
            throw TokenError(.communicationError, "the message could not be digested: \(error)")
        }
    }

    func finish() throws(TokenError) -> TokenUse {
        var use = use
        do {
            use.data = try stream.finish()
        } catch {
            throw TokenError(.communicationError, "the message could not be digested: \(error)")
        }
        use.algorithm = algorithm.takingDigest.name
        return use
    }
}
