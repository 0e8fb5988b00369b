"""A service that sends to pawl, written from the description of the wire alone."""

import base64
import datetime
import hashlib
import hmac
import http.client
import json
import socket
import uuid


def field(text):
    data = text.encode()
    return f"{len(data)}:".encode() + data + b","


def signature(envelope, payload, secret, scheme):
    digest = hashlib.sha256(payload).hexdigest()
    headers = envelope["headers"]
    if scheme == 1:
        data = (envelope["messageId"] + envelope["sourceServiceId"] + envelope["endpoint"] + digest).encode()
    else:
        data = b"".join(map(field, [
            "rf-hmac-2", headers["rf-version"], headers["rf-timestamp"], envelope["messageId"],
            envelope["sourceServiceId"], envelope["messageType"], envelope["endpoint"],
            envelope.get("correlationId") or "", digest]))
    return base64.b64encode(hmac.new(secret.encode(), data, hashlib.sha256).digest()).decode()


def envelope(secret, topic="order", payload='{"n":1}', source="shop", message_id=None, scheme=2, **more):
    """The envelope as bytes. The payload's text is what is signed, so it goes in as it is."""
    now = datetime.datetime.now(datetime.timezone.utc)
    document = {
        "messageId": message_id or str(uuid.uuid4()), "correlationId": None, "sourceServiceId": source,
        "messageType": "Command", "endpoint": topic,
        "headers": {"rf-version": "2.0", "rf-timestamp": now.strftime("%Y-%m-%dT%H:%M:%SZ")}, **more}
    document["headers"]["rf-hmac"] = signature(document, payload.encode(), secret, scheme)
    text = json.dumps(document)
    return (text[:-1] + ', "payload": ' + payload + "}").encode()


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost")
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


def ask(connection, method, path, body=None):
    """Status and document of the answer."""
    connection.request(method, path, body, {"Content-Type": "application/json"} if body else {})
    response = connection.getresponse()
    document = json.loads(response.read())
    connection.close()
    return response.status, document
