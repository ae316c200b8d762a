package import CommandSupport
internal import Foundation

/// Events that a page has saved, to be shown again without a device.
package struct Recording: Codable, Sendable {
    /// What the file says it is.
    package let format: String
    /// The version of the format.
    package let version: Int
    /// The events, in their order.
    package let events: [SharingEvent]

    private static let name = "keyshare-recording"

    /// Reads a recording.
    ///
    /// - Throws: `CommandFailure`: 5 for a file that is none, 74 where it cannot be read, 10 where it is too large.
    package init(file: String) throws(CommandFailure) {
        let bytes = try InputFile.read(file, limit: WebLimits.recording)
        guard let recording = try? JSONDecoder().decode(Recording.self, from: Data(bytes)),
            recording.format == Self.name, recording.version == 1
        else {
            throw CommandFailure(
                .malformed, "\(file) is no recording of the device\u{2019}s page",
                hint: "save one with the button \u{201C}Save recording\u{201D} of keyshare-device web")
        }
        guard recording.events.count <= WebLimits.recordedEvents else {
            throw CommandFailure(.tooLarge, "\(file) has more than \(WebLimits.recordedEvents) events")
        }
        self = recording
    }
}
