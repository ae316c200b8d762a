#!/usr/bin/env python3
"""A second client of the provider's socket, written only from Protocol.md.

    scripts/toolbox/client.py SOCKET list [CONTAINER]
    scripts/toolbox/client.py SOCKET fetch ITEM BYTES-FILE PASSWORD-FILE

It shares no code with the Swift client, so they can agree only on what the document specifies. fetch writes
the item's bytes and its password into two files of mode 0600, never to the terminal.
"""
import os
import socket
import struct
import sys

SERVICE = "red.hound.KeySharingPassword-v1.0.0"
CHUNK = 61_440
LONGEST_REPLY = 65_536

# The types of requests; the type of a reply also has 0x80 set.
HELLO, ENUMERATE, ITEM, SERVICES, START_ACCESSING, READ, FETCH_PASSWORD, STOP_ACCESSING = range(1, 9)
TOKENS, USE, USE_BEGIN, USE_UPDATE, USE_END = range(0x0E, 0x13)
IS_REPLY, FAILURE = 0x80, 0xFF


class Failure(Exception):
    """A failure reply from the provider (code and message), or a reply that violates the protocol."""


def text(value):
    data = value.encode()
    return struct.pack(">H", len(data)) + data


def texts(values):
    return struct.pack(">H", len(values)) + b"".join(map(text, values))


def optional_text(value):
    return b"\0" if value is None else b"\1" + text(value)


def frame(kind, request, body):
    """A message of that type and with that request number, as it goes over the socket."""
    return struct.pack(">IBI", len(body) + 5, kind, request) + body


def hello(name, services=(), newest=1):
    """The body of a hello that offers the versions of the protocol from 1 to the newest."""
    return struct.pack(">HH", 1, newest) + text(name) + texts(services)


def enumerate_body(container, cursor=None):
    """The body of an enumerate for a page of as many items as the provider chooses."""
    return text(container) + optional_text(cursor) + struct.pack(">H", 0)


def read_body(identifier, offset):
    """The body of a read for the longest chunk from that offset."""
    return text(identifier) + struct.pack(">QI", offset, CHUNK)


def password_body(identifier):
    """The body of a fetchPassword."""
    return text(SERVICE) + text(identifier)


class Reader:
    """The fields of a message's body, taken one after the other. Raises `EOFError` at a field that is cut off."""

    def __init__(self, body):
        self.body, self.at = body, 0

    def take(self, count):
        if self.at + count > len(self.body):
            raise EOFError("the message ends inside a field")
        self.at += count
        return self.body[self.at - count:self.at]

    def number(self, form):
        return struct.unpack(">" + form, self.take(struct.calcsize(">" + form)))[0]

    def text(self):
        return self.take(self.number("H")).decode()

    def list(self, read):
        return [read() for _ in range(self.number("H"))]

    def optional(self, read):
        return read() if self.number("B") == 1 else None

    def item(self):
        return {
            "identifier": self.text(), "filename": self.text(),
            "kind": {1: "pkcs12", 2: "folder", 3: "zip"}[self.number("B")],
            "type": self.text(), "parent": self.text(),
            "size": self.optional(lambda: self.number("Q")), "created": self.number("q"),
        }


def use_body(label, operation, algorithm, data=b""):
    """The body of a use: 1 signs, 2 decrypts, 3 agrees on a secret; without parameters."""
    return text(label) + struct.pack(">B", operation) + text(algorithm) + struct.pack(">H", 0) + data


class Client:
    """A greeted connection to a provider of this process's user, in version 1 of the protocol."""

    NEWEST = 1

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        # With a timeout, connect(2) would fail if the provider's queue is full.
        self.socket.connect(path)
        self.socket.settimeout(60)
        credentials = self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        if struct.unpack("iII", credentials)[1] != os.geteuid():
            raise PermissionError("another user serves this socket")
        self.last = 0
        reply = self.ask(HELLO, hello("client.py", [SERVICE], self.NEWEST))
        if reply.number("H") != self.NEWEST:
            raise Failure("the provider chose a version that was not offered")
        self.welcome(reply)

    def welcome(self, reply):
        """Decodes the fields that follow the version in the reply to the hello."""

    def close(self):
        self.socket.close()

    def exactly(self, count):
        data = b""
        while len(data) < count:
            part = self.socket.recv(count - len(data))
            if not part:
                raise EOFError("the provider closed the connection")
            data += part
        return data

    def ask(self, kind, body):
        """The body of the reply to a request. Raises `Failure`."""
        self.last += 1
        self.socket.sendall(frame(kind, self.last, body))
        length = struct.unpack(">I", self.exactly(4))[0]
        if not 5 <= length <= LONGEST_REPLY - 4:
            raise Failure(f"a reply of {length} bytes")
        kind_of_reply, request = struct.unpack(">BI", self.exactly(5))
        reply = Reader(self.exactly(length - 5))
        if kind_of_reply == FAILURE:
            raise Failure(f"{reply.number('H')}: {reply.text()}")
        if kind_of_reply != kind | IS_REPLY or request != self.last:
            raise Failure("the reply does not match the request")
        return reply

    def page(self, container="root", cursor=None):
        """Items of a container, and the cursor of its next page; None at the end."""
        reply = self.ask(ENUMERATE, enumerate_body(container, cursor))
        return reply.list(reply.item), reply.optional(reply.text)

    def items(self, container="root"):
        """All items of a container."""
        cursor = None
        while True:
            items, cursor = self.page(container, cursor)
            yield from items
            if cursor is None:
                return

    def password(self, identifier):
        """The password for an item to which access has begun."""
        reply = self.ask(FETCH_PASSWORD, password_body(identifier))
        return reply.take(reply.number("H"))

    def fetch(self, identifier):
        """The bytes and the password of an item; access to it is begun and ended."""
        self.ask(START_ACCESSING, text(identifier))
        services = self.ask(SERVICES, text(identifier))
        if SERVICE not in services.list(services.text):
            raise Failure("the item has no password service")
        password = self.password(identifier)
        content, total = b"", None
        while total is None or len(content) < total:
            chunk = self.ask(READ, read_body(identifier, len(content)))
            total = chunk.number("Q")
            part = chunk.body[chunk.at:]
            if not part and len(content) < total:
                raise EOFError("the content is truncated")
            content += part
        self.ask(STOP_ACCESSING, text(identifier))
        return content, password


def write(path, data):
    """Writes a file that only its owner can read."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(data)


class TokenClient(Client):
    """A greeted connection in version 2 of the protocol, which uses the provider's persistent tokens."""

    NEWEST = 2

    def welcome(self, reply):
        reply.text()
        reply.list(reply.text)
        self.longest_request = reply.number("I")
        if "token" not in reply.list(reply.text):
            raise Failure("the provider has no persistent token")

    def token(self, reply):
        identifier, label, name = reply.text(), reply.text(), reply.text()
        certificate = reply.take(reply.number("H"))
        kind, bits, properties = reply.number("B"), reply.number("H"), reply.number("B")
        return {"token": identifier, "label": label, "name": name, "certificate": certificate, "kind": kind,
                "bits": bits, "signs": bool(properties & 1), "decrypts": bool(properties & 2)}

    def tokens(self):
        """All tokens, page after page."""
        found, cursor = [], None
        while True:
            reply = self.ask(TOKENS, optional_text(cursor) + struct.pack(">H", 0))
            reply.number("Q")
            found += reply.list(lambda: self.token(reply))
            cursor = reply.optional(reply.text)
            if cursor is None:
                return found

    def use(self, label, operation, algorithm, data):
        """The result of a use of a key: signature, plaintext or secret."""
        reply = self.ask(USE, use_body(label, operation, algorithm, data))
        return reply.body

    def sign_in_parts(self, label, algorithm, parts):
        """The signature over a message that is sent part by part."""
        handle = struct.pack(">I", self.ask(USE_BEGIN, use_body(label, 1, algorithm)).number("I"))
        for part in parts:
            self.ask(USE_UPDATE, handle + part)
        return self.ask(USE_END, handle).body


def main(arguments):
    match arguments:
        case [path, "list", *container] if len(container) < 2:
            for item in Client(path).items(*container):
                print(item["identifier"], item["kind"], item["type"], item["filename"], sep="\t")
        case [path, "fetch", item, bytes_file, password_file]:
            content, password = Client(path).fetch(item)
            write(bytes_file, content)
            write(password_file, password)
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (Failure, OSError, EOFError) as error:
        sys.exit(f"client.py: {error}")
