package import PrivateFiles
private import Foundation

/// A setting: its name, what it is when nobody set it, and what it may be.
package struct DefaultsKey<Value: Codable & Sendable>: Sendable {
    /// Names it in the suite.
    package let name: String
    /// What holds when there is no value, or none that is any good.
    package let fallback: Value
    /// Whether a value may be used.
    package let isValid: @Sendable (Value) -> Bool

    /// A setting of a type that a property list can hold.
    package init(
        _ name: String, fallback: Value, isValid: @escaping @Sendable (Value) -> Bool = { _ in true }
    ) {
        self.name = name
        self.fallback = fallback
        self.isValid = isValid
    }
}

/// Where the value of a setting comes from.
package enum DefaultsSource: Sendable, Hashable {
    /// It was set.
    case stored
    /// Nobody set it; it is the fallback.
    case absent
    /// What was set is of another type; it is the fallback.
    case wrongType
    /// What was set may not be used; it is the fallback.
    case invalid
    /// The suite's file is no property list; it is the fallback.
    case damagedFile
}

/// The settings that the apps of a group share: a property list in their container.
package struct GroupDefaults: Sendable {
    static let fileName = "defaults.plist"
    private let group: AppGroup

    /// The suite of `group`.
    package init(_ group: AppGroup) {
        self.group = group
    }

    /// The value of `key`, the fallback where there is none that is any good.
    ///
    /// - Throws: `DeviceError` when the suite's file cannot be read.
    package subscript<Value>(key: DefaultsKey<Value>) -> Value {
        get throws(FileError) { try look(up: key).value }
    }

    /// The value of `key`, and where it comes from.
    ///
    /// - Throws: `DeviceError` when the suite's file cannot be read.
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

    /// Sets `key`; nil takes its value away. Other apps' settings stay as they are.
    ///
    /// - Throws: `DeviceError`: `.invalidValue` when the key does not allow the value, or a property list
    ///   cannot hold it; what was set stays then.
    package func set<Value>(_ key: DefaultsKey<Value>, to value: Value?) throws {
        var object: Any?
        if let value {
            // A list of one, because a property list's root may not be a mere number.
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

    /// The settings `theirs` added to `ours`: those that we lack, and those that we took from there before and
    /// have left alone since. What is no list of settings gives way to what is one.
    ///
    /// - Parameter taken: what was taken from there before.
    /// - Throws: `DeviceError`: `.damagedFile` when the whole cannot be written down.
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
        // Unsafe only by its last argument, a pointer, which is nil.
        unsafe try? PropertyListSerialization.propertyList(from: data, format: nil)
    }
}
