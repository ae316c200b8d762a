internal import Diagnostics

/// What is known about a file after looking at it.
package struct PKCS12Report: Sendable {
    /// In one word how it went; the words that `inspect` prints.
    package enum Verdict: String, Sendable, CaseIterable {
        /// The file opens under the password, whatever is in it.
        case ok
        /// The password is not the file's.
        case wrongPassword = "wrong-password"
        /// The bytes are no PKCS #12.
        case malformed
        /// The file asks for an algorithm that is not there.
        case unsupported
        /// A limit was passed.
        case refused
    }

    /// In one word how it went.
    package let verdict: Verdict
    /// One sentence about it.
    package let message: String
    /// The error, where the verdict is not `ok`.
    package let error: PKCS12Error?
    /// What was found: with `ok` everything, else what was known before the failure, such as MAC and
    /// encryption of a file whose password is wrong.
    package let contents: PKCS12Contents

    init(contents: PKCS12Contents, error: PKCS12Error?) {
        self.contents = contents
        self.error = error
        verdict = error.map { Verdict($0.code) } ?? .ok
        message = error?.reason ?? contents.summary
    }
}

extension PKCS12Report.Verdict {
    fileprivate init(_ code: PKCS12Error.Code) {
        self =
            switch code {
            case .wrongPassword: .wrongPassword
            case .unsupportedAlgorithm: .unsupported
            case .malformed: .malformed
            case .refused, .missingMAC: .refused
            case .noIdentity, .keyMismatch: .ok
            }
    }
}

extension PKCS12Contents {
    fileprivate var summary: String {
        let parts = [
            (identities.count, "identity", "identities"),
            (certificateEntries.count, "certificate without key", "certificates without key"),
            (keys.count, "key without certificate", "keys without certificate"),
            (unknownKeys.count { !$0.isRefused }, "key of an unknown kind", "keys of unknown kinds"),
            (unknownKeys.count(where: \.isRefused), "key that was not loaded", "keys that were not loaded"),
            (lockedKeys.count, "key that does not open", "keys that do not open"),
            (unreadableKeys.count, "unreadable key", "unreadable keys"),
            (unreadableCertificates.count, "unreadable certificate", "unreadable certificates"),
            (otherBags.count, "other bag", "other bags"),
        ].filter { $0.0 > 0 }.map(counted)
        return parts.isEmpty
            ? "the file opens and is empty" : "the file opens: " + parts.joined(separator: ", ")
    }
}
