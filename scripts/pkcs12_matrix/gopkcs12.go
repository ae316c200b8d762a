// Reads and writes PKCS #12 with go-pkcs12, for scripts/scoreboard matrix.
//
//	gopkcs12 read PASSWORD-FILE FILE
//	gopkcs12 write PASSWORD-FILE KEY.der CERTIFICATE.der OUTPUT
//
// Reading prints lines of "key HEX" and "certificate HEX".
package main

import (
	"crypto/rand"
	"crypto/x509"
	"fmt"
	"os"
	"strings"

	"software.sslmate.com/src/go-pkcs12"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func content(path string) []byte {
	bytes, err := os.ReadFile(path)
	check(err)
	return bytes
}

func main() {
	password := strings.TrimSuffix(string(content(os.Args[2])), "\n")
	if os.Args[1] == "read" {
		key, certificate, others, err := pkcs12.DecodeChain(content(os.Args[3]), password)
		check(err)
		encoded, err := x509.MarshalPKCS8PrivateKey(key)
		check(err)
		fmt.Printf("key %x\n", encoded)
		for _, each := range append([]*x509.Certificate{certificate}, others...) {
			fmt.Printf("certificate %x\n", each.Raw)
		}
		return
	}
	key, err := x509.ParsePKCS8PrivateKey(content(os.Args[3]))
	check(err)
	certificate, err := x509.ParseCertificate(content(os.Args[4]))
	check(err)
	file, err := pkcs12.Encode(rand.Reader, key, certificate, nil, password)
	check(err)
	check(os.WriteFile(os.Args[5], file, 0o600))
}
