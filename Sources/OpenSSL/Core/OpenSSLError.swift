package import Diagnostics
internal import COpenSSL

/// A failed call of OpenSSL: what was being done, and the whole error queue of the thread (ERR_get_error(3)).
///
/// To tell a person, print the error; ``reason`` holds everything that OpenSSL said. To look for a particular cause,
/// search ``queue`` for its library and reason, rather than comparing sentences, which change between versions of
/// OpenSSL. ``code`` is for comparisons: it is the oldest entry's, because OpenSSL notes the cause first and then each
/// function that gave up because of it.
///
/// Every wrapper takes the queue at once (``draining(_:)``) or empties it (``discardQueue()``), so that an error never
/// carries what an earlier call has left.
package struct OpenSSLError: Failure {
    package static let domain = FailureDomain.openSSL

    /// One entry of the queue.
    package struct Entry: Hashable, Sendable {
        /// The part of OpenSSL that noted the entry, such as `digital envelope routines`.
        package let library: String
        /// OpenSSL's text for the reason, such as `unsupported`; empty if it has none.
        package let reason: String
        /// The number that holds library and reason; `openssl errstr` takes it in hexadecimal.
        package let code: UInt
        /// What the caller in OpenSSL added, such as the name of an algorithm; empty if nothing was added.
        package let detail: String
    }

    /// What was being done, such as `generating a key`.
    package let operation: String
    /// The entries of the error queue, the oldest first; empty if OpenSSL gave no reason.
    package let queue: [Entry]

    /// The code of the oldest entry; 0 if OpenSSL gave no reason.
    package var code: UInt { queue.first?.code ?? 0 }

    /// The operation, and then OpenSSL's reasons.
    package var reason: String {
        let reasons = queue.map { entry in
            let reason = entry.reason.isEmpty ? "error \(String(entry.code, radix: 16))" : entry.reason
            return "\(entry.library): \(reason)" + (entry.detail.isEmpty ? "" : " (\(entry.detail))")
        }
        return reasons.isEmpty ? "\(operation) failed" : "\(operation): " + reasons.joined(separator: "; ")
    }

    /// An error with everything that is in this thread's error queue, which is empty afterwards.
    ///
    /// - Parameter operation: What was being done, as a phrase such as `generating a key`; it must hold no secret.
    package static func draining(_ operation: String) -> OpenSSLError {
        var queue: [Entry] = []
        while true {
            var data: UnsafePointer<CChar>?
            var flags: CInt = 0
            let code = unsafe ERR_get_error_all(nil, nil, nil, &data, &flags)
            guard code != 0 else { break }
            let detail = unsafe flags & ERR_TXT_STRING != 0 ? data.map { unsafe String(cString: $0) } : nil
            queue.append(
                Entry(
                    library: unsafe ERR_lib_error_string(code).map { unsafe String(cString: $0) } ?? "",
                    reason: unsafe ERR_reason_error_string(code).map { unsafe String(cString: $0) } ?? "",
                    code: code, detail: detail ?? ""))
        }
        return OpenSSLError(operation: operation, queue: queue)
    }

    /// Empties this thread's error queue, after a failed call that answers a question and is no error.
    package static func discardQueue() {
        ERR_clear_error()
    }
}
