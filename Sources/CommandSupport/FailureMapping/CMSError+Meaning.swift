package import OpenSSL

extension CMSError: ReportableFailure {
    package static let codes: [Code] = [
        .malformed, .noMessage, .unprotected, .noSuchPart, .unsupported(oid: ""), .missingKey,
        .wrongPassword, .altered, .invalidSignature, .overLimit, .unsuitableKey, .unmakable,
    ]

    package static func meaning(of code: Code) -> FailureMeaning {
        switch code {
        case .malformed:
            FailureMeaning(.malformed, hint: "get the message again, as a file of its own with all headers")
        case .noMessage:
            FailureMeaning(
                .malformed, "no-message", hint: "check that the file begins with the headers of the message")
        case .unprotected:
            FailureMeaning(
                .malformed, "unprotected", hint: "show its contents: keyshare-consumer inspect FILE")
        case .noSuchPart:
            FailureMeaning(.noSuchItem, "no-such-part", hint: "verify --message shows the parts of a message")
        case .unsupported: FailureMeaning(.unsupportedAlgorithm)
        case .missingKey:
            FailureMeaning(.noSuchItem, "missing-key", hint: "to list the identities: keyshare-consumer list")
        case .wrongPassword:
            FailureMeaning(
                .wrongPassword, hint: "pass it with --password-file, --password-env or --password-stdin")
        case .altered: FailureMeaning(.validationFailed, "altered", hint: "get the message again")
        case .invalidSignature:
            FailureMeaning(.validationFailed, "invalid-signature", hint: "get the message again")
        case .overLimit: FailureMeaning(.refused, "limit")
        case .unsuitableKey:
            FailureMeaning(
                .validationFailed, "wrong-usage",
                hint: "choose another identity with --label; to list them: keyshare-consumer list")
        case .unmakable: FailureMeaning(.unexpected)
        }
    }
}
