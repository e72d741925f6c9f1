package webhooks

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"time"
)

// Headers of a request (Standard Webhooks 1.0).
const (
	HeaderID        = "Webhook-Id"
	HeaderTimestamp = "Webhook-Timestamp" // seconds since 1970
	HeaderSignature = "Webhook-Signature" // v1,BASE64 for each secret, with a space between
)

const (
	secretPrefix = "whsec_"
	// A key has 24 to 64 bytes (Standard Webhooks 1.0).
	minKey, maxKey = 24, 64
	maxKeys        = 2
)

// Keys reads what signs: whsec_ and 24 to 64 bytes in base64, once or, while a
// receiver changes over, twice with white space between. Its errors do not repeat
// what they are about.
func Keys(secret string) ([][]byte, error) {
	var keys [][]byte
	for _, word := range strings.Fields(secret) {
		raw, ok := strings.CutPrefix(word, secretPrefix)
		key, err := base64.StdEncoding.DecodeString(raw)
		if !ok || err != nil || len(key) < minKey || len(key) > maxKey {
			return nil, errors.New("must be whsec_ and 24 to 64 random bytes in base64")
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 || len(keys) > maxKeys {
		return nil, errors.New("must be one secret, or two while the receiver changes over")
	}
	return keys, nil
}

// Sign is the value of webhook-signature for a body sent at a time.
func Sign(keys [][]byte, id string, at time.Time, body []byte) string {
	var all []string
	for _, key := range keys {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(id + "." + strconv.FormatInt(at.Unix(), 10) + "."))
		mac.Write(body)
		all = append(all, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	return strings.Join(all, " ")
}
