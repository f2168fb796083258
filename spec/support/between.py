"""between.py -- the base of proxies between a client and a server of this machine: each client is connected to the
server."""
import socket
import threading


class Between:
    """Subclasses handle each pair of connections in met(client, server), which must not take long."""

    def __init__(self, target):
        self.target = target
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client = self.listener.accept()[0]
            try:
                server = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                client.close()
                continue
            for end in (client, server):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.met(client, server)

    def in_background(self, work, *args):
        threading.Thread(target=work, args=args, daemon=True).start()
