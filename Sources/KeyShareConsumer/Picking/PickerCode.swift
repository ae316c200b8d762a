internal import KeyShareWire
package import KeySharing

/// Generates source code for an iOS app that makes a request. The code presents the document picker with the requested
/// types, gets the password as the mechanism requires, reads the file, and always stops accessing it (docs/rules.md
/// R6.2, R4.15).
///
/// The code is meant for copying into an app. It needs UIKit, which only Apple's systems have, so it is not compiled
/// here.
package struct PickerCode: Sendable {
    /// The languages of the generated code.
    package enum Language: String, Sendable, CaseIterable {
        /// Swift.
        case swift
        /// Objective-C.
        case objectiveC = "objc"
    }

    private let request: TypeRequest
    private let registry: UniformTypeRegistry

    /// Creates the code for `request`.
    package init(_ request: TypeRequest, registry: UniformTypeRegistry = .standard) {
        self.request = request
        self.registry = registry
    }

    /// The code in a language, with a line feed at the end.
    package func text(_ language: Language) -> String {
        switch (request.mechanism, language) {
        case (.keySharing2025, .swift): swift2025
        case (.keySharing2025, .objectiveC): objectiveC2025
        case (.legacy, .swift): swiftLegacy
        case (.legacy, .objectiveC): objectiveCLegacy
        }
    }

    /// The types of the request, formatted as lines of an array.
    private func types(_ line: (String) -> String) -> String {
        request.identifiers.map { "        \(line($0))" }.joined(separator: "\n")
    }

    private static func swiftType(_ identifier: String) -> String {
        systemType(identifier).map { "\($0.swift),  // \(identifier)" }
            ?? "UTType(importedAs: \"\(identifier)\"),"
    }

    private static func objectiveCType(_ identifier: String) -> String {
        systemType(identifier).map { "\($0.objectiveC),  // \(identifier)" }
            ?? "[UTType importedTypeWithIdentifier:@\"\(identifier)\"],"
    }

    /// The types that the app's Info.plist must import, formatted as comment lines. The system's own types need no
    /// import.
    private var declarations: String {
        request.identifiers.filter { Mechanism(owning: $0) != nil }.map { identifier in
            let parents = (try? registry.type(identifier))?.conformsTo ?? []
            return "//   \(identifier), which conforms to \(parents.joined(separator: " and "))"
        }.joined(separator: "\n")
    }

    /// The names of a system type in Swift and Objective-C; nil for the types of key sharing.
    private static func systemType(_ identifier: String) -> (swift: String, objectiveC: String)? {
        switch identifier {
        case SystemType.pkcs12: (".pkcs12", "UTTypePKCS12")
        case SystemType.zipArchive: (".zip", "UTTypeZIP")
        case "public.folder": (".folder", "UTTypeFolder")
        case "public.directory": (".directory", "UTTypeDirectory")
        case "public.archive": (".archive", "UTTypeArchive")
        case "public.data": (".data", "UTTypeData")
        case "public.item": (".item", "UTTypeItem")
        default: nil
        }
    }

    /// A comment about the required declarations in Info.plist, for the beginning of the file; empty if the request
    /// contains only system types.
    private var head: String {
        declarations.isEmpty
            ? ""
            : """
            // Info.plist must declare these types under UTImportedTypeDeclarations:
            \(declarations)


            """
    }
}

// MARK: - 2025

extension PickerCode {
    private var swift2025: String {
        """
        \(head)import Security
        import UIKit
        import UniformTypeIdentifiers

        /// The password service of the provider.
        @objc protocol KeySharingPassword {
            func fetchPassword(_ completionHandler: ((String?, NSError?) -> Void)?)
        }

        final class KeyImporter: NSObject, UIDocumentPickerDelegate {
            /// Called on the main queue with the identities of the file, or with the error.
            var completion: ((Result<[SecIdentity], any Error>) -> Void)?

            /// The types that the user can pick. The picker shows all other items disabled.
            private let contentTypes: [UTType] = [
        \(types(Self.swiftType))
            ]

            func present(from presenter: UIViewController) {
                let picker = UIDocumentPickerViewController(forOpeningContentTypes: contentTypes)
                picker.delegate = self
                picker.allowsMultipleSelection = false
                presenter.present(picker, animated: true)
            }

            func documentPicker(_ controller: UIDocumentPickerViewController, didPickDocumentsAt urls: [URL]) {
                guard let url = urls.first else { return }
                Task {
                    let isAccessing = url.startAccessingSecurityScopedResource()
                    // Always stop accessing the file, even if reading the password or the file fails.
                    defer { if isAccessing { url.stopAccessingSecurityScopedResource() } }
                    do {
                        let password = try await Self.fetchPassword(for: url)
                        completion?(.success(try Self.identities(at: url, password: password)))
                    } catch {
                        completion?(.failure(error))
                    }
                }
            }

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

        \(Self.swiftReading)
        }

        """
    }

    private var objectiveC2025: String {
        """
        \(head)#import <Security/Security.h>
        #import <UIKit/UIKit.h>
        #import <UniformTypeIdentifiers/UniformTypeIdentifiers.h>

        // The password service of the provider.
        @protocol KeySharingPassword
        - (void)fetchPassword:(void (^)(NSString *password, NSError *error))completionHandler;
        @end

        @interface KeyImporter : NSObject <UIDocumentPickerDelegate>
        // Called on the main queue with the items from SecPKCS12Import, or with nil and the error.
        @property (nonatomic, copy) void (^completion)(NSArray *items, NSError *error);
        - (void)presentFrom:(UIViewController *)presenter;
        @end

        @implementation KeyImporter

        - (void)presentFrom:(UIViewController *)presenter {
            // The types that the user can pick. The picker shows all other items disabled.
            NSArray<UTType *> *contentTypes = @[
        \(types(Self.objectiveCType))
            ];
            UIDocumentPickerViewController *picker =
                [[UIDocumentPickerViewController alloc] initForOpeningContentTypes:contentTypes];
            picker.delegate = self;
            picker.allowsMultipleSelection = NO;
            [presenter presentViewController:picker animated:YES completion:nil];
        }

        - (void)documentPicker:(UIDocumentPickerViewController *)controller
            didPickDocumentsAtURLs:(NSArray<NSURL *> *)urls {
            NSURL *url = urls.firstObject;
            if (url == nil) { return; }
            BOOL isAccessing = [url startAccessingSecurityScopedResource];
            [self fetchPasswordFor:url then:^(NSString *password, NSError *error) {
                NSArray *items = password == nil ? nil : [self itemsAt:url password:password error:&error];
                // Always stop accessing the file, even if reading the password or the file failed.
                if (isAccessing) { [url stopAccessingSecurityScopedResource]; }
                dispatch_async(dispatch_get_main_queue(), ^{
                    if (self.completion != nil) { self.completion(items, items == nil ? error : nil); }
                });
            }];
        }

        - (void)fetchPasswordFor:(NSURL *)url then:(void (^)(NSString *password, NSError *error))handle {
            // A provider may offer several services. Use the one with this name, not the first one.
            NSFileProviderServiceName name = @"\(PasswordService.name)";
            [NSFileManager.defaultManager
                getFileProviderServicesForItemAtURL:url
                                  completionHandler:^(NSDictionary *services, NSError *error) {
                NSFileProviderService *service = services[name];
                if (service == nil) { return handle(nil, error); }
                [service getFileProviderConnectionWithCompletionHandler:^(
                    NSXPCConnection *connection, NSError *connectionError) {
                    if (connection == nil) { return handle(nil, connectionError); }
                    connection.remoteObjectInterface =
                        [NSXPCInterface interfaceWithProtocol:@protocol(KeySharingPassword)];
                    [connection resume];
                    id<KeySharingPassword> proxy =
                        [connection remoteObjectProxyWithErrorHandler:^(NSError *proxyError) {
                            handle(nil, proxyError);
                        }];
                    [proxy fetchPassword:^(NSString *password, NSError *passwordError) {
                        [connection invalidate];
                        handle(password, passwordError);
                    }];
                }];
            }];
        }

        \(Self.objectiveCReading)

        @end

        """
    }
}

// MARK: - Legacy

extension PickerCode {
    private var swiftLegacy: String {
        """
        import Security
        import UIKit

        final class KeyImporter: NSObject, UIDocumentPickerDelegate {
            /// Called on the main queue with the identities of the file, or with the error.
            var completion: ((Result<[SecIdentity], any Error>) -> Void)?

            /// The provider receives these types unchanged, and lists the items that match.
            private let documentTypes = [
        \(types { "\"\($0)\"," })
            ]

            func present(from presenter: UIViewController) {
                // Deprecated since iOS 14, but its successor does not send the types to a legacy provider.
                let picker = UIDocumentPickerViewController(documentTypes: documentTypes, in: .open)
                picker.delegate = self
                presenter.present(picker, animated: true)
            }

            func documentPicker(_ controller: UIDocumentPickerViewController, didPickDocumentsAt urls: [URL]) {
                guard let url = urls.first else { return }
                let isAccessing = url.startAccessingSecurityScopedResource()
                // The provider wrote the password to the pasteboard. Reading it makes the system ask the user. If
                // the file comes from another source, the password is nil: ask the user for it.
                let password = UIPasteboard.general.string
                UIPasteboard.general.items = []
                let result = Result {
                    guard let password else { throw CocoaError(.userCancelled) }
                    return try Self.identities(at: url, password: password)
                }
                // Always stop accessing the file, even if reading the password or the file failed.
                if isAccessing { url.stopAccessingSecurityScopedResource() }
                completion?(result)
            }

        \(Self.swiftReading)
        }

        """
    }

    private var objectiveCLegacy: String {
        """
        #import <Security/Security.h>
        #import <UIKit/UIKit.h>

        @interface KeyImporter : NSObject <UIDocumentPickerDelegate>
        // Called on the main queue with the items from SecPKCS12Import, or with nil and the error.
        @property (nonatomic, copy) void (^completion)(NSArray *items, NSError *error);
        - (void)presentFrom:(UIViewController *)presenter;
        @end

        @implementation KeyImporter

        - (void)presentFrom:(UIViewController *)presenter {
            // The provider receives these types unchanged, and lists the items that match.
            NSArray<NSString *> *documentTypes = @[
        \(types { "@\"\($0)\"," })
            ];
            // Deprecated since iOS 14, but its successor does not send the types to a legacy provider.
            UIDocumentPickerViewController *picker =
                [[UIDocumentPickerViewController alloc] initWithDocumentTypes:documentTypes
                                                                       inMode:UIDocumentPickerModeOpen];
            picker.delegate = self;
            [presenter presentViewController:picker animated:YES completion:nil];
        }

        - (void)documentPicker:(UIDocumentPickerViewController *)controller
            didPickDocumentsAtURLs:(NSArray<NSURL *> *)urls {
            NSURL *url = urls.firstObject;
            if (url == nil) { return; }
            BOOL isAccessing = [url startAccessingSecurityScopedResource];
            // The provider wrote the password to the pasteboard. Reading it makes the system ask the user. If the
            // file comes from another source, the password is nil: ask the user for it.
            NSString *password = UIPasteboard.generalPasteboard.string;
            UIPasteboard.generalPasteboard.items = @[];
            NSError *error = nil;
            NSArray *items = password == nil ? nil : [self itemsAt:url password:password error:&error];
            // Always stop accessing the file, even if reading the password or the file failed.
            if (isAccessing) { [url stopAccessingSecurityScopedResource]; }
            if (self.completion != nil) { self.completion(items, error); }
        }

        \(Self.objectiveCReading)

        @end

        """
    }
}

// MARK: - Reading, which is the same in both mechanisms

extension PickerCode {
    private static let swiftReading = """
            /// Every identity of the file, not only the first. A zip contains such files with one password: open it
            /// with a zip library, and import each entry as a whole.
            private nonisolated static func identities(at url: URL, password: String) throws -> [SecIdentity] {
                var coordinationError: NSError?
                var contents: Result<Data, any Error> = .failure(CocoaError(.fileReadUnknown))
                NSFileCoordinator().coordinate(readingItemAt: url, options: [], error: &coordinationError) { url in
                    contents = Result { try Data(contentsOf: url) }
                }
                if let coordinationError { throw coordinationError }
                var items: CFArray?
                let options = [kSecImportExportPassphrase: password] as CFDictionary
                let status = SecPKCS12Import(try contents.get() as CFData, options, &items)
                guard status == errSecSuccess else {
                    throw NSError(domain: NSOSStatusErrorDomain, code: Int(status))
                }
                // The forced cast cannot fail: the value under this key is a SecIdentity, and Swift has no conditional
                // cast to types of Core Foundation.
                return (items as? [[String: Any]] ?? []).compactMap {
                    $0[kSecImportItemIdentity as String].map { $0 as! SecIdentity }
                }
            }
        """

    private static let objectiveCReading = """
        // Every identity of the file, not only the first. A zip contains such files with one password: open it with a
        // zip library, and import each entry as a whole.
        - (NSArray *)itemsAt:(NSURL *)url password:(NSString *)password error:(NSError **)error {
            __block NSData *contents = nil;
            __block NSError *readingError = nil;
            NSError *coordinationError = nil;
            [[[NSFileCoordinator alloc] initWithFilePresenter:nil]
                coordinateReadingItemAtURL:url
                                   options:0
                                     error:&coordinationError
                                byAccessor:^(NSURL *readable) {
                contents = [NSData dataWithContentsOfURL:readable options:0 error:&readingError];
            }];
            if (contents == nil) {
                if (error != NULL) { *error = coordinationError ?: readingError; }
                return nil;
            }
            CFArrayRef items = NULL;
            NSDictionary *options = @{(__bridge id)kSecImportExportPassphrase : password};
            OSStatus status =
                SecPKCS12Import((__bridge CFDataRef)contents, (__bridge CFDictionaryRef)options, &items);
            if (status != errSecSuccess) {
                if (error != NULL) {
                    *error = [NSError errorWithDomain:NSOSStatusErrorDomain code:status userInfo:nil];
                }
                return nil;
            }
            return CFBridgingRelease(items);
        }
        """
}
