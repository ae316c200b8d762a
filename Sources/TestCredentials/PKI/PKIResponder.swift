package import KeyShareProvider
package import LoopbackHTTP
internal import DeviceSimulation
package import Foundation
internal import KeySharing
internal import OpenSSL
internal import Synchronization

/// What answers at the URLs in test certificates: the authorities' certificates, their revocation lists, and
/// the status of single certificates (RFC 6960).
///
/// It speaks for every PKI in the keychain. At the paths that earlier versions put into certificates, which two
/// PKIs share where keychains were merged, are the later one's files. Answers are signed by the authority itself,
/// whose key leaves the keychain for the signature only.
package final class PKIResponder: Sendable {
    private let store: ProviderStore
    private let now: @Sendable () -> Date
    private let books = Mutex<Books?>(nil)

    /// - Parameter now: the moment that lists and statuses are of.
    package init(_ store: ProviderStore, now: @escaping @Sendable () -> Date) {
        self.store = store
        self.now = now
    }

    /// For how long a status is good, in seconds: a day.
    private static let statusLifetime: TimeInterval = 86_400

    /// Answers a query. What is wrong with it, or with the keychain, is an answer too.
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
    /// A response in any case (RFC 6960 2.3 has one for each failure).
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

    /// The first certificate that an authority here has issued decides who answers; of other authorities'
    /// certificates it knows nothing.
    private func response(to request: OCSPRequest) throws -> [UInt8] {
        let books = try currentBooks()
        let responsible = request.certificates.lazy.compactMap { identifier in
            books.authorities.first { identifier.isIssued(by: $0) }
        }.first
        guard let responsible else { return try OCSPFailure.unauthorized.response() }
        let now = now()
        return try store.issuer(responsible.label).statusResponse(
            to: request, thisUpdate: now, nextUpdate: now.addingTimeInterval(Self.statusLifetime)
        ) { identifier in
            guard identifier.isIssued(by: responsible) else { return .unknown }
            return try status(of: identifier.serialHex, issuedBy: responsible, books)
        }
    }

    private func status(
        of serialNumber: String, issuedBy issuer: Certificate, _ books: Books
    ) throws -> CertificateStatus {
        let key = issuer.subjectKeyIdentifier ?? []
        let records = books.register.filter { $0.serialNumber == serialNumber && $0.issuer == key.upperHex }
        if let date = records.compactMap(\.revoked).first {
            return .revoked(date, reason: IssuanceRecord.reason)
        }
        let isHeld = try books.labels[serialNumber, default: []].contains { label in
            try store.certificate(label).authorityKeyIdentifier == key
        }
        let isAuthority = books.authorities.contains {
            $0.serialHex == serialNumber && $0.authorityKeyIdentifier == key
        }
        return isHeld || isAuthority || !records.isEmpty ? .good : .unknown
    }

    /// What the keychain says of certificates, as of a change count.
    private struct Books: Sendable {
        let changeCount: Int64
        let authorities: [Certificate]
        let register: [IssuanceRecord]
        /// Labels of the identities by serial number.
        let labels: [String: [String]]
    }

    /// The books, read anew where the keychain has changed.
    private func currentBooks() throws -> Books {
        try store.requireOpen()
        let changeCount = try store.keychain.changeCount()
        if let known = books.withLock({ $0 }), known.changeCount == changeCount { return known }
        let read = Books(
            changeCount: changeCount, authorities: try store.authorityCertificates(),
            register: try store.register(),
            labels: Dictionary(grouping: try store.identities(), by: \.serialNumber).mapValues {
                $0.map(\.label)
            })
        books.withLock { $0 = read }
        return read
    }
}

extension OCSPRequest {
    /// The request that a GET carries behind the responder's path: base64, percent-encoded (RFC 6960 A.1).
    fileprivate init(pathComponent text: Substring) throws(CertificateError) {
        guard let base64 = String(text).removingPercentEncoding, let data = Data(base64Encoded: base64)
        else { throw CertificateError(.malformed, "the path holds no base64") }
        try self.init(der: [UInt8](data))
    }
}
