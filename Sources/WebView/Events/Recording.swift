package import CommandSupport
internal import Diagnostics
internal import Foundation

/// Events that a page has saved, for display without a device.
package struct Recording: Codable, Sendable {
    /// The name of the format, which identifies a recording.
    package let format: String
    /// The version of the recording's format.
    package let version: Int
    /// The recorded events, in order.
    package let events: [SharingEvent]

    private static let name = "keyshare-recording"

    /// Reads a recording.
    ///
    /// - Throws: `CommandFailure`: 5 for a file in another format, 74 if it cannot be read, 10 if it is too large.
    package init(file: String) throws(CommandFailure) {
        let bytes = try InputFile.read(file, limit: WebLimits.recording)
        // Decoding a file of many small values needs many times its size in memory.
        guard RecordingSize.isWithinLimits(bytes) else {
            throw CommandFailure(
                .tooLarge, "\(file) is too large for a recording of \(WebLimits.recordedEvents) events")
        }
        guard CombiningMarks.areFew(inJSON: bytes),
            let recording = try? JSONDecoder().decode(Recording.self, from: Data(bytes)),
            recording.format == Self.name, recording.version == 1
        else {
            throw CommandFailure(
                .malformed, "\(file) is not a recording of the device\u{2019}s page",
                hint: "save one with the button \u{201C}Save recording\u{201D} of keyshare-device web")
        }
        guard recording.events.count <= WebLimits.recordedEvents else {
            throw CommandFailure(.tooLarge, "\(file) has more than \(WebLimits.recordedEvents) events")
        }
        self = recording
    }
}

/// Counts the values of a recording before it is decoded.
enum RecordingSize {
    /// The maximum number of structural characters of one event in a recording. An event with every field has fewer
    /// than 32.
    private static let charactersOfEvent = 32
    /// The maximum number of members of one object. An event has 13.
    private static let members = 64
    /// The maximum nesting depth of objects and arrays. An event is an object in an array in an object.
    private static let depth = 8

    /// Whether a JSON text is within the limits of a recording: values, members of an object, and nesting.
    ///
    /// Each value except the first follows one of `[`, `{`, `,` and `:`. Text that is not JSON may pass; the decoder
    /// rejects it.
    static func isWithinLimits(_ bytes: [UInt8], events: Int = WebLimits.recordedEvents) -> Bool {
        // The decoder also reads UTF-16 and UTF-32, whose characters this count cannot follow.
        guard !bytes.contains(0) else { return false }
        var (isString, isEscaped) = (false, false)
        var left = (events + 1) * charactersOfEvent
        var open: [Int] = []
        for byte in bytes {
            if isString {
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isString = false
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isString = true
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                open.append(0)
                left -= 1
            case UInt8(ascii: "]"), UInt8(ascii: "}"): _ = open.popLast()
            case UInt8(ascii: ","): left -= 1
            case UInt8(ascii: ":"):
                left -= 1
                guard let last = open.indices.last else { return false }
                open[last] += 1
                guard open[last] <= members else { return false }
            default: break
            }
            guard left >= 0, open.count <= depth else { return false }
        }
        return true
    }
}
