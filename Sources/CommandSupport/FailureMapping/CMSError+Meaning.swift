package import OpenSSL

extension CMSError: ReportableFailure {
    package static let codes: [Code] = [
        .malformed, .noMessage, .unprotected, .unsupported(oid: ""), .missingKey, .altered, .invalidSignature,
        .overLimit,
        .unsuitableKey, .unmakable,
    ]

    package static func meaning(of code: Code) -> FailureMeaning {
        switch code {
        case .malformed:
            FailureMeaning(.malformed, hint: "get the message anew, with all of its headers")
        case .noMessage:
            FailureMeaning(.malformed, "no-message", hint: "a mail begins with its headers; name its file")
        case .unprotected:
            FailureMeaning(.malformed, "unprotected", hint: "it can be read as it is, with any mail program")
        case .unsupported: FailureMeaning(.unsupportedAlgorithm)
        case .missingKey:
            FailureMeaning(.noSuchItem, "missing-key", hint: "what is there: keyshare-consumer list")
        case .altered: FailureMeaning(.validationFailed, "altered", hint: "get the message anew")
        case .invalidSignature:
            FailureMeaning(.validationFailed, "invalid-signature", hint: "get the message anew")
        case .overLimit: FailureMeaning(.refused, "limit")
        case .unsuitableKey:
            FailureMeaning(
                .validationFailed, "wrong-usage",
                hint: "name another identity with --label; those there are: keyshare-consumer list")
        case .unmakable: FailureMeaning(.unexpected)
        }
    }
}
