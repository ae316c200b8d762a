"""Commands that turn a file into one that a reader opens, and trials of them."""
import re

from pkcs12_matrix.files import File, Reading, attempt
from toolbox.report import need

# FILE, PASSWORD and REPAIRED are replaced by paths. The key passes through a pipe, and never through a file. It must
# precede the certificate, because OpenSSL stops at the key that it looks for.
EXPORT = "openssl pkcs12 -export {options} -passout file:PASSWORD -out REPAIRED"
IMPORT = "openssl pkcs12 -legacy -in FILE -passin file:PASSWORD -noenc"
COPY = "hxtool certificate-copy PKCS12:FILE PEM-FILE:/dev/stdout"
BOTH = f"({IMPORT} -nocerts; {IMPORT} -nokeys) | "
MODERN = EXPORT.format(options="-keypbe AES-256-CBC -certpbe AES-256-CBC -macalg sha256")
COMPATIBLE = EXPORT.format(options="-keypbe PBE-SHA1-3DES -certpbe PBE-SHA1-3DES -macalg sha1")
LENIENT = f"({COPY} | openssl pkey; {COPY} | openssl x509) | "
REWRITES = {
    "aes": BOTH + MODERN, "3des": BOTH + COMPATIBLE,
    # Only Heimdal reads its own malformed files.
    "heimdal-aes": LENIENT + MODERN, "heimdal-3des": LENIENT + COMPATIBLE,
}
# Options of a reader that open the file without a rewrite: the name of the column, the options and the command.
READER_OPTIONS = {
    "openssl": (["-legacy"], "openssl pkcs12 -legacy -in FILE -passin file:PASSWORD -noenc"),
    "keysharing": (["--allow-no-mac"], "keyshare-consumer import --allow-no-mac --file FILE --password-file PASSWORD"),
}


def rewrite(file, name, folder):
    """Runs a command on a file; returns the repaired file, or nil if the command fails."""
    if name.startswith("heimdal") and not file.name.startswith("heimdal"):
        return None
    path = folder / f"{file.name}.{name}.p12"
    words = {"FILE": file.path, "PASSWORD": file.material.password_file, "REPAIRED": path}
    command = REWRITES[name]
    for word, value in words.items():
        # PEM-FILE is a word of hxtool.
        command = re.sub(rf"(?<!-)\b{word}\b", str(value), command)
    result = attempt("bash", "-o", "pipefail", "-c", command)
    if isinstance(result, Reading) or result.returncode != 0:
        return None
    need(path.exists(), f"{path.name} was not written")
    return File(f"{file.name}.{name}", path, file.material)
