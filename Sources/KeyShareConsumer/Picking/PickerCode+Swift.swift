internal import KeyShareWire
internal import KeySharing

// The generated Swift code. It consists of the same parts for both mechanisms; only the picker and the password differ.

extension PickerCode {
    /// The Swift code of a 2025 request.
    var swift2025: String {
        """
        \(head)import Security
        import UIKit
        import UniformTypeIdentifiers
        \(swiftZipImport)
        /// The password service of the provider.
        @objc protocol KeySharingPassword {
            func fetchPassword(_ completionHandler: ((String?, NSError?) -> Void)?)
        }

        /// Lets the user pick keys, and imports them. Keep a reference until `completion` is called.
        @MainActor final class KeyImporter: NSObject, UIDocumentPickerDelegate {
        \(Self.swiftOutcome)
            /// The types that the user can pick. The picker shows all other items disabled.
            private let contentTypes: [UTType] = [
        \(types(Self.swiftType))
            ]

            func present(from presenter: UIViewController) {
                let picker = UIDocumentPickerViewController(forOpeningContentTypes: contentTypes)
                picker.delegate = self
                picker.allowsMultipleSelection = \(request.permitsFiles)
                presenter.present(picker, animated: true)
            }

            func documentPicker(_ controller: UIDocumentPickerViewController, didPickDocumentsAt urls: [URL]) {
                Task {
                    var outcomes: [Outcome] = []
                    for url in urls {
                        let isAccessing = url.startAccessingSecurityScopedResource()
                        // Always stop accessing the file, even if reading the password or the file fails.
                        defer { if isAccessing { url.stopAccessingSecurityScopedResource() } }
                        do {
                            let contents = try await Self.contents(of: url)
                            let password = try await Self.fetchPassword(for: url)
                            let identities = try Self.identities(in: contents, password: password)
                            outcomes.append(Outcome(url: url, result: .success(identities)))
                        } catch {
                            outcomes.append(Outcome(url: url, result: .failure(error)))
                        }
                    }
                    completion?(outcomes)
                }
            }

            func documentPickerWasCancelled(_ controller: UIDocumentPickerViewController) {
                completion?([])
            }

        \(Self.swiftFetching)
        \(Self.swiftReading)
        \(swiftImporting)
        }

        """
    }

    /// The methods that fetch the password and the bytes of a picked item.
    private static let swiftFetching = """
            /// The password of the item. It opens every file of a zip.
            private nonisolated static func fetchPassword(for url: URL) async throws -> String {
                // A provider may offer several services. Use the one with this name, not the first one.
                let name = NSFileProviderServiceName("\(PasswordService.name)")
                let services = try await FileManager.default.fileProviderServicesForItem(at: url)
                guard let service = services[name] else { throw CocoaError(.featureUnsupported) }
                let connection = try await service.fileProviderConnection()
                defer { connection.invalidate() }
                connection.remoteObjectInterface = NSXPCInterface(with: KeySharingPassword.self)
                connection.resume()
                return try await withCheckedThrowingContinuation { continuation in
                    // NSXPCConnection calls either the error handler or the reply, and only once.
                    let proxy = connection.remoteObjectProxyWithErrorHandler { continuation.resume(throwing: $0) }
                    guard let service = proxy as? any KeySharingPassword else {
                        return continuation.resume(throwing: CocoaError(.featureUnsupported))
                    }
                    service.fetchPassword { password, error in
                        if let password {
                            continuation.resume(returning: password)
                        } else {
                            continuation.resume(throwing: error ?? CocoaError(.fileReadUnknown))
                        }
                    }
                }
            }

            /// The bytes of a picked file. Reading through a coordinator makes the provider download them.
            private nonisolated static func contents(of url: URL) async throws -> Data {
                try coordinatedContents(of: url)
            }

        """

    /// The Swift code of a legacy request. A legacy provider sets a new password for each pick, so the user picks one
    /// row at a time (docs/rules.md R4.15).
    var swiftLegacy: String {
        """
        import Security
        import UIKit
        \(swiftZipImport)
        /// Lets the user pick keys, and imports them. Keep a reference until `completion` is called.
        @MainActor final class KeyImporter: NSObject, UIDocumentPickerDelegate {
        \(Self.swiftOutcome)
            /// The provider receives these types unchanged, and lists the items that match.
            private let documentTypes = [
        \(types { "\"\($0)\"," })
            ]

            func present(from presenter: UIViewController) {
                // Deprecated since iOS 14, but its successor does not send the types to a legacy provider.
                let picker = UIDocumentPickerViewController(documentTypes: documentTypes, in: .open)
                picker.delegate = self
                // Each item has its own password, and the pasteboard contains only the last one.
                picker.allowsMultipleSelection = false
                presenter.present(picker, animated: true)
            }

            func documentPicker(_ controller: UIDocumentPickerViewController, didPickDocumentsAt urls: [URL]) {
                guard let url = urls.first else { return }
                let isAccessing = url.startAccessingSecurityScopedResource()
                // Always stop accessing the file, even if reading the password or the file fails.
                defer { if isAccessing { url.stopAccessingSecurityScopedResource() } }
                // The provider wrote the password to the pasteboard. Reading it makes the system ask the user. If
                // the file comes from another source, the password is nil: ask the user for it.
                let password = UIPasteboard.general.string
                UIPasteboard.general.items = []
                let result = Result {
                    guard let password else { throw CocoaError(.userCancelled) }
                    return try Self.identities(in: try Self.coordinatedContents(of: url), password: password)
                }
                completion?([Outcome(url: url, result: result)])
            }

            func documentPickerWasCancelled(_ controller: UIDocumentPickerViewController) {
                completion?([])
            }

        \(Self.swiftReading)
        \(swiftImporting)
        }

        """
    }

    private var swiftZipImport: String {
        request.permitsZips
            ? "import ZIPFoundation  // https://github.com/weichsel/ZIPFoundation, 0.9.18\n" : ""
    }

    private static let swiftOutcome = """
            /// The result of one picked file or zip.
            struct Outcome {
                let url: URL
                let result: Result<[SecIdentity], any Error>
            }

            /// Called once with a result for each picked file, or with no results if the user cancelled.
            var completion: (([Outcome]) -> Void)?

        """

    private static let swiftReading = """
            private nonisolated static func coordinatedContents(of url: URL) throws -> Data {
                var coordinationError: NSError?
                var contents: Result<Data, any Error> = .failure(CocoaError(.fileReadUnknown))
                NSFileCoordinator().coordinate(readingItemAt: url, options: [], error: &coordinationError) { url in
                    contents = Result { try Data(contentsOf: url) }
                }
                if let coordinationError { throw coordinationError }
                return try contents.get()
            }

        """

    /// The functions that import the bytes: of a file, of a zip, or of either.
    private var swiftImporting: String {
        guard request.permitsZips else {
            return Self.swiftFile("in contents") + "\n" + Self.swiftStatus
        }
        // A zip begins with "PK"; a PKCS #12 file begins with an ASN.1 sequence.
        let either = request.permitsFiles ? "contents.starts(with: [0x50, 0x4B]) ? " : ""
        let file = request.permitsFiles ? " : [contents]" : ""
        return """
                /// The identities of \(request.permitsFiles ? "a PKCS #12 file or a zip of such files" : "a zip"). All \
            files of a zip have the same password.
                private static func identities(in contents: Data, password: String) throws -> [SecIdentity] {
                    let files = \(either)try files(inZip: contents)\(file)
                    return try files.flatMap { try identities(inFile: $0, password: password) }
                }

            \(Self.swiftZip)
            \(Self.swiftFile("inFile contents"))
            \(Self.swiftStatus)
            """
    }

    private static let swiftZip = """
            /// The files of a zip, each as a whole. Nothing is written to disk.
            private static func files(inZip contents: Data) throws -> [Data] {
                let archive = try Archive(data: contents, accessMode: .read)
                var files: [Data] = []
                for entry in archive where entry.type == .file && !entry.path.hasPrefix("__MACOSX/") {
                    // A key file has a few kilobytes. The limit protects the app from a zip that expands without end.
                    guard entry.uncompressedSize <= 1_048_576 else { throw CocoaError(.fileReadTooLarge) }
                    var file = Data()
                    _ = try archive.extract(entry) { file.append($0) }
                    files.append(file)
                }
                return files
            }

        """

    private static func swiftFile(_ parameter: String) -> String {
        """
            /// Stores every identity of a PKCS #12 file in the app's keychain, not only the first.
            private static func identities(\(parameter): Data, password: String) throws -> [SecIdentity] {
                var items: CFArray?
                let options = [kSecImportExportPassphrase as String: password] as CFDictionary
                try check(SecPKCS12Import(contents as CFData, options, &items))
                // The forced cast cannot fail: the value under this key is a SecIdentity, and Swift has no
                // conditional cast to types of Core Foundation.
                let identities = (items as? [[String: Any]] ?? []).compactMap {
                    $0[kSecImportItemIdentity as String].map { $0 as! SecIdentity }
                }
                for identity in identities {
                    let status = SecItemAdd([kSecValueRef as String: identity] as CFDictionary, nil)
                    // An identity that is already in the keychain is not an error.
                    if status != errSecDuplicateItem { try check(status) }
                }
                return identities
            }

        """
    }

    private static let swiftStatus = """
            /// Throws an error with the code of the Security framework, such as errSecAuthFailed for a wrong password.
            private static func check(_ status: OSStatus) throws {
                guard status == errSecSuccess else {
                    throw NSError(domain: NSOSStatusErrorDomain, code: Int(status))
                }
            }
        """
}
