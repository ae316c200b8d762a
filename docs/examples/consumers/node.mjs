// Node's tls.createSecureContext as a consumer. Its claim is parse, the default.
//
//   keyshare-provider conformance --skip archives --memory 2048 -- \
//     node docs/examples/consumers/node.mjs {file} {password-file}
import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";

const [file, passwordFile] = process.argv.slice(2);
try {
  createSecureContext({
    pfx: readFileSync(file),
    passphrase: readFileSync(passwordFile, "utf8").replace(/\n$/, ""),
  });
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
