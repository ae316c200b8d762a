package import Foundation
package import OpenSSL
package import PathValidation
package import SecureMail

/// The verdict on a message: whether its sender signed it, and which parts are protected.
package struct MessageReport: Sendable {
    /// One signature and its signer.
    package struct Signer: Sendable {
        /// The outcome of verifying the signature.
        package let signature: CMSSignerReport
        /// The time at which the signer's path was validated.
        package let date: Date
        /// The checks: the signature, its time, the signer's path, and the sender.
        package let checks: [ValidationReport.Check]
        /// The path of the signer's certificate; nil if the certificate is missing, or if too little time was
        /// left for a search.
        package let validation: PathValidation?
        /// The requests that were made for the signer; empty if nothing was fetched.
        package let fetched: [FetchRecord]
        /// Whether the signer is invalid only because certificates have expired.
        package let hasOnlyExpired: Bool

        /// Whether no check failed or was left unsettled.
        package var isValid: Bool { checks.areAllGood }
    }

    /// An S/MIME part and the verdict on it.
    package struct Part: Sendable {
        /// The part, without its content.
        package let part: MessageContents.ProtectedPart
        /// The checks of the part as a whole: encryption, signatures and header fields.
        package let checks: [ValidationReport.Check]
        /// The signers of every layer, outermost layer first.
        package let signers: [Signer]
        /// Whether the part is invalid only because certificates have expired.
        package let hasOnlyExpired: Bool

        /// Whether the sender signed the content.
        package var isValid: Bool { checks.areAllGood }
    }

    /// The header of the message; nil for a bare CMS message.
    package let header: MailHeader?
    /// The checks of the message as a whole.
    package let checks: [ValidationReport.Check]
    /// The S/MIME parts, in the order of the message.
    package let parts: [Part]
    /// The parts that nothing protects.
    package let unprotected: [MessageContents.ContentPart]

    /// The parts that belong to the message itself. Forwarded messages, and parts inside other S/MIME parts, do not.
    package var ownParts: [Part] { parts.filter(\.part.isOwn) }

    /// The value of From: the protected field if there is one, and otherwise the field of the message; nil if there is
    /// none.
    package var from: String? {
        let protected = ownParts.lazy.compactMap { $0.part.headerProtection?.header["From"] }.first
        return protected ?? header?["From"]
    }

    /// Whether the sender of the message signed its content. Parts outside the signature may exist; see
    /// ``unprotected``.
    package var isValid: Bool {
        !ownParts.isEmpty && checks.areAllGood && ownParts.allSatisfy(\.isValid)
    }

    /// Whether the message is invalid only because certificates have expired.
    package var hasOnlyExpired: Bool {
        !isValid && !ownParts.isEmpty && checks.areAllGood
            && ownParts.allSatisfy { $0.isValid || $0.hasOnlyExpired }
    }
}

extension MessageContents.ProtectedPart {
    /// Whether the part belongs to the file's message itself.
    package var isOwn: Bool { !isForwarded && container == nil }
}

extension [ValidationReport.Check] {
    /// Whether no check failed or was left unsettled.
    var areAllGood: Bool { allSatisfy { $0.outcome == .passed || $0.outcome == .notChecked } }
}
