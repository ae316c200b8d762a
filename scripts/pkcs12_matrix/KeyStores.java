// Reads and writes PKCS #12 with a Java security provider, for scripts/scoreboard matrix.
//
//   java KeyStores.java read PROVIDER PASSWORD-FILE FILE...
//   java KeyStores.java write TYPE PASSWORD-FILE KEY.der CERTIFICATE.der OUTPUT      (Bouncy Castle only)
//
// For each file that it reads, it prints "file PATH" and then lines of "key HEX", "certificate HEX" or "error TEXT".
import java.io.ByteArrayInputStream;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.Security;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Collections;
import java.util.HexFormat;

class KeyStores {
    static void read(String provider, char[] password, String path) {
        System.out.println("file " + path);
        try (var file = new FileInputStream(path)) {
            var store = KeyStore.getInstance("PKCS12", provider);
            store.load(file, password);
            for (String alias : Collections.list(store.aliases())) {
                if (!store.isKeyEntry(alias)) continue;
                print("key", store.getKey(alias, password).getEncoded());
                Certificate[] chain = store.getCertificateChain(alias);
                for (Certificate each : chain == null ? new Certificate[0] : chain) print("certificate", each.getEncoded());
            }
        } catch (Throwable error) {
            System.out.println("error " + error.toString().replace('\n', ' '));
        }
    }

    static void print(String kind, byte[] bytes) {
        System.out.println(kind + " " + HexFormat.of().formatHex(bytes));
    }

    static void write(String type, char[] password, String key, String certificate, String output) throws Exception {
        var bytes = new ByteArrayInputStream(Files.readAllBytes(Path.of(certificate)));
        var leaf = (X509Certificate) CertificateFactory.getInstance("X.509").generateCertificate(bytes);
        var encoded = new PKCS8EncodedKeySpec(Files.readAllBytes(Path.of(key)));
        var store = KeyStore.getInstance(type, "BC");
        store.load(null, null);
        var factory = KeyFactory.getInstance(leaf.getPublicKey().getAlgorithm());
        store.setKeyEntry("a name", factory.generatePrivate(encoded), password, new Certificate[] {leaf});
        try (var file = new FileOutputStream(output)) {
            store.store(file, password);
        }
    }

    public static void main(String[] arguments) throws Exception {
        try {
            Class<?> bouncy = Class.forName("org.bouncycastle.jce.provider.BouncyCastleProvider");
            Security.addProvider((java.security.Provider) bouncy.getDeclaredConstructor().newInstance());
        } catch (ClassNotFoundException absent) {
            // Java's own provider needs no Bouncy Castle.
        }
        char[] password = Files.readString(Path.of(arguments[2])).replaceFirst("\n$", "").toCharArray();
        if (arguments[0].equals("write")) {
            write(arguments[1], password, arguments[3], arguments[4], arguments[5]);
            return;
        }
        for (int index = 3; index < arguments.length; index++) read(arguments[1], password, arguments[index]);
    }
}
