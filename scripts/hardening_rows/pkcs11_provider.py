"""A provider without keys, for tests of the PKCS #11 module: it returns the replies that a test specifies, correct or not."""
import os
import socket
import struct
import threading

HELLO, USE, USE_BEGIN, USE_UPDATE, USE_END, STATUS, OBJECTS, LOGIN, FAILURE = 1, 0xF, 0x10, 0x11, 0x12, 0x14, 0x15, 0x16, 0xFF
CAN_SIGN, CAN_DECRYPT, CAN_DERIVE, HAS_KEY, IS_AUTHORITY = 1, 2, 4, 8, 16
P256 = bytes.fromhex("06082a8648ce3d030107")
# The generator of P-256 as an OCTET STRING.
POINT = bytes.fromhex(
    "0441046b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296"
    "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5")


def octets(data):
    return struct.pack(">H", len(data)) + data


def frame(kind, request, body=b""):
    return struct.pack(">IBI", len(body) + 5, kind, request) + body


def identity(number=0, label=None, certificate=b"c" * 300, bits=2048, modulus=b"\x80" * 256, kind=1,
             traits=CAN_SIGN | CAN_DECRYPT | HAS_KEY, not_before=0):
    """An object of the list. Kind 2 is an EC key."""
    parts = octets(modulus) + octets(b"\1\0\1") if kind != 2 else octets(P256) + octets(POINT)
    return (octets(b"%064X" % number) + octets(label if label is not None else b"signature Person %d" % number)
            + octets(b"%020d" % number) + octets(certificate) + octets(b"subject") + octets(b"issuer") + octets(b"\2\1\1")
            + octets(b"key %d" % number) + octets(b"abc") + struct.pack(">qqBH", not_before, 2 ** 40, kind, bits)
            + parts + bytes([traits]))


def curve(number, **fields):
    return identity(number, bits=256, kind=2, traits=CAN_SIGN | CAN_DERIVE | HAS_KEY, **fields)


class Provider:
    """Serves on a socket. A subclass or an instance overrides the methods that return replies."""
    version = 2
    features = [b"token", b"token-objects", b"token-login"]
    login = bytes([0, 2, 3]) + octets(b"")
    serial = b"0123456789ABCDEF"
    tokens = 2

    def __init__(self, folder, *identities):
        self.identities = identities or (identity(1), curve(2))
        self.requests = 0
        self.path = os.path.join(folder, "provider.sock")
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen(64)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(peer,), daemon=True).start()

    def serve(self, peer):
        with peer:
            try:
                while len(head := peer.recv(4, socket.MSG_WAITALL)) == 4:
                    body = peer.recv(struct.unpack(">I", head)[0], socket.MSG_WAITALL)
                    self.requests += 1
                    answer = self.answer(peer, body[0], struct.unpack(">I", body[1:5])[0], body[5:])
                    if answer is None:
                        return
                    peer.sendall(answer)
            except OSError:
                pass

    def answer(self, peer, kind, request, body):
        """The bytes to send; None closes the connection."""
        if kind in (USE, USE_END):
            return self.used(peer, kind, request, body)
        replies = {HELLO: self.welcome, STATUS: self.status, LOGIN: lambda: self.login, USE_UPDATE: lambda: b"",
                   USE_BEGIN: lambda: struct.pack(">I", 7), OBJECTS: lambda: self.page(body)}
        return frame(kind | 0x80, request, replies[kind]())

    def welcome(self):
        return (struct.pack(">H", self.version) + octets(b"test") + struct.pack(">HIH", 0, 65_536, len(self.features))
                + b"".join(octets(one) for one in self.features))

    def status(self):
        return struct.pack(">QIBQI", 1, self.tokens, 3, 0, 0) + octets(self.serial)

    def page(self, body, change=1, count=None, cursor=None, identities=None):
        identities = self.identities if identities is None else identities
        return (struct.pack(">Q", change) + octets(b"1234567890")
                + struct.pack(">H", len(identities) if count is None else count) + b"".join(identities)
                + (b"\0" if cursor is None else b"\1" + octets(cursor)))

    def used(self, peer, kind, request, body):
        return frame(kind | 0x80, request, self.result())

    def result(self):
        return b"s" * 256
