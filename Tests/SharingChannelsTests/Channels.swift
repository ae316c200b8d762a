import SharingChannels
import DeviceSimulation
import TestSupport
import Testing

/// Every channel that there is, and the fallback over all of them as one more.
let channels: [ChannelFactory] = {
    let single = ChannelFactory.all(runtimeDirectory: nil)
    let fallback = ChannelFactory(
        "fallback", prepare: { ends in for channel in single { try channel.prepare(ends) } },
        make: { ends in FallbackChannel(try single.map { try $0.make(ends) }) })
    return single + [fallback]
}()

extension ChannelFactory: CustomTestStringConvertible {
    /// The name of the channel, for the list of test cases.
    package var testDescription: String { name }

    /// Prepares and makes the channel between `ends` for `body`, and ends what runs for it afterwards.
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
