package import OpenSSL
/// A program or library that reads PKCS #12, described by rules. The rules predict whether it would open a file, and
/// list the obstacles.
///
/// The rules come from the reader's documentation and source; the reader itself is not run. Another version or build of
/// the reader may open more files or fewer.
package enum ReaderModel: String, Sendable, CaseIterable {
    /// The `openssl pkcs12` command of OpenSSL 3.0, default provider only.
    case openSSL = "openssl"
    /// The `openssl pkcs12` command of OpenSSL 3.0 with `-legacy`, which also loads the legacy provider.
    case openSSLLegacy = "openssl-legacy"
    /// OpenSSL 3.4 or later with the FIPS provider only.
    case openSSLFIPS = "openssl-fips"
    /// NSS's `pk12util`, up to 3.100.
    case nss
    /// GnuTLS's `certtool`, 3.7.
    case gnuTLS = "gnutls"
    /// The `keytool` command and the key stores of Java 17.
    case java
    /// The Go module `software.sslmate.com/src/go-pkcs12` 0.7.
    case go
    /// The function `SecPKCS12Import` of iOS.
    case apple

    /// The reader's name and version, in readable form.
    package var title: String {
        switch self {
        case .openSSL: "OpenSSL 3.0"
        case .openSSLLegacy: "OpenSSL 3.0 with legacy provider"
        case .openSSLFIPS: "OpenSSL 3.4 with FIPS provider"
        case .nss: "NSS pk12util"
        case .gnuTLS: "GnuTLS certtool 3.7"
        case .java: "Java 17"
        case .go: "go-pkcs12 0.7"
        case .apple: "Apple SecPKCS12Import (iOS)"
        }
    }

    /// The note that is printed with every list of verdicts.
    package static let caution = "predicted from the readers' documented rules; no reader was run"

    /// The result of applying a reader's rules to a file.
    package struct Verdict: Sendable, Hashable {
        /// The result in one word. The raw values are the words that `inspect` prints.
        package enum Outcome: String, Sendable, CaseIterable {
            /// The reader opens the file and finds all of its contents.
            case opens
            /// The reader opens the file but skips part of its contents.
            case partly
            /// The reader does not open the file, or finds no contents.
            case fails
            /// The result is unknown because this program could not open the file.
            case unknown
        }

        /// The reader whose rules were applied.
        package let reader: ReaderModel
        /// The result in one word.
        package let outcome: Outcome
        /// The reasons for failure and the skipped contents, one sentence each.
        package let reasons: [String]
    }

    /// Predicts whether the reader would open a file under the password that it was inspected with.
    ///
    /// - Parameters:
    ///   - report: The file's inspection.
    ///   - unprotected: If `report` was made with an empty password that is wrong, an inspection without any password;
    ///     otherwise nil.
    package func verdict(
        on report: PKCS12Report, withoutPassword unprotected: PKCS12Report? = nil
    ) -> Verdict {
        if report.verdict == .wrongPassword, let unprotected, unprotected.verdict == .ok {
            let verdict = verdict(on: unprotected)
            guard verdict.outcome != .fails, !rules.triesAbsentPassword else { return verdict }
            return Verdict(
                reader: self, outcome: .fails,
                reasons: ["The file has no password, and the reader treats the empty one as a password."])
        }
        let obstacles = rules.obstacles(in: report)
        guard obstacles.isEmpty else { return Verdict(reader: self, outcome: .fails, reasons: obstacles) }
        guard report.verdict == .ok else {
            return Verdict(
                reader: self, outcome: .unknown, reasons: ["The simulator could not open the file."])
        }
        let losses = rules.losses(in: report.contents)
        if rules.findsNothing(in: report.contents) {
            return Verdict(reader: self, outcome: .fails, reasons: losses + ["The file is otherwise empty."])
        }
        return Verdict(reader: self, outcome: losses.isEmpty ? .opens : .partly, reasons: losses)
    }
}
