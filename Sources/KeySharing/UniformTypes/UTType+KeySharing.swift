#if canImport(UniformTypeIdentifiers)
    public import UniformTypeIdentifiers

    extension TypeRequest {
        /// The requested types, for `UIDocumentPickerViewController` or `fileImporter`. The app must declare them as
        /// imported types: the property lists in `UTTypes` have the declarations.
        public var contentTypes: [UTType] { identifiers.map { UTType(importedAs: $0) } }
    }

    extension Item {
        /// The uniform type of the item, which the app must declare as an imported type.
        public var uniformType: UTType { UTType(importedAs: contentType) }
    }
#endif
