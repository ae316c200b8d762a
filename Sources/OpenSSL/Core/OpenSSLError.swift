internal import COpenSSL

/// What OpenSSL said when a call failed: the operation, and the whole error queue of this thread.
///
/// Every wrapper takes the queue at once, so that a later failure never carries an older one's words.
package struct OpenSSLError: Error, Equatable, Sendable {
    /// One entry of the queue, oldest first.
    package struct Entry: Equatable, Sendable {
        /// The part of OpenSSL that complains, such as `digital envelope routines`.
        package let library: String
        /// Its reason, such as `unsupported`.
        package let reason: String
        /// The packed code, as `openssl errstr` takes it.
        package let code: UInt
        /// What was added to it, such as the name of an algorithm; empty where there is nothing.
        package let detail: String
    }

    /// What was being tried, such as `generating a key`.
    package let operation: String
    /// The queue, oldest entry first; empty where OpenSSL gave no reason.
    package let queue: [Entry]

    /// Takes everything that stands in this thread's error queue and leaves it empty.
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

    /// Forgets what stands in this thread's queue, after a failure that is an answer and no error.
    package static func discardQueue() {
        ERR_clear_error()
    }
}

extension OpenSSLError: CustomStringConvertible {
    /// The operation, then every entry of the queue.
    package var description: String {
        let reasons = queue.map { entry in
            let reason = entry.reason.isEmpty ? "error \(String(entry.code, radix: 16))" : entry.reason
            return "\(entry.library): \(reason)" + (entry.detail.isEmpty ? "" : " (\(entry.detail))")
        }
        return reasons.isEmpty ? "\(operation) failed" : "\(operation): " + reasons.joined(separator: "; ")
    }
}
