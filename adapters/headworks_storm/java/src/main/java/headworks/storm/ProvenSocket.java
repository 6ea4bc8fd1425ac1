package headworks.storm;

import headworks.storm.peer.Proof;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.channels.SocketChannel;

/**
 * A socket to a process that has proved that it knows the token; it closes when its thread is interrupted.
 *
 * A plain socket ignores interrupts, and has no deadline for writing: a stopped Python process would hold the thread.
 */
final class ProvenSocket {
    private ProvenSocket() {
    }

    static Socket open(Endpoint endpoint, int millis) throws IOException {
        SocketChannel channel = SocketChannel.open();
        try {
            Socket socket = channel.socket();
            socket.setTcpNoDelay(true);
            socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), endpoint.port), millis);
            socket.setSoTimeout(millis);
            Proof.exchange(socket.getInputStream(), socket.getOutputStream(), endpoint.token, "" + endpoint.port, "nimbus");
            return socket;
        } catch (IOException | RuntimeException e) {
            channel.close();
            throw e;
        }
    }
}
