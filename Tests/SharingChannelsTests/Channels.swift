import SharingChannels
import DeviceSimulation
import TestSupport
import Testing

/// The factories of all channels.
let channels = ChannelFactory.all(runtimeDirectory: nil)

extension ChannelFactory: CustomTestStringConvertible {
    /// The name of the channel, for the list of test cases.
    package var testDescription: String { name }

    /// Prepares and creates the channel between `ends`, runs `body`, and stops the channel.
    func use(between ends: ChannelEndpoints, _ body: (any SharingChannel) async throws -> Void) async throws {
        try prepare(ends)
        let channel = try make(ends)
        do {
            try await body(channel)
        } catch {
            await channel.stop()
            throw error
        }
        await channel.stop()
    }
}
