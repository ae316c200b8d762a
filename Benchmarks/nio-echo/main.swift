import NIOCore
import NIOPosix

// usage: nio-echo PATH. Echoes all bytes on a Unix domain socket, to measure the cost of SwiftNIO's event
// loop without any other work. It has the same setup as the provider's server.

final class Echo: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        context.writeAndFlush(data, promise: nil)
    }
}

let path = CommandLine.arguments.last ?? ""
let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
let channel = try await ServerBootstrap(group: group)
    .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(Echo()) }
    }
    .childChannelOption(.maxMessagesPerRead, value: 1)
    .childChannelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: 8_192))
    .bind(unixDomainSocketPath: path).get()
try await channel.closeFuture.get()
