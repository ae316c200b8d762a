"""A program that loads the PKCS #11 module, and a provider that returns false replies, in one process. The row
`module-lies` and tests run it as a separate process, because a crash of the module is a crash of the program.

usage: pkcs11_lies.py MODULE LIE|list|all

It prints one line, and exits with 0 if the module rejects the false reply and does not change the program's memory.
"""
import ctypes
import os
import struct
import sys
import tempfile
import time

import pkcs11_provider as wire
from pkcs11_caller import DECRYPT, ECDSA_SHA256, OK, PRIVATE_KEY, RSA_PKCS, SHA256_RSA_PKCS, ULONG, Mechanism, Module, need, number, template
from pkcs11_provider import Provider, frame, identity, octets
from pkcs11_rules import Agreement

DEVICE_ERROR, DEVICE_REMOVED, NOT_PRESENT, GENERAL_ERROR = 0x30, 0x32, 0xE0, 5
GUARD = 0xAA


class Program:
    """The module, with the given provider."""

    def __init__(self, module, provider, **variables):
        self.module = module
        os.environ.update({"KEYSHARE_SOCKET": provider.path, **variables})
        module.need("C_Initialize", None)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.module.need("C_Finalize", None)
        for name in ["KEYSHARE_PKCS11_SLOTS", "KEYSHARE_PKCS11_LOG", "KEYSHARE_PKCS11_TYPES"]:
            os.environ.pop(name, None)

    def search(self):
        """The return code of a search, which reads the list of objects."""
        session = ULONG()
        code = self.module.C_OpenSession(0, 4, None, None, ctypes.byref(session))
        return code or self.module.C_FindObjectsInit(session.value, None, 0)

    def key(self, session, kind, can=0x108):
        return self.module.find(session, (0, number(PRIVATE_KEY)), (0x100, number(kind)), (can, b"\1"))[0]

    def result(self, function, *arguments, expected):
        """Calls a function that writes a result, and checks that all bytes after the result are unchanged."""
        buffer, length = ctypes.create_string_buffer(bytes([GUARD]) * 70_000, 70_000), ULONG(expected)
        code = getattr(self.module, function)(*arguments, buffer, ctypes.byref(length))
        written = length.value if code == OK else 0
        need(written <= expected, f"{function} returned {written} bytes")
        need(set(buffer.raw[written:]) == {GUARD}, f"{function} wrote past its result")
        return code

    def sign(self, mechanism=SHA256_RSA_PKCS, kind=0, size=256, parts=0):
        session = self.module.open()
        self.module.need("C_SignInit", session, ctypes.byref(Mechanism(mechanism, None, 0)), self.key(session, kind))
        for _ in range(parts):
            self.module.need("C_SignUpdate", session, bytes(50_000), 50_000)
        if parts:
            return self.result("C_SignFinal", session, expected=size)
        return self.result("C_Sign", session, b"abc", 3, expected=size)

    def decrypt(self):
        session = self.module.open()
        key = self.key(session, 0, DECRYPT)
        self.module.need("C_DecryptInit", session, ctypes.byref(Mechanism(RSA_PKCS, None, 0)), key)
        return self.result("C_Decrypt", session, bytes(256), 256, expected=245)

    def derive(self, derivation=1, length=None):
        session = self.module.open()
        key = self.key(session, 3, 0x10C)
        point = ctypes.create_string_buffer(wire.POINT[2:], 65)
        passed = Agreement(derivation, 0, None, 65, ctypes.cast(point, ctypes.c_void_p))
        mechanism = Mechanism(0x1050, ctypes.cast(ctypes.byref(passed), ctypes.c_void_p), ctypes.sizeof(passed))
        wanted = [(0x161, number(length))] if length else []
        return self.module.C_DeriveKey(session, ctypes.byref(mechanism), key, template(*wanted), len(wanted), ctypes.byref(ULONG()))


def results(count):
    return {"result": lambda self: b"s" * count}


def uses(make):
    return {"used": lambda self, peer, kind, request, body: make(peer, kind, request)}


def pages(make):
    return {"page": lambda self, body: make(self, body)}


def objects(**fields):
    return {"page": lambda self, body: Provider.page(self, body, identities=[identity(1, **fields)])}


def truncated(peer, kind, request):
    peer.sendall(frame(kind | 0x80, request, b"s" * 256)[:50])


def drip(peer, kind, request):
    for byte in frame(kind | 0x80, request, b"s" * 256):
        peer.sendall(bytes([byte]))
        time.sleep(0.1)
    return b""


def search(program):
    return program.search()


def sign(program):
    return program.sign()


# The name, the methods that a provider replaces, the call, and the correct results.
LIES = {
    "signature-long": (results(60_000), sign, DEVICE_ERROR),
    "signature-one-byte-long": (results(257), sign, DEVICE_ERROR),
    "signature-one-byte-short": (results(255), sign, DEVICE_ERROR),
    "signature-empty": (results(0), sign, DEVICE_ERROR),
    "signature-of-a-curve-long": (results(65), lambda p: p.sign(ECDSA_SHA256, 3, 64), DEVICE_ERROR),
    "signature-of-parts-long": (results(60_000), lambda p: p.sign(parts=3), DEVICE_ERROR),
    "signature-beyond-the-key": (
        {**objects(bits=1_024), **results(256)}, lambda p: p.sign(size=128), DEVICE_ERROR),
    "plaintext-long": (results(246), lambda p: p.decrypt(), DEVICE_ERROR),
    "plaintext-very-long": (results(60_000), lambda p: p.decrypt(), DEVICE_ERROR),
    "plaintext-twice": (
        uses(lambda p, k, r: frame(k | 0x80, r, b"s" * 100) * 2), lambda p: p.decrypt(), DEVICE_ERROR),
    "secret-short": (results(31), lambda p: p.derive(), DEVICE_ERROR),
    "secret-long": (results(33), lambda p: p.derive(), DEVICE_ERROR),
    "secret-long-for-its-template": (results(40), lambda p: p.derive(length=16), DEVICE_ERROR),
    "derived-secret-long": (results(60_000), lambda p: p.derive(derivation=6, length=40), DEVICE_ERROR),
    "frame-truncated": (uses(truncated), sign, DEVICE_REMOVED),
    "frame-of-4-gigabytes": (uses(lambda p, k, r: b"\xff\xff\xff\xff" + frame(k | 0x80, r)[4:]), sign, DEVICE_ERROR),
    "frame-beyond-the-buffer": (
        uses(lambda p, k, r: struct.pack(">IBI", 65_533, k | 0x80, r) + b"s" * 65_528), sign, DEVICE_ERROR),
    "frame-without-a-header": (uses(lambda p, k, r: b"\0\0\0\4" + bytes(4)), sign, DEVICE_ERROR),
    "frame-of-a-type": (uses(lambda p, k, r: b"\0\0\0\1\xff"), sign, DEVICE_ERROR),
    "frame-twice": (uses(lambda p, k, r: frame(k | 0x80, r, b"s" * 256) * 2), sign, DEVICE_ERROR),
    "frame-byte-by-byte": (uses(drip), sign, DEVICE_ERROR),
    "type-of-another-reply": (uses(lambda p, k, r: frame(0x95, r, b"s" * 256)), sign, DEVICE_ERROR),
    "type-of-a-request": (uses(lambda p, k, r: frame(k, r, b"s" * 256)), sign, DEVICE_ERROR),
    "number-of-another-request": (uses(lambda p, k, r: frame(k | 0x80, r + 1, b"s" * 256)), sign, DEVICE_ERROR),
    "failure-of-another-request": (
        uses(lambda p, k, r: frame(0xFF, r + 1, b"\0\3" + octets(b"no"))), sign, DEVICE_ERROR),
    "failure-cut": (uses(lambda p, k, r: frame(0xFF, r, b"\0\x0b\xff\xff")), sign, DEVICE_ERROR),
    "failure-unknown": (uses(lambda p, k, r: frame(0xFF, r, b"\x77\x77" + octets(b"?"))), sign, GENERAL_ERROR),
    "key-of-0-bits": (objects(bits=0), search, DEVICE_ERROR),
    "key-of-16385-bits": (objects(bits=16_385), search, DEVICE_ERROR),
    "key-of-no-kind": (objects(kind=3), search, DEVICE_ERROR),
    "count-too-high": (pages(lambda s, b: Provider.page(s, b, count=65_535)), search, DEVICE_ERROR),
    "count-too-low": (pages(lambda s, b: Provider.page(s, b, count=1)), search, DEVICE_ERROR),
    "page-with-a-byte-more": (pages(lambda s, b: Provider.page(s, b) + b"\0"), search, DEVICE_ERROR),
    "page-flag-of-2": (pages(lambda s, b: Provider.page(s, b)[:-1] + b"\2"), search, DEVICE_ERROR),
    "pages-empty-without-end": (
        pages(lambda s, b: Provider.page(s, b, identities=[], cursor=b"c")), search, DEVICE_ERROR),
    "pages-of-many-lists": (
        pages(lambda s, b: Provider.page(s, b, change=s.requests, cursor=b"c")), search, DEVICE_ERROR),
    "identities-without-end": (
        pages(lambda s, b: Provider.page(s, b, identities=[identity(s.requests, certificate=b"")] * 100, cursor=b"c")),
        search, DEVICE_ERROR),
    "certificates-of-a-gigabyte": (
        pages(lambda s, b: Provider.page(s, b, identities=[identity(s.requests, certificate=b"c" * 60_000)], cursor=b"c")),
        search, DEVICE_ERROR),
    "login-of-no-mode": ({"login": bytes([9, 2, 3]) + octets(b"")}, search, DEVICE_ERROR),
    "ticket-of-15-bytes": ({"login": bytes([0, 2, 3]) + octets(bytes(15))}, search, DEVICE_ERROR),
    "version-of-the-past": ({"version": 1}, search, NOT_PRESENT),
    "features-missing": ({"features": [b"token"]}, search, NOT_PRESENT),
    "status-cut": ({"status": lambda self: bytes(20)}, search, NOT_PRESENT),
}


def peak():
    """The peak memory of this process, in kilobytes."""
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))


def check(module, name):
    replaced, call, expected = LIES[name]
    with tempfile.TemporaryDirectory() as folder:
        provider = type("Liar", (Provider,), replaced)(folder)
        before, begun = peak(), time.monotonic()
        with Program(module, provider) as program:
            code = call(program)
            need(code == expected, f"{name}: 0x{code:x}, expected 0x{expected:x}")
        need(name != "identities-without-end" or provider.requests < 250, f"{name}: {provider.requests} requests")
        grown, taken = peak() - before, time.monotonic() - begun
        need(grown < 200_000, f"{name}: the program grew by {grown} KB")
        need(taken < 20, f"{name}: {taken:.1f} s")
        # The module must work with a correct provider after the false reply.
        os.unlink(provider.path)
        with Program(module, Provider(folder)) as program:
            need(program.sign() == OK, f"{name}: the module does not work afterwards")


if __name__ == "__main__":
    if sys.argv[2] == "list":
        print(" ".join(LIES))
    else:
        loaded = Module(sys.argv[1])
        for lie in LIES if sys.argv[2] == "all" else sys.argv[2:]:
            check(loaded, lie)
        print(f"{len(LIES)} lies" if sys.argv[2] == "all" else "refused")
