/// The error status that an app should expect for a defective file, and the advice that its error text should contain.
///
/// The statuses are those that Apple's Security framework (SecBase.h) defines for each condition: `SecPKCS12Import`
/// returns the import statuses, and `SecTrustEvaluateWithError` returns the others. They were not measured on a device.
package struct AppAdvice: Sendable, Hashable, Codable {
    /// Whether trying again can help.
    package enum Retry: String, Sendable, Codable {
        /// Trying again always fails.
        case never
        /// Trying again succeeds after the user has taken the advised action.
        case afterAction = "after-action"
        /// Trying again may succeed immediately, with a newly fetched password.
        case withNewPassword = "with-new-password"
    }

    /// The name of the status, such as `errSecAuthFailed`.
    package let status: String
    /// The number of the status.
    package let code: Int
    /// The advice to the user, as sentences.
    package let advice: String
    /// Whether trying again can help.
    package let retry: Retry

    private init(_ status: String, _ code: Int, _ retry: Retry, _ advice: String) {
        self.status = status
        self.code = code
        self.advice = advice
        self.retry = retry
    }
}

extension AppAdvice {
    private static let success = AppAdvice("errSecSuccess", 0, .never, "The key was imported.")
    private static let password = AppAdvice(
        "errSecAuthFailed", -25293, .withNewPassword,
        "The password does not open this file. Choose it again; if that fails, the file is damaged.")
    private static let damaged = AppAdvice(
        "errSecDecode", -26275, .afterAction,
        "The file is damaged or incomplete. Ask the app that provides it to export it again.")
    private static let unsafe = AppAdvice(
        "errSecDecode", -26275, .never, "The file was rejected because it is unsafe. Do not use it.")
    private static let empty = AppAdvice(
        "errSecItemNotFound", -25300, .afterAction,
        "The file contains no key with its certificate. Choose another file.")
    private static let mismatch = AppAdvice(
        "errSecPublicKeyInconsistent", -67811, .afterAction,
        "A key in the file belongs to another certificate. Ask for a new certificate.")
    private static let otherType = AppAdvice(
        "errSecKeyUsageIncorrect", -67731, .afterAction,
        "The key was imported, but it is not of the required type. Choose another file.")
    private static let weak = AppAdvice(
        "errSecUnsupportedKeySize", -67735, .afterAction,
        "The key has an unsupported size. Ask for a new certificate.")
    private static let expired = AppAdvice(
        "errSecCertificateExpired", -67818, .afterAction,
        "The certificate has expired. It still decrypts old mail; renew it to sign and log in.")
    private static let untrusted = AppAdvice(
        "errSecNotTrusted", -67843, .afterAction,
        "The authority of the certificate is not trusted on this device. Install its certificates, or ask for a new "
            + "certificate.")
    private static let purpose = AppAdvice(
        "errSecInvalidExtendedKeyUsage", -67609, .afterAction,
        "The certificate is not valid for this purpose. Choose another key.")

    private static let byName: [String: AppAdvice] = [
        "expired": expired, "expired-issuer": expired, "reversed-validity": expired,
        "not-yet-valid": AppAdvice(
            "errSecCertificateNotValidYet", -67819, .afterAction,
            "The certificate is not valid yet. Check the date of the device, or wait."),
        "revoked": AppAdvice(
            "errSecCertificateRevoked", -67820, .afterAction,
            "The certificate was revoked. It still decrypts old mail; ask for a new one."),
        "wrong-extended-key-usage": purpose, "piv-with-email": purpose, "signs-and-enciphers": purpose,
        "wrong-key-usage": otherType,
        "unknown-critical-extension": AppAdvice(
            "errSecUnknownCriticalExtensionFlag", -67603, .afterAction,
            "The certificate has a critical extension that this app does not know. Ask for a new certificate."
        ),
        "weak-rsa-1024": weak, "oversized-key": weak,
        "sha1-signature": AppAdvice(
            "errSecInvalidDigestAlgorithm", -67815, .afterAction,
            "The certificate is signed with an outdated algorithm. Ask for a new certificate."),
    ]

    /// Selects the advice for a defective test vector by its name or, if the name has no entry, by the exit codes of a
    /// correct consumer.
    fileprivate init(_ name: String, _ expectation: TestVector.Expectation) {
        let usual =
            switch (expectation.importing, expectation.verifying) {
            case (0, 7): Self.untrusted
            case (0, _): Self.success
            case (3, _): Self.password
            case (6, _): Self.otherType
            case (7, _): Self.mismatch
            case (9, _): Self.empty
            case (10, _): Self.unsafe
            default: Self.damaged
            }
        self = Self.byName[name] ?? usual
    }
}

extension TestVector {
    /// The status and the advice that an app should show.
    package var appAdvice: AppAdvice { AppAdvice(name, expectation) }
}
