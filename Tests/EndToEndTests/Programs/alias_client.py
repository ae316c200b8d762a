"""alias_client.py SOCKET APP FILE: queries, chooses the first signature alias, and signs FILE, as documented in Protocol.md."""
import base64
import socket
import struct
import sys


def text(value):
    data = value.encode()
    return struct.pack(">H", len(data)) + data


def texts(values):
    return struct.pack(">H", len(values)) + b"".join(map(text, values))


def optional(value):
    return b"\0" if value is None else b"\1" + text(value)


class Reader:
    def __init__(self, data):
        self.data = data

    def take(self, count):
        part, self.data = self.data[:count], self.data[count:]
        return part

    def text(self):
        return self.take(self.number(2)).decode()

    def number(self, size):
        return int.from_bytes(self.take(size), "big")

    def texts(self):
        return [self.text() for _ in range(self.number(2))]


def request(kind, body):
    connection.sendall(struct.pack(">IBI", len(body) + 5, kind, 1) + body)
    reply = Reader(stream.read(int.from_bytes(stream.read(4), "big")))
    if reply.number(1) != kind | 0x80:
        sys.exit(f"refused: {reply.data}")
    reply.take(4)
    return reply


path, app, file = sys.argv[1:]
connection = socket.socket(socket.AF_UNIX)
connection.connect(path)
stream = connection.makefile("rb")
request(0x01, struct.pack(">HH", 1, 2) + text(app) + texts([]))
page = request(0x17, text(app) + texts(["alias", "certificate", "type"]) + optional(None))
page.take(8), page.texts()
rows = [page.texts() for _ in range(page.number(2))]
alias, certificate, _ = next(row for row in rows if row[2] == "Digital Signature")
chosen = request(0x18, text(app) + optional(alias) + texts(["RSA"]) + b"\0\0" + optional(None) + b"\0")
assert chosen.take(1) == b"\1" and chosen.text() == alias
use = text("keychain:" + alias) + b"\1" + text("RSASignatureMessagePKCS1v15SHA256") + b"\0\0" + open(file, "rb").read()
print(base64.b64encode(request(0x0F, use).data).decode(), len(base64.b64decode(certificate)))
