package import OpenSSL
/// Models of programs and libraries that read PKCS #12: whether each would open a file, and what stops it.
///
/// A model is a set of rules taken from the reader's documentation and source, not the reader itself; a
/// newer or differently built one may do better or worse. Nothing is run.
package enum ReaderModel: String, Sendable, CaseIterable {
    /// The `openssl pkcs12` command of OpenSSL 3.0, default provider only.
    case openSSL = "openssl"
    /// The same with `-legacy`.
    case openSSLLegacy = "openssl-legacy"
    /// OpenSSL 3.4 or later with its FIPS provider only.
    case openSSLFIPS = "openssl-fips"
    /// NSS's `pk12util`, up to 3.100.
    case nss
    /// GnuTLS's `certtool`, 3.7.
    case gnuTLS = "gnutls"
    /// `keytool` and the key stores of Java 17.
    case java
    /// software.sslmate.com/src/go-pkcs12 0.7.
    case go
    /// SecPKCS12Import on iOS.
    case apple

    /// What the reader is called.
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

    /// What is said wherever verdicts are shown.
    package static let caution = "models of these readers' documented rules; nothing was run"

    /// What came of holding a file against the model.
    package struct Verdict: Sendable, Hashable {
        /// In one word.
        package enum Outcome: String, Sendable, CaseIterable {
            /// The reader opens the file and finds what is in it.
            case opens
            /// It opens the file and leaves out something of it.
            case partly
            /// It does not open the file.
            case fails
            /// The file did not open here, so that its inside is not known.
            case unknown
        }

        /// The reader.
        package let reader: ReaderModel
        /// In one word.
        package let outcome: Outcome
        /// What stops it or what it leaves out, a sentence each.
        package let reasons: [String]
    }

    /// Whether the reader would open the file of `report` under the same password.
    package func verdict(on report: PKCS12Report) -> Verdict {
        let obstacles = rules.obstacles(in: report)
        guard obstacles.isEmpty else { return Verdict(reader: self, outcome: .fails, reasons: obstacles) }
        guard report.verdict == .ok else {
            return Verdict(reader: self, outcome: .unknown, reasons: ["The file did not open here."])
        }
        let losses = rules.losses(in: report.contents)
        return Verdict(reader: self, outcome: losses.isEmpty ? .opens : .partly, reasons: losses)
    }
}
