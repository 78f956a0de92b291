package redis_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"voucherd/adapters/redis"
	"voucherd/application/port"
	"voucherd/test/env"
	"voucherd/test/env/process"
)

// certificate makes a key and a certificate for 127.0.0.1 that vouches for itself.
func certificate(t *testing.T) (certFile, keyFile string, pool *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	dir := t.TempDir()
	write := func(name, kind string, bytes []byte) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}), 0o600))
		return path
	}
	parsed, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	pool = x509.NewCertPool()
	pool.AddCert(parsed)
	return write("cert", "CERTIFICATE", der), write("key", "PRIVATE KEY", private), pool
}

func TestTLS(t *testing.T) {
	certFile, keyFile, pool := certificate(t)
	secure, err := process.ReservePort()
	require.NoError(t, err)
	t.Cleanup(secure.Release)
	env.StartRedis(t, map[string]string{
		"tls-port": strconv.Itoa(secure.Number), "tls-cert-file": certFile, "tls-key-file": keyFile,
		"tls-ca-cert-file": certFile, "tls-auth-clients": "no", "requirepass": "secret",
	})
	trusting := &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	g := gate(t, redis.Config{Addrs: []string{secure.Address()}, TLS: trusting, Username: "default", Password: "secret"})
	load(t, g, 1, 100)
	reserve(t, g, 1)

	suspicious := &tls.Config{MinVersion: tls.VersionTLS12}
	_, err = gate(t, redis.Config{Addrs: []string{secure.Address()}, TLS: suspicious}).Reserve(t.Context(), batch(100, request(2)))
	require.Error(t, err)
	require.NotErrorIs(t, err, port.ErrNotLoaded)
	_, err = gate(t, redis.Config{Addrs: []string{secure.Address()}}).Reserve(t.Context(), batch(100, request(2)))
	require.Error(t, err, "in the clear")
}
