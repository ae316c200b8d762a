// software.sslmate.com/src/go-pkcs12 as a consumer, in Go. UNTESTED: this project has never built this file.
// Its claim is identity. The exit code 3 reports a wrong password.
//
//	go build -o gopkcs12 gopkcs12.go
//	keyshare-provider conformance --claims identity --refused-by 1 --password-blamed-by 3 --skip archives -- \
//	  ./gopkcs12 {file} {password-file}
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"software.sslmate.com/src/go-pkcs12"
)

func main() {
	file, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	password, err := os.ReadFile(os.Args[2])
	if err != nil {
		panic(err)
	}
	_, _, _, err = pkcs12.DecodeChain(file, strings.TrimSuffix(string(password), "\n"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	switch {
	case errors.Is(err, pkcs12.ErrIncorrectPassword):
		os.Exit(3)
	case err != nil:
		os.Exit(1)
	}
}
