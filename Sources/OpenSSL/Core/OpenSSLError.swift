internal import Diagnostics
internal import COpenSSL

/// The error of a failed call to OpenSSL: the operation, and the thread's whole error queue (ERR_get_error(3)).
///
/// Print ``reason`` for users; it contains all of OpenSSL's reasons. To detect a particular cause, search ``queue`` for
/// its library and reason number. Do not compare texts: they change between versions of OpenSSL. ``code`` identifies
/// the root cause. It is the code of the oldest entry: OpenSSL records the cause first, and then each function that
/// failed because of it.
///
/// Every wrapper drains the queue immediately (``draining(_:)``) or empties it (``discardQueue()``), so an error never
/// contains entries of an earlier call.
package struct OpenSSLError: Failure {
    /// The number that combines library and reason, as in ``Entry/code``.
    package typealias Code = UInt

    /// One entry of the queue.
    package struct Entry: Hashable, Sendable {
        /// The part of OpenSSL that recorded the entry, such as `digital envelope routines`.
        package let library: String
        /// OpenSSL's text for the reason, such as `unsupported`; empty if OpenSSL has no text.
        package let reason: String
        /// The number that combines library and reason; `openssl errstr` accepts it in hexadecimal.
        package let code: UInt
        /// Further details from OpenSSL, such as the name of an algorithm; empty if there are none.
        package let detail: String

        /// Whether the entry has this library, such as `ERR_LIB_CMS`, and this reason number. Different
        /// libraries use the same reason numbers.
        func `is`(_ library: CInt, _ reason: CInt) -> Bool {
            // ERR_GET_LIB and ERR_GET_REASON, inline functions of OpenSSL's err.h.
            code >> 31 == 0 && code >> 23 & 0xFF == UInt(library) && code & 0x7F_FFFF == UInt(reason)
        }
    }

    /// The failed operation, such as `generating a key`.
    package let operation: String
    /// The entries of the error queue, the oldest first; empty if OpenSSL reported no reason.
    package let queue: [Entry]

    /// The code of the oldest entry; 0 if OpenSSL reported no reason.
    package var code: Code { queue.first?.code ?? 0 }

    /// The operation, followed by OpenSSL's reasons.
    package var reason: String {
        let reasons = queue.map { entry in
            let reason = entry.reason.isEmpty ? "error \(String(entry.code, radix: 16))" : entry.reason
            return "\(entry.library): \(reason)" + (entry.detail.isEmpty ? "" : " (\(entry.detail))")
        }
        return reasons.isEmpty ? "\(operation) failed" : "\(operation): " + reasons.joined(separator: "; ")
    }

    /// Creates an error with all entries of this thread's error queue, which is empty afterwards.
    ///
    /// - Parameter operation: The failed operation, as a phrase such as `generating a key`. It must not contain a
    ///   secret.
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

    /// Empties this thread's error queue. Call it if the failure of an OpenSSL call is an expected result and not an
    /// error.
    package static func discardQueue() {
        ERR_clear_error()
    }
}
