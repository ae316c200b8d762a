internal import DeviceSimulation
internal import OpenSSL
internal import SimulatedKeychain

extension TokenStore {
    /// Returns the problems of the registrations: unreadable certificates, certificates with a wrong label, and keys
    /// that have no certificate or do not match it. A certificate whose key was deleted with the passcode is not a
    /// problem.
    ///
    /// Records that cannot be decrypted are not reported here; `Keychain.verifyIntegrity()` reports them.
    ///
    /// - Throws: `KeychainError` if the keychain cannot be read.
    func problems() throws(KeychainError) -> [IntegrityProblem] {
        var problems: [IntegrityProblem] = []
        var certificates: [String: Certificate] = [:]
        let (certificateItems, keyItems) = try items()
        for item in certificateItems {
            let label = item.attributes.label
            do throws(CertificateError) {
                let certificate = try Certificate(der: item.certificate)
                certificates[label] = certificate
                if certificate.label != label {
                    problems.append(
                        IntegrityProblem(
                            kind: .attributes, label: label,
                            reason: "the label of the token is not the certificate's digest"))
                }
            } catch {
                problems.append(
                    IntegrityProblem(
                        kind: .certificate, label: label,
                        reason: "the token's certificate cannot be read: \(error.reason)"))
            }
        }
        let isOpen = (try? requireOpen()) != nil
        for item in keyItems {
            let label = item.attributes.label
            guard let certificate = certificates[label] else {
                if !problems.contains(where: { $0.label == label && $0.kind == .certificate }) {
                    problems.append(
                        IntegrityProblem(
                            kind: .mismatch, label: label, reason: "a token's key has no certificate"))
                }
                continue
            }
            guard isOpen else { continue }
            do {
                if try !privateKey(label).matches(certificate) {
                    problems.append(
                        IntegrityProblem(
                            kind: .mismatch, label: label,
                            reason: "the token's key does not match the certificate")
                    )
                }
            } catch let error as KeychainError
                where [.decode, .interactionNotAllowed, .itemNotFound].contains(error.code)
            {
                // The keychain's own check reports damage. The other two mean that the device was locked or the key was
                // removed in the meantime.
                continue
            } catch {
                problems.append(
                    IntegrityProblem(kind: .key, label: label, reason: "the token's key cannot be read"))
            }
        }
        return problems
    }
}
