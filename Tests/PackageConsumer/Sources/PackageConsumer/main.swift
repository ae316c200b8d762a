#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import KeySharing

// A device certificate, which the legacy rules classify as an authentication certificate, is classified, listed and
// explained with the public API of KeySharing.
let device = IdentitySummary(
    label: String(repeating: "0A", count: 32), serialNumber: "048F",
    notBefore: Date(timeIntervalSince1970: 1_700_000_000),
    facts: CertificateFacts(keyUsage: .digitalSignature))
let file = Item.file(device, in: .device, under: .keySharing2025)
let request = try TypeRequest(
    [
        IdentitySelector.authentication.selectType(under: .keySharing2025),
        IdentitySelector.authentication.companionType,
    ],
    under: .keySharing2025)
for row in Explanation.keySharing2025(items: [file], identities: [device], request: request) {
    print(row.state.rawValue, row.reason.rawValue, row.missing.joined(separator: " "))
}
