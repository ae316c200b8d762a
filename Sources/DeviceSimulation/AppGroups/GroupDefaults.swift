private import Foundation
package import PrivateFiles
internal import SimulatedKeychain

/// The key of a setting: its name, its fallback value, and the allowed values.
package struct DefaultsKey<Value: Codable & Sendable>: Sendable {
    /// The setting's name in the property list.
    package let name: String
    /// The value that is used if no value is set, or if the stored value cannot be used.
    package let fallback: Value
    /// Returns whether a value is allowed.
    package let isValid: @Sendable (Value) -> Bool

    /// Creates the key of a setting. A property list must be able to contain its type.
    package init(
        _ name: String, fallback: Value, isValid: @escaping @Sendable (Value) -> Bool = { _ in true }
    ) {
        self.name = name
        self.fallback = fallback
        self.isValid = isValid
    }
}

/// The origin of a setting's value: the settings file, or the fallback for one of several reasons.
package enum DefaultsSource: Sendable, Hashable {
    /// The value was set.
    case stored
    /// No value was set; the value is the fallback.
    case absent
    /// A value of a different type was set; the value is the fallback.
    case wrongType
    /// A value that is not allowed was set; the value is the fallback.
    case invalid
    /// The settings' file is not a property list; the value is the fallback.
    case damagedFile
}

/// The settings that the apps of a group share, like `UserDefaults(suiteName:)` on iOS: a property list in
/// the group's container.
package struct GroupDefaults: Sendable {
    static let fileName = "defaults.plist"
    private let group: AppGroup

    /// Creates the settings of `group`, without reading the file.
    package init(_ group: AppGroup) {
        self.group = group
    }

    /// The value of `key`, or the fallback if no usable value is set.
    ///
    /// - Throws: `FileError` if the settings' file cannot be read or is accessible to others.
    package subscript<Value>(key: DefaultsKey<Value>) -> Value {
        get throws(FileError) { try look(up: key).value }
    }

    /// Returns the value of `key` and its origin.
    ///
    /// - Throws: `FileError` if the settings' file cannot be read or is accessible to others.
    package func look<Value>(
        up key: DefaultsKey<Value>
    ) throws(FileError) -> (value: Value, source: DefaultsSource) {
        guard let bytes = try group.read(Self.fileName) else { return (key.fallback, .absent) }
        guard let values = Self.values(bytes) else { return (key.fallback, .damagedFile) }
        guard let object = values[key.name] else { return (key.fallback, .absent) }
        // The value is wrapped in an array, because the root of a property list cannot be a number.
        guard let data = try? PropertyListEncoder().encode([object]),
            let value = try? PropertyListDecoder().decode([Value].self, from: data).first
        else { return (key.fallback, .wrongType) }
        return key.isValid(value) ? (value, .stored) : (key.fallback, .invalid)
    }

    /// Sets the value of `key`; nil removes the value. Other settings do not change.
    ///
    /// - Throws: `DeviceError.Code.invalidValue` if the key does not allow the value, or if a property list
    ///   cannot contain it; `FileError` if the file cannot be written. The earlier value is kept in this
    ///   case.
    package func set<Value>(_ key: DefaultsKey<Value>, to value: Value?) throws {
        var object: PropertyListValue?
        if let value {
            guard key.isValid(value), let data = try? PropertyListEncoder().encode([value]),
                let first = try? BoundedPropertyList.decode([PropertyListValue].self, from: data).first
            else {
                throw DeviceError(.invalidValue, path: "", "the value for \(key.name) is not allowed")
            }
            object = first
        }
        try group.update(Self.fileName) { bytes in
            var values = bytes.flatMap(Self.values) ?? [:]
            values[key.name] = object
            bytes = try Self.encoded(values)
        }
    }

    /// Merges the settings `theirs` into `ours`: settings that are missing in `ours`, and settings that an earlier
    /// merge took from `theirs` and that have not changed in `ours` since. Bytes that are not a property list are
    /// replaced by bytes that are.
    ///
    /// - Parameter taken: The settings of the previous merge; nil for no previous merge.
    /// - Throws: `FileError.Code.damagedFile` if the merged settings cannot be encoded.
    static func adding(
        _ theirs: [UInt8], to ours: [UInt8]?, takenBefore taken: [UInt8]?
    ) throws(FileError) -> [UInt8] {
        guard let ours else { return theirs }
        guard let others = values(theirs) else { return ours }
        guard let own = values(ours) else { return theirs }
        let before = taken.flatMap(values) ?? [:]
        let followed = others.filter { name, _ in
            guard let value = own[name] else { return true }
            return before[name] == value
        }
        let all = own.merging(followed) { $1 }
        guard all != own else { return ours }
        do {
            return try encoded(all)
        } catch {
            throw FileError(.damagedFile, path: "", "the settings of two groups cannot be merged: \(error)")
        }
    }

    /// The settings in a file; nil if the file is not a property list within the limits.
    private static func values(_ bytes: [UInt8]) -> [String: PropertyListValue]? {
        try? BoundedPropertyList.decode([String: PropertyListValue].self, from: Data(bytes))
    }

    private static func encoded(_ values: [String: PropertyListValue]) throws -> [UInt8] {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .xml
        return [UInt8](try encoder.encode(values))
    }
}
