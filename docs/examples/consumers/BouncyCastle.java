// Bouncy Castle as a consumer. Its claim is identity, and it reports the number of identities.
//
//   keyshare-provider conformance --claims identity --reports json --skip archives --memory 2048 --timeout 20 -- \
//     java -cp /usr/share/java/bcprov.jar docs/examples/consumers/BouncyCastle.java {file} {password-file}
import java.io.FileInputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.Collections;
import org.bouncycastle.jce.provider.BouncyCastleProvider;

class BouncyCastle {
    public static void main(String[] arguments) throws Exception {
        char[] password = Files.readString(Path.of(arguments[1])).replaceFirst("\n$", "").toCharArray();
        int count = 0;
        try (var file = new FileInputStream(arguments[0])) {
            var store = KeyStore.getInstance("PKCS12", new BouncyCastleProvider());
            store.load(file, password);
            for (String alias : Collections.list(store.aliases())) {
                // A key without a certificate is also an entry.
                if (store.isKeyEntry(alias) && store.getCertificate(alias) != null) count++;
            }
        } catch (Exception error) {
            System.err.println(error);
        }
        System.out.println("{\"identities\": " + count + ", \"blames\": null}");
        System.exit(count > 0 ? 0 : 1);
    }
}
