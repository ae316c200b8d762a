package import PrivateFiles
private import Foundation

/// The key of a setting: the setting's name, its value while none is set, and which values are allowed.
package struct DefaultsKey<Value: Codable & Sendable>: Sendable {
    /// The setting's name in the property list.
    package let name: String
    /// The value where none is set, or where the one that is set cannot be used.
    package let fallback: Value
    /// Tells whether a value is allowed.
    package let isValid: @Sendable (Value) -> Bool

    /// Makes the key of a setting whose type a property list can hold.
    package init(
        _ name: String, fallback: Value, isValid: @escaping @Sendable (Value) -> Bool = { _ in true }
    ) {
        self.name = name
        self.fallback = fallback
        self.isValid = isValid
    }
}

/// The origin of a setting's value: the file, or the fallback and the reason for it.
package enum DefaultsSource: Sendable, Hashable {
    /// The value was set.
    case stored
    /// Nothing was set; the value is the fallback.
    case absent
    /// A value of another type was set; the value is the fallback.
    case wrongType
    /// A value that is not allowed was set; the value is the fallback.
    case invalid
    /// The settings' file is no property list; the value is the fallback.
    case damagedFile
}

/// The settings that the apps of a group share, as `UserDefaults(suiteName:)` has them on iOS: a property list in the
/// group's container.
package struct GroupDefaults: Sendable {
    static let fileName = "defaults.plist"
    private let group: AppGroup

    /// Makes the settings of `group`; nothing is read yet.
    package init(_ group: AppGroup) {
        self.group = group
    }

    /// The value of `key`, or the fallback where no usable value is set.
    ///
    /// - Throws: `FileError` when the settings' file cannot be read or is not ours alone.
    package subscript<Value>(key: DefaultsKey<Value>) -> Value {
        get throws(FileError) { try look(up: key).value }
    }

    /// Gives the value of `key` and its origin.
    ///
    /// - Throws: `FileError` when the settings' file cannot be read or is not ours alone.
    package func look<Value>(
        up key: DefaultsKey<Value>
    ) throws(FileError) -> (value: Value, source: DefaultsSource) {
        guard let bytes = try group.read(Self.fileName) else { return (key.fallback, .absent) }
        guard let values = Self.values(bytes) else { return (key.fallback, .damagedFile) }
        guard let object = values[key.name] else { return (key.fallback, .absent) }
        guard
            let data = try? PropertyListSerialization.data(
                fromPropertyList: [object], format: .binary, options: 0),
            let value = try? PropertyListDecoder().decode([Value].self, from: data).first
        else { return (key.fallback, .wrongType) }
        return key.isValid(value) ? (value, .stored) : (key.fallback, .invalid)
    }

    /// Sets the value of `key`; nil removes the value. Other settings stay as they are.
    ///
    /// - Throws: `DeviceError.Code.invalidValue` when the key does not allow the value, or a property list cannot
    ///   hold it; `FileError` when the file cannot be written. The earlier value stays then.
    package func set<Value>(_ key: DefaultsKey<Value>, to value: Value?) throws {
        var object: Any?
        if let value {
            // In a list of one, because the root of a property list may not be a number.
            guard key.isValid(value), let data = try? PropertyListEncoder().encode([value]),
                let list = Self.propertyList(data) as? [Any], let first = list.first
            else {
                throw DeviceError(.invalidValue, path: "", "\(key.name) cannot be what it was set to")
            }
            object = first
        }
        try group.update(Self.fileName) { bytes in
            var values = bytes.flatMap(Self.values) ?? [:]
            values[key.name] = object
            bytes = [UInt8](
                try PropertyListSerialization.data(fromPropertyList: values, format: .xml, options: 0))
        }
    }

    /// Merges the settings `theirs` into `ours`: the ones that ours lack, and the ones that were taken from there
    /// before and not changed in ours since. Bytes that are no property list give way to bytes that are.
    ///
    /// - Parameter taken: the settings as they were taken from there before; nil for none.
    /// - Throws: `FileError.Code.damagedFile` when the merged settings cannot be encoded.
    static func adding(
        _ theirs: [UInt8], to ours: [UInt8]?, takenBefore taken: [UInt8]?
    ) throws(FileError) -> [UInt8] {
        guard let ours else { return theirs }
        guard let others = values(theirs) else { return ours }
        guard let own = values(ours) else { return theirs }
        let before = taken.flatMap(values) ?? [:]
        let followed = others.filter { name, _ in
            guard let value = own[name] else { return true }
            return before[name].map { NSArray(object: $0).isEqual(to: [value]) } ?? false
        }
        guard !NSDictionary(dictionary: own).isEqual(to: own.merging(followed) { $1 }) else { return ours }
        do {
            let all = own.merging(followed) { $1 }
            return [UInt8](
                try PropertyListSerialization.data(fromPropertyList: all, format: .xml, options: 0))
        } catch {
            throw FileError(.damagedFile, path: "", "the settings of two groups cannot be one: \(error)")
        }
    }

    private static func values(_ bytes: [UInt8]) -> [String: Any]? {
        propertyList(Data(bytes)) as? [String: Any]
    }

    private static func propertyList(_ data: Data) -> Any? {
        guard BoundedPropertyList.isBounded(data) else { return nil }
        // The call counts as unsafe for the pointer that is its last parameter; nil is passed.
        return unsafe try? PropertyListSerialization.propertyList(from: data, format: nil)
    }
}
