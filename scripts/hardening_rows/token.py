"""The keys of persistent tokens, which must be only in the provider while they are open."""
import base64
import os
import random
import re
import struct
import subprocess
import sys

from toolbox import build, client
from toolbox.client import TokenClient
from toolbox.report import need
from toolbox.device import Device

# A client process of the search: it uses a key, and then waits for the command to end.
USES = """
import sys
sys.path.insert(0, {scripts!r})
from toolbox.client import TokenClient
client = TokenClient({socket!r})
for number in range({count}):
    client.use({label!r}, 1, {algorithm!r}, b"message %d" % number)
print("used", flush=True)
sys.stdin.read()
"""


def secret_numbers(key):
    """The secret numbers of a key by name, from OpenSSL's text of it. Every encoding of the key contains them."""
    text = subprocess.run(
        ["openssl", "pkey", "-in", key, "-noout", "-text"], capture_output=True, check=True, text=True).stdout
    secrets = {}
    for name, digits in re.findall(r"^(\w+):\n((?:    [0-9a-f:]+\n)+)", text, re.MULTILINE):
        if name in ("priv", "privateExponent", "prime1", "prime2", "exponent1", "exponent2", "coefficient"):
            # A part of a number reveals as much as the whole, and may be all that remains of it.
            secrets[name] = bytes.fromhex(re.sub(r"[\s:]", "", digits)).lstrip(b"\0")[-32:]
    return secrets


def spellings(secrets):
    """Each secret as it might be written: plain and reversed (numbers of little-endian words), hexadecimal, base64
    at each alignment."""
    forms = {}
    for name, secret in secrets.items():
        forms[f"{name}, plain"] = secret
        forms[f"{name}, reversed"] = secret[::-1]
        forms[f"{name}, hex"] = secret.hex().encode()
        forms[f"{name}, HEX"] = secret.hex().upper().encode()
        for shift in range(3):
            encoded = base64.b64encode(b"\0" * shift + secret)
            # Omits the digits that also depend on the neighbouring bytes.
            forms[f"{name}, base64+{shift}"] = encoded[(shift * 8 + 5) // 6:-4]
    return forms


def memory(identifier):
    """The memory of a process, piece by piece."""
    with open(f"/proc/{identifier}/maps") as maps, open(f"/proc/{identifier}/mem", "rb", 0) as file:
        for line in maps:
            span, access = line.split()[:2]
            if not access.startswith("rw"):
                continue
            start, end = (int(part, 16) for part in span.split("-"))
            try:
                file.seek(start)
                yield file.read(end - start)
            except (OSError, ValueError, OverflowError):
                pass  # Memory of the kernel, such as [vvar].


def canary(full):
    """The keys of two tokens after many uses: in the client's memory, in files, output and logs."""
    count = 1000
    places, hits = {}, set()
    with Device() as device:
        key_files = {}
        for name, options in {"rsa": ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"],
                              "ec": ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"]}.items():
            key = key_files[name] = os.path.join(device.scratch, f"{name}.pem")
            certificate, bundle = (os.path.join(device.scratch, f"{name}.{end}") for end in ("crt", "p12"))
            commands = [
                ["openssl", "genpkey", *options, "-out", key],
                ["openssl", "req", "-x509", "-new", "-key", key, "-subj", f"/CN=CANARY.{name}", "-days", "30",
                 "-addext", "keyUsage=critical,digitalSignature", "-out", certificate],
                ["openssl", "pkcs12", "-export", "-inkey", key, "-in", certificate, "-passout", "pass:canary",
                 "-out", bundle],
            ]
            for command in commands:
                subprocess.run(command, check=True, capture_output=True)
            device.provider("import", bundle, "--password-env", "CANARY", CANARY="canary")
        device.provider("token", "add", "--all")
        forms = {}
        for name, key in key_files.items():
            forms |= {f"{name} {form}": needle for form, needle in spellings(secret_numbers(key)).items()}
        need(all(len(needle) >= 24 for needle in forms.values()), "a secret to look for is too short")
        for name in os.listdir(device.scratch):
            if name.endswith((".pem", ".p12")):
                os.unlink(os.path.join(device.scratch, name))

        def look(place, data):
            places[place] = places.get(place, 0) + 1
            # Base64 may be broken into lines.
            joined = data.replace(b"\n", b"")
            for form, needle in forms.items():
                if needle in data or needle in joined:
                    hits.add(f"{form} in {place}")

        look("control", b"x".join(forms.values()))
        need(len(hits) == len(forms), "the search does not find every form of the key")
        hits.clear()
        device.serve("--verbose")
        tokens = {token["kind"]: token["label"] for token in TokenClient(device.socket).tokens()}
        for kind, algorithm in ((1, "RSASignatureMessagePSSSHA256"), (2, "ECDSASignatureMessageX962SHA256")):
            program = USES.format(
                scripts=str(build.PACKAGE / "scripts"), socket=device.socket, count=count, label=tokens[kind],
                algorithm=algorithm)
            client = subprocess.Popen(
                [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            need(client.stdout.readline() == "used\n", "the uses failed")
            for piece in memory(client.pid):
                look("client's memory", piece)
            client.communicate()
        consumer = device.start("keyshare-consumer", "token", "matrix", "--json", output=subprocess.PIPE)
        output, errors = consumer.communicate(timeout=120)
        need(consumer.returncode == 0, "the matrix failed: " + errors.decode())
        look("output", output + errors)
        # The provider itself proves that the search finds a key that is present.
        provider = set(hits)
        for piece in memory(device.server.pid):
            look("provider's memory", piece)
        found = {hit for hit in hits if hit.endswith("provider's memory")}
        need(found, "an open key was not found even in the provider")
        hits -= found
        device.stop()
        for folder, _, names in os.walk(device.scratch):
            for name in names:
                path = os.path.join(folder, name)
                if os.path.isfile(path):
                    with open(path, "rb") as file:
                        look("log" if path == device.log else "file", file.read())
        need(not hits and not provider, "found: " + ", ".join(sorted(hits | provider)))
    looked = ", ".join(f"{number} {place}" for place, number in places.items() if place != "control")
    return f"{2 * count} uses, 0 hits in {looked}"


def golden_requests():
    """The requests of version 2 from the wire tests, except the hello."""
    requests = []
    with open(build.PACKAGE / "Tests/KeyShareWireTests/Vectors/version-2.txt") as file:
        for line in file:
            if line.startswith("#") or not line.strip():
                continue
            frame = bytes.fromhex(line.split()[-1])
            if frame[4] & client.IS_REPLY == 0 and frame[4] != client.HELLO:
                requests.append(frame)
    return requests


def mutant(seeds, rng):
    """One of the frames with a random defect; most keep a correct length."""
    frame = bytearray(rng.choice(seeds))
    for _ in range(rng.randrange(1, 4)):
        kind = rng.randrange(5)
        place = rng.randrange(4, len(frame))
        if kind == 0:
            frame[place] ^= 1 << rng.randrange(8)
        elif kind == 1:
            # Lengths and counts are big-endian.
            extreme = rng.choice([b"\xff\xff", b"\x00\x00", b"\x7f\xff", b"\xff\xff\xff\xff", b"\x00\x00\x00\x00"])
            frame[place:place + len(extreme)] = extreme
        elif kind == 2 and len(frame) > 10:
            del frame[max(place, 9):]
        elif kind == 3:
            frame += rng.randbytes(rng.randrange(1, 300))
        else:
            frame[place:] = rng.choice(seeds)[place:] or frame[place:]
    if rng.randrange(5):
        frame[:4] = struct.pack(">I", len(frame) - 4)
    return bytes(frame)


def mutants(full):
    """Messages of the token with random defects, each on its own connection."""
    rng = random.Random(14)
    count = 10_000 if full else 1_000
    hello = client.frame(client.HELLO, 1, client.hello("peer", [], 2))
    algorithm = "ECDSASignatureMessageX962SHA256"
    with Device() as device:
        device.provision(key="p256")
        device.provider("token", "add", "--all")
        device.serve("--quiet")
        label = next(entry["label"] for entry in TokenClient(device.socket).tokens() if entry["kind"] == 2)
        use = client.frame(client.USE, 7, client.use_body(label, 1, algorithm, b"abc"))
        seeds = golden_requests() + [use] * 4
        need(len(seeds) > 12, "the golden requests of version 2 are missing")
        TokenClient(device.socket).use(label, 1, algorithm, b"before")
        before = device.descriptors()
        answers = 0
        for _ in range(count):
            peer = device.raw()
            received = bytearray()
            try:
                peer.sendall(hello + mutant(seeds, rng))
                peer.shutdown(1)
                while part := peer.recv(65536):
                    received += part
            except (BrokenPipeError, ConnectionResetError):
                received.clear()
            peer.close()
            while received:
                need(len(received) >= 9, "a reply was cut")
                length = 4 + struct.unpack_from(">I", received)[0]
                need(length <= len(received), "a reply was cut")
                need(received[4] & client.IS_REPLY, f"no reply: type {received[4]:02x}")
                del received[:length]
                answers += 1
        device.need_alive()
        device.need_descriptors(before)
        TokenClient(device.socket).use(label, 1, algorithm, b"after")
        need(device.stop() == 0, "the provider did not stop cleanly")
    return f"{count:,} mutants, {answers:,} whole replies, 0 crashes, 0 descriptors leaked; the key works after"
