/// The declarations of Apple's modules, and of ZIPFoundation, that the generated code uses. Their signatures follow the
/// public documentation, with the isolation that the iOS SDK declares. Bodies are never run.
enum AppleModuleStubs {
    /// The modules, each after those that it imports.
    static let all = [
        ("Security", security), ("UniformTypeIdentifiers", uniformTypes), ("UIKit", userInterface),
        ("ZIPFoundation", archives),
    ]

    private static let security = """
        @_exported import Foundation
        // Types of Core Foundation, which is toll-free bridged on Apple's systems.
        public typealias CFString = String
        public typealias CFData = Data
        public typealias CFDictionary = [String: Any]
        public typealias CFArray = NSArray
        public typealias CFTypeRef = AnyObject
        public typealias OSStatus = Int32
        public final class SecIdentity {}
        public let kSecImportExportPassphrase: CFString = "passphrase"
        public let kSecImportItemIdentity: CFString = "identity"
        public let kSecValueRef: CFString = "v_Ref"
        public var errSecSuccess: OSStatus { 0 }
        public var errSecDuplicateItem: OSStatus { -25299 }
        public func SecPKCS12Import(
            _ data: CFData, _ options: CFDictionary, _ items: UnsafeMutablePointer<CFArray?>
        ) -> OSStatus { 0 }
        public func SecItemAdd(_ attributes: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus { 0 }
        """

    private static let uniformTypes = """
        public struct UTType: Sendable {
            public init(importedAs identifier: String, conformingTo parent: UTType? = nil) {}
            private init() {}
            public static let pkcs12 = UTType(), zip = UTType(), folder = UTType(), directory = UTType()
            public static let archive = UTType(), data = UTType(), item = UTType()
        }
        """

    private static let userInterface = """
        @_exported import Foundation
        import UniformTypeIdentifiers
        @MainActor open class UIViewController: NSObject {
            public func present(_ other: UIViewController, animated: Bool, completion: (() -> Void)? = nil) {}
        }
        @MainActor public protocol UIDocumentPickerDelegate: AnyObject {
            func documentPicker(_ controller: UIDocumentPickerViewController, didPickDocumentsAt urls: [URL])
            func documentPickerWasCancelled(_ controller: UIDocumentPickerViewController)
        }
        public enum UIDocumentPickerMode { case open }
        @MainActor public final class UIDocumentPickerViewController: UIViewController {
            public init(forOpeningContentTypes types: [UTType]) {}
            public init(documentTypes: [String], in mode: UIDocumentPickerMode) {}
            public weak var delegate: (any UIDocumentPickerDelegate)?
            public var allowsMultipleSelection = false
        }
        @MainActor public final class UIPasteboard {
            public static let general = UIPasteboard()
            public var string: String?
            public var items: [[String: Any]] = []
        }
        // Parts of Foundation that only Apple's systems have.
        public struct NSFileProviderServiceName: Hashable, Sendable {
            public init(_ name: String) {}
        }
        public final class NSFileProviderService: @unchecked Sendable {
            public func fileProviderConnection() async throws -> NSXPCConnection { NSXPCConnection() }
        }
        public final class NSXPCInterface {
            public init(with interface: Any.Type) {}
        }
        public final class NSXPCConnection: @unchecked Sendable {
            public var remoteObjectInterface: NSXPCInterface?
            public func resume() {}
            public func invalidate() {}
            public func remoteObjectProxyWithErrorHandler(_ handler: @escaping @Sendable (any Error) -> Void) -> Any { 0 }
        }
        public final class NSFileCoordinator {
            public struct ReadingOptions: OptionSet, Sendable {
                public let rawValue: Int
                public init(rawValue: Int) { self.rawValue = rawValue }
            }
            public init() {}
            public func coordinate(
                readingItemAt url: URL, options: ReadingOptions, error: UnsafeMutablePointer<NSError?>?,
                byAccessor reader: (URL) -> Void
            ) {}
        }
        extension FileManager {
            public func fileProviderServicesForItem(
                at url: URL
            ) async throws -> [NSFileProviderServiceName: NSFileProviderService] { [:] }
        }
        extension URL {
            public func startAccessingSecurityScopedResource() -> Bool { true }
            public func stopAccessingSecurityScopedResource() {}
        }
        """

    private static let archives = """
        import Foundation
        public struct Entry {
            public enum EntryType { case file, directory, symlink }
            public var type: EntryType { .file }
            public var path: String { "" }
            public var uncompressedSize: UInt64 { 0 }
        }
        public final class Archive: Sequence {
            public enum AccessMode { case create, read, update }
            public typealias Consumer = (_ data: Data) throws -> Void
            public init(data: Data = Data(), accessMode: AccessMode, pathEncoding: String.Encoding? = nil) throws {}
            public func makeIterator() -> AnyIterator<Entry> { AnyIterator { nil } }
            public func extract(
                _ entry: Entry, bufferSize: Int = 16384, skipCRC32: Bool = false, progress: Progress? = nil,
                consumer: Consumer
            ) throws -> UInt32 { 0 }
        }
        """
}
