internal import DeviceSimulation
package import Foundation
package import KeyShareProvider
internal import KeySharing
package import LoopbackHTTP
internal import OpenSSL
internal import SimulatedKeychain
internal import StandardExtensions
internal import Synchronization

/// The HTTP responder for the URLs in test certificates. It serves the authorities' certificates, their revocation
/// lists, and the status of single certificates (OCSP, RFC 6960).
///
/// It responds for every PKI in the keychain. In a merged keychain, certificates of two PKIs can contain the same path
/// if earlier versions of this program created them. The files at such a path are those of the newer PKI. Each
/// authority signs its own responses; its key is read from the keychain only for the signature.
package final class PKIResponder: Sendable {
    private let store: ProviderStore
    private let now: @Sendable () -> Date
    private let deviceState: DeviceStateWatch
    private let cache = Mutex<Records?>(nil)

    /// Creates a responder for the PKIs in `store`.
    ///
    /// - Parameters:
    ///   - store: The provider's keychain.
    ///   - now: The clock for the dates of lists and statuses.
    package init(_ store: ProviderStore, now: @escaping @Sendable () -> Date) {
        self.store = store
        self.now = now
        deviceState = store.watchState()
    }

    /// The time for which an OCSP status is valid, in seconds: one day.
    private static let statusLifetime: TimeInterval = 86_400

    /// Responds to a request. If the request is malformed or the keychain is unreadable, the response reports this.
    package func answer(_ query: HTTPRequest) -> HTTPResponse {
        let responder = PKILocations.responderPath
        if query.path == responder, query.method == .post {
            return status(Result { try OCSPRequest(der: query.body) })
        }
        if query.path.hasPrefix(responder + "/"), query.method != .post {
            return status(
                Result { try OCSPRequest(pathComponent: query.path.dropFirst(responder.count + 1)) })
        }
        guard query.method != .post else {
            return .text(405, "only \(responder) accepts POST")
        }
        do {
            return try content(at: query.path)
        } catch let error as KeychainError where error.code == .interactionNotAllowed {
            return .text(503, "the device is locked")
        } catch {
            return .text(500, "the keychain cannot be read")
        }
    }

    private func content(at path: String) throws -> HTTPResponse {
        let authorities = try ProvisioningStore(store).authorities()
        let files = authorities.flatMap { authority in
            PKIFile.allCases.map { (file: $0, authority: authority) }
        }
        if path == "/" {
            let paths = files.map { $0.authority.path(of: $0.file) } + [PKILocations.responderPath]
            return .text(200, paths.joined(separator: "\n"))
        }
        let found =
            files.first { $0.authority.path(of: $0.file) == path }
            ?? files.last { $0.file.earlierPath($0.authority.number) == path }
        if let found { return try content(of: found.file, found.authority) }
        return .text(404, "not found; / lists all paths")
    }

    private func content(of file: PKIFile, _ authority: TestAuthority) throws -> HTTPResponse {
        switch file {
        case .certificate(let role):
            return HTTPResponse(
                contentType: "application/pkix-cert", body: authority[role].certificate.der)
        case .revocationList(let role):
            let list = try authority.revocationList(
                of: role, revoked: try ProvisioningStore(store).register(), at: now(), from: .system)
            return HTTPResponse(contentType: "application/pkix-crl", body: list.der)
        }
    }
}

// MARK: - Status

extension PKIResponder {
    /// Responds to a status request. RFC 6960, section 2.3 defines a response for each failure.
    private func status(_ request: Result<OCSPRequest, any Error>) -> HTTPResponse {
        let body: [UInt8]?
        do {
            body =
                if let request = try? request.get() {
                    try response(to: request)
                } else {
                    try OCSPFailure.malformedRequest.response()
                }
        } catch let error as KeychainError where error.code == .interactionNotAllowed {
            body = try? OCSPFailure.tryLater.response()
        } catch {
            body = try? OCSPFailure.internalError.response()
        }
        guard let body else { return .text(500, "the status response cannot be encoded") }
        return HTTPResponse(contentType: "application/ocsp-response", body: body)
    }

    /// Creates the response of the authority that issued the first known certificate in the request. Certificates of
    /// other issuers are reported as unknown.
    private func response(to request: OCSPRequest) throws -> [UInt8] {
        let records = try currentRecords()
        let responsible = request.certificates.lazy.compactMap { identifier in
            records.authorities.first { identifier.isIssued(by: $0) }
        }.first
        guard let responsible else { return try OCSPFailure.unauthorized.response() }
        let now = now()
        return try ProvisioningStore(store).issuer(responsible.label).statusResponse(
            to: request, thisUpdate: now, nextUpdate: now.addingTimeInterval(Self.statusLifetime)
        ) { identifier in
            guard identifier.isIssued(by: responsible) else { return .unknown }
            return try status(of: identifier.serialHex, issuedBy: responsible, records)
        }
    }

    private func status(
        of serialNumber: String, issuedBy issuer: Certificate, _ records: Records
    ) throws -> CertificateStatus {
        let key = issuer.subjectKeyIdentifier ?? []
        let registered = records.register.filter {
            $0.serialNumber == serialNumber && $0.issuer == key.upperHex
        }
        if let record = registered.first(where: { $0.revoked != nil }), let date = record.revoked {
            return .revoked(date, reason: record.reason.number)
        }
        let isHeld = try records.labels[serialNumber, default: []].contains { label in
            try store.certificate(label).authorityKeyIdentifier == key
        }
        let isAuthority = records.authorities.contains {
            $0.serialHex == serialNumber && $0.authorityKeyIdentifier == key
        }
        return isHeld || isAuthority || !registered.isEmpty ? .good : .unknown
    }

    /// The certificate records of the keychain, valid for one change count.
    private struct Records: Sendable {
        let changeCount: Int64
        let authorities: [Certificate]
        let register: [IssuanceRecord]
        /// The labels of identities, keyed by serial number.
        let labels: [String: [String]]
    }

    /// Returns the certificate records of the keychain. Reads them again if the keychain has changed.
    private func currentRecords() throws -> Records {
        try deviceState.requireOpen()
        let changeCount = try store.keychain.changeCount()
        if let known = cache.withLock({ $0 }), known.changeCount == changeCount { return known }
        let read = Records(
            changeCount: changeCount, authorities: try store.authorityCertificates(),
            register: try ProvisioningStore(store).register(),
            labels: Dictionary(grouping: try store.identities(), by: \.serialNumber).mapValues {
                $0.map(\.label)
            })
        cache.withLock { $0 = read }
        return read
    }
}

extension OCSPRequest {
    /// Decodes the request in the path of a GET: base64, percent-encoded, after the responder's path (RFC 6960,
    /// appendix A.1).
    fileprivate init(pathComponent text: Substring) throws(CertificateError) {
        guard let base64 = String(text).removingPercentEncoding, let data = Data(base64Encoded: base64)
        else { throw CertificateError(.malformed, "the path is not base64") }
        try self.init(der: [UInt8](data))
    }
}
