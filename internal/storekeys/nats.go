// Package storekeys has the keys to a store from where people keep them, by the names that others use: AWS_ACCESS_KEY_ID
// and its like, NATS_CREDS, NATS_NKEY, NATS_USER, NATS_PASSWORD, NATS_CA, NATS_CERT and NATS_KEY. They may change while a
// store is open.
//
//	keys, err := storekeys.Bucket()
//	err = keys.Refused(err) // by the bucket
//	err = storekeys.NATS(&options)
package storekeys

import (
	"github.com/nats-io/nats.go"

	"lethe/internal/secret"
)

// NATS adds the keys to options. Each connection reads the files anew; another nkey needs another process.
func NATS(options *nats.Options) error {
	options.UserInfo = func() (user, password string) {
		user, password = secret.Fresh("NATS_USER"), secret.Value("NATS_PASSWORD")
		secret.Add(password)
		return user, password
	}
	for variable, option := range map[string]func(file string) (nats.Option, error){
		"NATS_CREDS": func(file string) (nats.Option, error) { return nats.UserCredentials(file), nil },
		"NATS_NKEY":  nats.NkeyOptionFromSeed,
		"NATS_CA":    func(file string) (nats.Option, error) { return nats.RootCAs(file), nil },
		"NATS_CERT":  func(file string) (nats.Option, error) { return nats.ClientCert(file, secret.Value("NATS_KEY")), nil },
	} {
		file := secret.Value(variable)
		if file == "" {
			continue
		}
		set, err := option(file)
		if err == nil {
			err = set(options)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
