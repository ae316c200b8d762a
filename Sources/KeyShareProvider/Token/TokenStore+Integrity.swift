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
                    problems.append(.wrongTokenLabel(label))
                }
            } catch {
                problems.append(.unreadableTokenCertificate(label, error))
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
                    problems.append(.mismatchedTokenKey(label))
                }
            } catch let error as KeychainError
                where [.decode, .interactionNotAllowed, .itemNotFound].contains(error.code)
            {
                // The keychain's own check reports damage. The other two mean that the device was locked or the key was
                // removed in the meantime.
                continue
            } catch {
                problems.append(.unreadableTokenKey(label))
            }
        }
        return problems
    }

    /// Returns the problem of the first certificate that OpenSSL rejects; nil if there is none. Such a certificate
    /// prevents reading all registrations.
    ///
    /// - Throws: `KeychainError` if the keychain cannot be read.
    func firstUnreadableCertificate() throws(KeychainError) -> IntegrityProblem? {
        for item in try items().certificates {
            do throws(CertificateError) {
                _ = try Certificate(der: item.certificate)
            } catch {
                return .unreadableTokenCertificate(item.attributes.label, error)
            }
        }
        return nil
    }

    /// Returns the problems of a registration that has a key.
    ///
    /// - Throws: `KeychainError` if the key's record was altered, or the device's state makes the key inaccessible.
    func problems(of registration: TokenRegistration) throws(KeychainError) -> [IntegrityProblem] {
        let label = registration.label
        var problems: [IntegrityProblem] = []
        if registration.certificate.label != label { problems.append(.wrongTokenLabel(label)) }
        do {
            if try !privateKey(label).matches(registration.certificate) {
                problems.append(.mismatchedTokenKey(label))
            }
        } catch let error as KeychainError {
            throw error
        } catch {
            problems.append(.unreadableTokenKey(label))
        }
        return problems
    }
}

extension IntegrityProblem {
    fileprivate static func wrongTokenLabel(_ label: String) -> IntegrityProblem {
        IntegrityProblem(
            kind: .attributes, label: label, reason: "the label of the token is not the certificate's digest")
    }

    fileprivate static func unreadableTokenCertificate(
        _ label: String, _ error: CertificateError
    ) -> IntegrityProblem {
        IntegrityProblem(
            kind: .certificate, label: label,
            reason: "the token's certificate cannot be read: \(error.reason)")
    }

    fileprivate static func mismatchedTokenKey(_ label: String) -> IntegrityProblem {
        IntegrityProblem(
            kind: .mismatch, label: label, reason: "the token's key does not match the certificate")
    }

    fileprivate static func unreadableTokenKey(_ label: String) -> IntegrityProblem {
        IntegrityProblem(kind: .key, label: label, reason: "the token's key cannot be read")
    }
}
