internal import Diagnostics

/// The result of inspecting a file, which also describes a file that cannot be opened.
package struct PKCS12Report: Sendable {
    /// The result in one word. The raw values are the words that `inspect` prints.
    package enum Verdict: String, Sendable, CaseIterable {
        /// The file opens under the password, even if it contains no identity.
        case ok
        /// The password is wrong.
        case wrongPassword = "wrong-password"
        /// The bytes are not PKCS #12.
        case malformed
        /// The file requires an algorithm that OpenSSL lacks.
        case unsupported
        /// The file exceeds a limit.
        case refused
    }

    /// The result in one word.
    package let verdict: Verdict
    /// The result in one sentence.
    package let message: String
    /// The error; nil if the verdict is `ok`.
    package let error: PKCS12Error?
    /// Everything in the file if the verdict is `ok`. Otherwise the contents known before the failure, such as the MAC
    /// and the encryption of a file whose password is wrong.
    package let contents: PKCS12Contents

    /// Creates a report about the `contents` that were read before `error`.
    init(contents: PKCS12Contents, error: PKCS12Error?) {
        self.contents = contents
        self.error = error
        verdict = error.map { Verdict($0.code) } ?? .ok
        message = error?.reason ?? contents.summary
    }
}

extension PKCS12Report.Verdict {
    /// The verdict for the code of the error that ended the reading.
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
    /// A sentence with the number of identities, keys, certificates and other bags.
    fileprivate var summary: String {
        let counts: [(Int, String, String)] = [
            (identities.count, "identity", "identities"),
            (certificateEntries.count, "certificate without key", "certificates without key"),
            (keys.count, "key without certificate", "keys without certificate"),
            (unknownKeys.count { !$0.isRefused }, "key of an unknown kind", "keys of unknown kinds"),
            (unknownKeys.count(where: \.isRefused), "key that was not loaded", "keys that were not loaded"),
            (lockedKeys.count, "key that cannot be decrypted", "keys that cannot be decrypted"),
            (unreadableKeys.count, "unreadable key", "unreadable keys"),
            (unreadableCertificates.count, "unreadable certificate", "unreadable certificates"),
            (otherBags.count, "other bag", "other bags"),
        ]
        let parts = counts.filter { $0.0 > 0 }.map(counted)
        return parts.isEmpty
            ? "the file opens and is empty" : "the file opens: " + parts.joined(separator: ", ")
    }
}
