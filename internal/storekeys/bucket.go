package storekeys

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"lethe/internal/secret"
)

// roleTime bounds a question for the keys of a role.
const roleTime = 2 * time.Second

// Keys are those to a bucket.
type Keys struct{ *credentials.Credentials }

// Refused has other keys looked up at once if an error says that a bucket refuses these, and adds what to do.
func (keys Keys) Refused(err error) error {
	if told := minio.ToErrorResponse(err); told.StatusCode == http.StatusForbidden || told.Code == "ExpiredToken" {
		keys.Expire()
		err = fmt.Errorf("the bucket refuses the keys: change them where they are, and it goes on: %w", err)
	}
	return err
}

// Bucket returns the keys of the first place that has some: the environment and keys.env, a profile of ~/.aws, the role of
// the machine. Others come from there before they expire; keys.env is looked into each minute.
func Bucket() (keys Keys, err error) {
	role := &credentials.IAM{
		Client:   &http.Client{Timeout: roleTime, Transport: &http.Transport{DisableKeepAlives: true}}, // and no proxy
		Endpoint: cmp.Or(os.Getenv("AWS_ENDPOINT_URL_STS"), os.Getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT")),
	}
	places := []credentials.Provider{&environment{}, &credentials.FileAWSCredentials{}, role}
	if os.Getenv("AWS_PROFILE") != "" {
		places = places[:2]
	}
	for _, place := range places {
		keys = Keys{credentials.New(known{place})}
		if _, err = keys.GetWithContext(nil); err == nil {
			break
		}
	}
	if err != nil {
		err = fmt.Errorf("set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE: %w", err)
	}
	return keys, err
}

// known has keys struck out wherever they are written.
type known struct{ credentials.Provider }

func (k known) RetrieveWithCredContext(with *credentials.CredContext) (credentials.Value, error) {
	keys, err := k.Provider.RetrieveWithCredContext(with)
	if err == nil && keys.AccessKeyID == "" {
		err = errors.New("there is no key")
	}
	secret.Add(keys.SecretAccessKey, keys.SessionToken)
	return keys, err
}

// environment is the variables of this process, and of keys.env.
type environment struct{ due time.Time }

func (e *environment) IsExpired() bool { return time.Now().After(e.due) }

func (e *environment) Retrieve() (credentials.Value, error) { return e.RetrieveWithCredContext(nil) }

func (e *environment) RetrieveWithCredContext(*credentials.CredContext) (keys credentials.Value, err error) {
	e.due = time.Now().Add(time.Minute)
	keys.AccessKeyID, keys.SecretAccessKey = secret.Fresh("AWS_ACCESS_KEY_ID"), secret.Value("AWS_SECRET_ACCESS_KEY")
	keys.SessionToken = secret.Value("AWS_SESSION_TOKEN")
	return keys, nil
}
