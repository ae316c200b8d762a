internal import CertificateReading
package import DeviceSimulation
internal import Foundation
internal import KeySharing
internal import OpenSSL
package import SimulatedKeychain

/// A problem with the provider's data.
package struct IntegrityProblem: Sendable, Hashable {
    /// The kind of object that a problem affects.
    package enum Kind: String, Sendable, Hashable {
        /// A file or folder of the device, or the mode of one. The keychain's file is excluded.
        case device
        /// The keychain's file as a whole.
        case structure
        /// A record that cannot be opened because it was altered or moved.
        case record
        /// A certificate that OpenSSL rejects.
        case certificate
        /// A private key that OpenSSL rejects.
        case key
        /// A private key that does not belong to the certificate.
        case mismatch
        /// A label or a summary that does not match the certificate.
        case attributes
    }

    /// The kind of object that the problem affects.
    package let kind: Kind
    /// The label of the affected identity; nil if the label is unknown or the problem affects no identity.
    package let label: String?
    /// The description of the problem, as a phrase.
    package let reason: String
}

/// The result of a check of all the provider's data.
package struct IntegrityReport: Sendable {
    /// The number of persons' and devices' identities that were opened.
    package var identities = 0
    /// The number of authorities of test PKIs that were opened.
    package var authorities = 0
    /// The problems that the check found.
    package var problems: [IntegrityProblem] = []
}

extension IntegrityReport {
    /// Checks the device's folders, the structure of the keychain, and all records. Also checks that each identity's
    /// certificate, key, label and summary match. Creates and changes nothing.
    ///
    /// - Parameter device: The device; nil if it does not exist yet, in which case no problems are reported.
    /// - Throws: `KeychainError` if the keychain cannot be read; `.interactionNotAllowed` while its keys are
    ///   inaccessible.
    package init(of device: Device?) throws(KeychainError) {
        guard let device else { return }
        if let store = try ProviderStore(existingOn: device) { self = try store.check() }
        problems =
            device.problems().map { IntegrityProblem(kind: .device, label: nil, reason: $0) } + problems
    }
}

extension ProviderStore {
    /// Checks the structure of the keychain's file without opening records.
    ///
    /// - Returns: The problems; empty if there are none.
    /// - Throws: `KeychainError` if the file cannot be read at all.
    package func quickCheck() throws(KeychainError) -> [IntegrityProblem] {
        try keychain.quickCheck().map(IntegrityProblem.init)
    }

    /// Checks the keychain of a device for the damage that ``check()`` finds and that removing the provider's records
    /// cannot repair: the keychain's file, its manifest, and records that cannot be opened. Changes nothing. The check
    /// works in every state of the device, because it returns no secrets.
    ///
    /// - Returns: The problems; empty if there are none, or if the device has no keychain.
    /// - Throws: `KeychainError` if the keychain cannot be read for a reason other than damage.
    package static func damage(of device: Device) throws(KeychainError) -> [IntegrityProblem] {
        do throws(KeychainError) {
            // The connection ends with this function, so that the damaged files can be moved afterwards.
            guard let store = try ProviderStore(existingOn: device) else { return [] }
            return try store.keychain.verifyIntegrity().map(IntegrityProblem.init)
        } catch {
            guard error.code == .invalidKeychain else { throw error }
            return [IntegrityProblem(kind: .structure, label: nil, reason: error.reason)]
        }
    }

    /// Opens all records of the keychain, and checks that each identity's certificate, key, label and summary match.
    /// Changes nothing.
    ///
    /// - Throws: `KeychainError` if the keychain cannot be read; `.interactionNotAllowed` while its keys are
    ///   inaccessible.
    package func check() throws(KeychainError) -> IntegrityReport {
        try check(after: try keychain.verifyIntegrity())
    }

    /// Opens all identities, and adds their problems to those that `Keychain.verifyIntegrity()` found. A record that
    /// was altered after that call is reported here.
    func check(after found: [KeychainProblem]) throws(KeychainError) -> IntegrityReport {
        var report = IntegrityReport()
        let labels = try keychain.identityAttributes().reduce(into: [Int64: String]()) {
            $0[$1.id] = $1.label
        }
        report.problems = found.map { problem in
            if case .item(let id?) = problem, let label = labels[id] { return .alteredRecord(label) }
            return IntegrityProblem(problem)
        }
        for attributes in try keychain.identityAttributes() {
            let opened: OpenedIdentity
            do throws(KeychainError) {
                opened = try keychain.openIdentity(
                    label: attributes.label, accessGroup: attributes.accessGroup)
            } catch {
                switch error.code {
                case .decode:
                    if !found.contains(.item(id: attributes.id)) {
                        report.problems.append(.alteredRecord(attributes.label))
                    }
                    continue
                case .itemNotFound, .missingEntitlement:
                    // Another process may have removed the identity after it was listed.
                    guard try isListed(attributes) else { continue }
                    // The list and the lookup use different indexes, and one index was altered.
                    report.problems.append(
                        IntegrityProblem(
                            kind: .record, label: attributes.label,
                            reason: "the record is listed but cannot be found by its label"))
                    continue
                default: throw error
                }
            }
            if attributes.accessGroup == App.authorityGroup {
                report.authorities += 1
            } else {
                report.identities += 1
            }
            let isPublished = attributes.accessGroup == sharedGroup
            report.problems += Self.problems(of: opened, attributes, isPublished: isPublished)
        }
        report.problems += try TokenStore(self).problems()
        return report
    }

    /// Returns whether an identity is still listed. Ids are never reused.
    private func isListed(_ attributes: IdentityAttributes) throws(KeychainError) -> Bool {
        try keychain.identityAttributes(after: attributes.id - 1, limit: 1).first?.id == attributes.id
    }

    /// Returns the problems of one identity.
    ///
    /// - Parameter isPublished: Whether the identity is in the published group. Lists show the summaries of this group.
    static func problems(
        of opened: OpenedIdentity, _ attributes: IdentityAttributes, isPublished: Bool
    ) -> [IntegrityProblem] {
        func problem(_ kind: IntegrityProblem.Kind, _ reason: String) -> IntegrityProblem {
            IntegrityProblem(kind: kind, label: attributes.label, reason: reason)
        }
        let certificate: Certificate
        do {
            certificate = try Certificate(der: opened.record.certificate)
        } catch {
            return [problem(.certificate, "the certificate cannot be read: \(error.reason)")]
        }
        var problems: [IntegrityProblem] = []
        if certificate.label != attributes.label {
            problems.append(problem(.attributes, "the label is not the certificate's digest"))
        }
        if certificate.notBefore != attributes.notBefore {
            problems.append(problem(.attributes, "the stored notBefore does not match the certificate"))
        }
        if isPublished {
            let summary = IdentitySummary(certificate)
            let listed = IdentitySummary(
                label: attributes.label, notBefore: attributes.notBefore, tag: attributes.applicationTag)
            if let listed,
                listed.facts != summary.facts || listed.serialNumber != summary.serialNumber
                    || listed.details.map({ $0 != summary.details }) == true
            {
                problems.append(problem(.attributes, "its summary does not match the certificate"))
            }
        }
        do {
            if try !PrivateKey(pkcs8: opened.privateKey).matches(certificate) {
                problems.append(problem(.mismatch, "the private key does not match the certificate"))
            }
        } catch {
            problems.append(problem(.key, "the private key cannot be read"))
        }
        return problems
    }
}

extension IntegrityProblem {
    /// The problem of an identity's record that was altered.
    fileprivate static func alteredRecord(_ label: String) -> IntegrityProblem {
        IntegrityProblem(
            kind: .record, label: label, reason: "the record was altered and cannot be decrypted")
    }

    fileprivate init(_ problem: KeychainProblem) {
        switch problem {
        case .structure(let words):
            self.init(kind: .structure, label: nil, reason: "the keychain's file is damaged: \(words)")
        case .item(let id):
            let name = id.map { "the record \($0)" } ?? "a record"
            self.init(kind: .record, label: nil, reason: "\(name) was altered and cannot be decrypted")
        }
    }
}
