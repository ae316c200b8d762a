package import KeyShareProvider
package import LoopbackHTTP
internal import DeviceSimulation
package import Foundation
internal import KeySharing
internal import OpenSSL
internal import Synchronization

/// The responder at the URLs in test certificates: it serves the authorities' certificates, their revocation lists, and
/// the status of single certificates (OCSP, RFC 6960).
///
/// It speaks for every PKI in the keychain. Two PKIs of merged keychains can share the paths that earlier versions put
/// into certificates; the later PKI's files are served there. Answers are signed by the authority itself, whose key
/// leaves the keychain for the signature only.
package final class PKIResponder: Sendable {
    private let store: ProviderStore
    private let now: @Sendable () -> Date
    private let deviceState: DeviceStateWatch
    private let cache = Mutex<Records?>(nil)

    /// A responder for the PKIs in `store`.
    ///
    /// - Parameters:
    ///   - store: the provider's keychain.
    ///   - now: the clock, for the dates of lists and statuses.
    package init(_ store: ProviderStore, now: @escaping @Sendable () -> Date) {
        self.store = store
        self.now = now
        deviceState = store.watchState()
    }

    /// How long a status is good, in seconds: a day.
    private static let statusLifetime: TimeInterval = 86_400

    /// Answers a request. A malformed request and an unreadable keychain have answers of their own.
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
            return .text(405, "only \(responder) takes a POST")
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
        let authorities = try store.authorities()
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
        return .text(404, "there is nothing at this path; / lists what there is")
    }

    private func content(of file: PKIFile, _ authority: TestAuthority) throws -> HTTPResponse {
        switch file {
        case .certificate(let role):
            return HTTPResponse(
                contentType: "application/pkix-cert", body: authority[role].certificate.der)
        case .revocationList(let role):
            let list = try authority.revocationList(
                of: role, revoked: try store.register(), at: now(), from: .system)
            return HTTPResponse(contentType: "application/pkix-crl", body: list.der)
        }
    }
}

// MARK: - Status

extension PKIResponder {
    /// Answers a status request. RFC 6960 section 2.3 has a response for each failure.
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
        guard let body else { return .text(500, "no status response can be written") }
        return HTTPResponse(contentType: "application/ocsp-response", body: body)
    }

    /// Makes the response of the authority that issued the first known certificate of the request; it reports certificates
    /// of other issuers as unknown.
    private func response(to request: OCSPRequest) throws -> [UInt8] {
        let records = try currentRecords()
        let responsible = request.certificates.lazy.compactMap { identifier in
            records.authorities.first { identifier.isIssued(by: $0) }
        }.first
        guard let responsible else { return try OCSPFailure.unauthorized.response() }
        let now = now()
        return try store.issuer(responsible.label).statusResponse(
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

    /// What the keychain tells of certificates, at one change count.
    private struct Records: Sendable {
        let changeCount: Int64
        let authorities: [Certificate]
        let register: [IssuanceRecord]
        /// The labels of identities by serial number.
        let labels: [String: [String]]
    }

    /// The records, read again where the keychain has changed.
    private func currentRecords() throws -> Records {
        try deviceState.requireOpen()
        let changeCount = try store.keychain.changeCount()
        if let known = cache.withLock({ $0 }), known.changeCount == changeCount { return known }
        let read = Records(
            changeCount: changeCount, authorities: try store.authorityCertificates(),
            register: try store.register(),
            labels: Dictionary(grouping: try store.identities(), by: \.serialNumber).mapValues {
                $0.map(\.label)
            })
        cache.withLock { $0 = read }
        return read
    }
}

extension OCSPRequest {
    /// Reads the request that a GET carries after the responder's path: base64, percent-encoded (RFC 6960 appendix A.1).
    fileprivate init(pathComponent text: Substring) throws(CertificateError) {
        guard let base64 = String(text).removingPercentEncoding, let data = Data(base64Encoded: base64)
        else { throw CertificateError(.malformed, "the path holds no base64") }
        try self.init(der: [UInt8](data))
    }
}
