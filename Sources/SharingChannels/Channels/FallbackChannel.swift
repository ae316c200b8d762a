package import Diagnostics
package import DeviceSimulation
package import Foundation

/// A channel over several others: it uses the first one that is open.
package struct FallbackChannel: SharingChannel {
    /// The channel's name, `fallback`.
    package let name = "fallback"
    private let channels: [any SharingChannel]

    /// Makes a channel over `channels`, the preferred one first.
    package init(_ channels: [any SharingChannel]) {
        self.channels = channels
    }

    /// Sends on the first channel that is open, and removes earlier credentials from the others.
    ///
    /// - Throws: `SharingChannelError`: `noChannel` where none is open, with the last channel's error as its cause; the
    ///   error of a channel on which an earlier credential stays. The new credential is on no channel then.
    package func send(_ credential: Credential, now: Date) async throws(SharingChannelError) {
        _ = try await sendNamingChannel(credential, now: now)
    }

    /// Sends as `send(_:now:)` does, and says on which channel.
    ///
    /// - Returns: The name of the channel that was used.
    /// - Throws: `SharingChannelError`: `noChannel` where none is open, with the last channel's error as its cause; the
    ///   error of a channel on which an earlier credential stays.
    package func sendNamingChannel(
        _ credential: Credential, now: Date
    ) async throws(SharingChannelError) -> String {
        var last: SharingChannelError?
        for (index, channel) in channels.enumerated() {
            do throws(SharingChannelError) {
                try await channel.send(credential, now: now)
            } catch {
                last = error
                continue
            }
            // An earlier credential on another channel could be received in place of this one, now or later.
            do throws(SharingChannelError) {
                try await remove(except: index)
            } catch {
                try? await channel.remove()
                throw error
            }
            return channel.name
        }
        throw SharingChannelError(
            .noChannel, "none of \(channels.count) channels is open: \(last?.reason ?? "there is none")",
            cause: last)
    }

    /// Tries each channel, the preferred one first, and returns the first credential that one gives.
    ///
    /// - Throws: `SharingChannelError`: `noChannel` where no channel is open to `app`; otherwise, where no channel gives a
    ///   credential, the error of the first one that holds a credential and does not give it.
    package func receive(
        by app: App, now: Date, consent: (ConsentQuestion) throws -> Bool
    ) async throws(SharingChannelError) -> Credential? {
        // The first error of a channel that is open, and the first of one that is closed to the app.
        var failure: SharingChannelError?
        var closed: SharingChannelError?
        var isAnyOpen = false
        for channel in channels {
            do throws(SharingChannelError) {
                if let credential = try await channel.receive(by: app, now: now, consent: consent) {
                    return credential
                }
                isAnyOpen = true
            } catch {
                switch error.code {
                case .missingEntitlement, .notPaired, .notPermitted: closed = closed ?? error
                default: failure = failure ?? error
                }
            }
        }
        if let failure { throw failure }
        if isAnyOpen { return nil }
        throw SharingChannelError(
            .noChannel, "none of \(channels.count) channels is open: \(closed?.reason ?? "there is none")",
            cause: closed)
    }

    /// Removes the credential from every channel that is open.
    ///
    /// - Throws: The `SharingChannelError` of the first channel on which it stays. All channels are tried first.
    package func remove() async throws(SharingChannelError) {
        try await remove(except: nil)
    }

    private func remove(except kept: Int?) async throws(SharingChannelError) {
        var first: SharingChannelError?
        for (index, channel) in channels.enumerated() where index != kept {
            do throws(SharingChannelError) {
                try await channel.remove()
            } catch {
                // A channel that the sender is not entitled to holds nothing of the sender.
                if error.code != .missingEntitlement { first = first ?? error }
            }
        }
        if let first { throw first }
    }

    /// Ends what runs for any of the channels.
    package func stop() async {
        for channel in channels { await channel.stop() }
    }
}
