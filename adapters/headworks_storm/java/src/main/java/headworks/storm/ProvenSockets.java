package headworks.storm;

import headworks.storm.peer.Proof;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.channels.SocketChannel;
import javax.net.SocketFactory;

/**
 * Sockets to a process that has proved that it knows the token; they close when their thread is interrupted.
 *
 * A plain socket ignores interrupts, and has no deadline for writing: a stopped Python process would hold the thread.
 */
final class ProvenSockets extends SocketFactory {
    private final Endpoint endpoint;
    private final int millis;

    ProvenSockets(Endpoint endpoint, int millis) {
        this.endpoint = endpoint;
        this.millis = millis;
    }

    @Override
    public Socket createSocket(InetAddress address, int port) throws IOException {
        SocketChannel channel = SocketChannel.open();
        try {
            Socket socket = channel.socket();
            socket.setTcpNoDelay(true);
            socket.connect(new InetSocketAddress(address, port), millis);
            socket.setSoTimeout(millis);
            Proof.exchange(socket.getInputStream(), socket.getOutputStream(), endpoint.token, "" + port, "nimbus");
            return socket;
        } catch (IOException | RuntimeException e) {
            channel.close();
            throw e;
        }
    }

    @Override
    public Socket createSocket(String host, int port) throws IOException {
        return createSocket(InetAddress.getByName(host), port);
    }

    @Override
    public Socket createSocket(String host, int port, InetAddress from, int fromPort) {
        throw new UnsupportedOperationException();
    }

    @Override
    public Socket createSocket(InetAddress address, int port, InetAddress from, int fromPort) {
        throw new UnsupportedOperationException();
    }
}
