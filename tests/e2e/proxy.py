"""A bad network: a unix socket that passes requests on to another one, or does something to them."""

import queue
import socket
import threading


def read_message(connection):
    """A whole request, or what came before the other end closed."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(65536)
        if not piece:
            return data
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    length = next(int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
    while len(body) < length:
        body += connection.recv(65536)
    return head + b"\r\nConnection: close\r\n\r\n" + body


class Proxy:
    """`plan` says what becomes of the next requests; those after it are passed on.

    cut: closed before the request goes on; drop: the response is dropped; block: the response is kept until
    the sender gives up or release() is called, and then thrown away.
    """

    def __init__(self, front, back, plan=()):
        self.back = str(back)
        self.plan = list(plan)
        self.done = []
        self.answered = queue.Queue()  # what the receiver answered, before anything is done to it
        self.released = threading.Event()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(front))
        self.listener.listen(64)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return  # closed
            what = self.plan.pop(0) if self.plan else "pass"
            self.done.append(what)
            threading.Thread(target=self.serve, args=(connection, what), daemon=True).start()

    def serve(self, connection, what):
        with connection:
            try:
                request = read_message(connection)
                if what == "cut" or not request:
                    return
                answer = self.ask(request)
                self.answered.put(answer)
                if what == "pass":
                    connection.sendall(answer)
                if what == "block":
                    watcher = threading.Thread(target=self.watch, args=(connection,), daemon=True)
                    watcher.start()
                    self.released.wait()
                    connection.shutdown(socket.SHUT_RDWR)
                    watcher.join()
            except OSError:
                pass  # one side died

    def watch(self, connection):
        """The sender gives up: it closes, or is reset."""
        try:
            connection.recv(1)
        except OSError:
            pass
        self.released.set()

    def ask(self, request):
        with socket.socket(socket.AF_UNIX) as receiver:
            receiver.connect(self.back)
            receiver.sendall(request)
            answer = b""
            while piece := receiver.recv(65536):
                answer += piece
            return answer

    def release(self):
        self.released.set()

    def close(self):
        self.release()
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
