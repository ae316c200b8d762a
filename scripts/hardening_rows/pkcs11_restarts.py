"""A program that calls the PKCS #11 module in a loop, while a test row kills and restarts the provider. A row of
`pkcs11.py` runs it as a separate process.

usage: pkcs11_restarts.py MODULE KIND

It prints `ready`, runs until a line arrives on standard input, and prints one line. Every call succeeds, or is rejected
with a number that describes the error; all handles remain valid.
"""
import ctypes
import secrets
import sys
import threading
import time

from pkcs11_caller import (
    DECRYPT, ECDH, OK, PUBLIC_KEY, RSA_PKCS, SECRET_KEY, SHA256_RSA_PKCS, ULONG, Attribute, Mechanism, Module, Verifier,
    need, number, still_works, template)

# CKR_DEVICE_ERROR, CKR_DEVICE_REMOVED, CKR_TOKEN_NOT_PRESENT
REFUSALS = {0x30, 0x32, 0xE0}


class DeriveParameters(ctypes.Structure):
    _fields_ = [("kdf", ULONG), ("info_length", ULONG), ("info", ctypes.c_void_p), ("point_length", ULONG),
                ("point", ctypes.c_void_p)]


class Calls:
    """The kinds of call. Each returns the module's return value, and also checks the output."""

    def __init__(self, module, session):
        self.module, self.session = module, session
        self.key = module.key(session)
        self.verifier = Verifier(module, session, self.key)
        self.sealing = module.key(session, 0, DECRYPT)
        self.seal = Verifier(module, session, self.sealing)
        self.curve = module.key(session, 3, 0x10C)
        curve_id = module.attribute(session, self.curve, 0x102)
        public = module.find(session, (0, number(PUBLIC_KEY)), (0x102, curve_id))[0]
        self.point = ctypes.create_string_buffer(module.attribute(session, public, 0x181))
        self.secret = None

    def sign(self):
        answer = self.module.sign(self.session, self.key, SHA256_RSA_PKCS, b"restart")
        if not isinstance(answer, bytes):
            return answer
        need(self.verifier.accepts(answer, b"restart"), "a wrong signature")
        return OK

    def parts(self):
        part, signature, length = b"p" * 50_000, ctypes.create_string_buffer(1024), ULONG(1024)
        code = self.module.C_SignInit(self.session, ctypes.byref(Mechanism(SHA256_RSA_PKCS, None, 0)), self.key)
        for _ in range(4):
            code = code or self.module.C_SignUpdate(self.session, part, len(part))
        code = code or self.module.C_SignFinal(self.session, signature, ctypes.byref(length))
        need(code != OK or self.verifier.accepts(signature.raw[:length.value], part * 4), "a wrong signature")
        return code

    def decrypt(self):
        message = b"sealed"
        filling = bytes(secrets.choice(range(1, 256)) for _ in range(self.seal.size - 3 - len(message)))
        padded = int.from_bytes(b"\0\2" + filling + b"\0" + message, "big")
        ciphertext = pow(padded, self.seal.exponent, self.seal.modulus).to_bytes(self.seal.size, "big")
        plain, length = ctypes.create_string_buffer(1024), ULONG(1024)
        code = self.module.C_DecryptInit(self.session, ctypes.byref(Mechanism(RSA_PKCS, None, 0)), self.sealing)
        code = code or self.module.C_Decrypt(self.session, ciphertext, len(ciphertext), plain, ctypes.byref(length))
        need(code != OK or plain.raw[:length.value] == message, "a wrong plaintext")
        return code

    def derive(self):
        parameters = DeriveParameters(1, 0, None, len(self.point.raw) - 1, ctypes.cast(self.point, ctypes.c_void_p))
        mechanism = Mechanism(ECDH, ctypes.cast(ctypes.byref(parameters), ctypes.c_void_p), ctypes.sizeof(parameters))
        asked, made = template((0, number(SECRET_KEY)), (0x162, b"\1")), ULONG()
        code = self.module.C_DeriveKey(self.session, ctypes.byref(mechanism), self.curve, asked, 2, ctypes.byref(made))
        if code == OK:
            secret = self.module.attribute(self.session, made.value, 0x11)
            self.secret = self.secret or secret
            need(secret and secret == self.secret, "another secret")
            self.module.need("C_DestroyObject", self.session, made.value)
        return code

    def find(self):
        code = self.module.C_FindObjectsInit(self.session, None, 0)
        if code == OK:
            found, count = (ULONG * 64)(), ULONG()
            self.module.need("C_FindObjects", self.session, found, 64, ctypes.byref(count))
            need(count.value > 3, "objects are missing")
            self.module.need("C_FindObjectsFinal", self.session)
        return code

    def attributes(self):
        """Attributes are available whether or not a provider is running."""
        asked = (Attribute * 1)(Attribute(0x120, None, 0))
        code = self.module.C_GetAttributeValue(self.session, self.key, asked, 1)
        need(code == OK, "an attribute is gone with the provider")
        return code

    def info(self):
        return self.module.C_GetTokenInfo(0, ctypes.create_string_buffer(4096))

    def slots(self):
        count = ULONG()
        self.module.need("C_GetSlotList", 1, None, ctypes.byref(count))
        return OK if count.value == 1 else 0xE0

    def sessions(self):
        session = ULONG()
        code = self.module.C_OpenSession(0, 4, None, None, ctypes.byref(session))
        return code or self.module.C_CloseSession(session.value)

    def login(self):
        code = self.module.C_Login(self.session, 1, b"123456", 6)
        return code or self.module.C_Logout(self.session)


def main(path, kind):
    module = Module(path)
    module.need("C_Initialize", None)
    calls = Calls(module, module.open())
    call = getattr(calls, kind)
    need(call() == OK, f"{kind} fails before anything was killed")
    print("ready", flush=True)
    stopped = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.readline(), stopped.set()), daemon=True).start()
    done = refused = 0
    while not stopped.is_set():
        code = call()
        if code == OK:
            done += 1
        else:
            need(code in REFUSALS, f"{kind} gave 0x{code:x}")
            refused += 1
            time.sleep(0.01)
    # The handles from before the restarts are still valid.
    still_works(module, calls.session, calls.key, calls.verifier)
    print(f"{kind}: {done} done, {refused} refused")


if __name__ == "__main__":
    main(*sys.argv[1:])
