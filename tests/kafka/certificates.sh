# shellcheck shell=bash
# The certificates of the secure profile: an authority of our own, and what it has signed. Sourced by broker.
# In the folder: ca.pem; client.pem, client.key, client-encrypted.key (password client-secret); other-ca.pem, which
# signed nothing but the untrusted listener's; stranger.pem and .key, a client of that other authority.

NAMES=subjectAltName=DNS:localhost,IP:127.0.0.1

make_certificates() { # FOLDER
  command -v openssl >/dev/null || die "the command openssl is missing: run scripts/setup --tests"
  mkdir -p "$1"
  (cd "$1" && sign_all) >"$1/openssl.log" 2>&1 || { tail -n 5 "$1/openssl.log" >&2 && die "openssl failed"; }
}

sign_all() {
  set -e
  authority ca
  authority other-ca
  leaf server localhost ca "$NAMES"
  leaf wrong-host elsewhere.example ca "subjectAltName=DNS:elsewhere.example"
  leaf untrusted localhost other-ca "$NAMES"
  leaf client dave ca "extendedKeyUsage=clientAuth"
  leaf stranger dave other-ca "extendedKeyUsage=clientAuth"
  expired_leaf expired localhost "$NAMES"
  openssl pkcs8 -topk8 -in client.key -out client-encrypted.key -passout pass:client-secret
  store server ca
  store wrong-host ca
  store expired ca
  store untrusted other-ca
  chmod a+r ./*.key # a test may run as another user; these keys protect nothing
}

authority() {
  openssl req -x509 -newkey rsa:2048 -nodes -days 3650 -subj "/CN=kafkabi test $1" -keyout "$1.key" -out "$1.pem" \
    -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign,cRLSign
}

# NAME COMMON_NAME
request() { openssl req -newkey rsa:2048 -nodes -subj "/CN=$2" -keyout "$1.key" -out "$1.csr"; }

leaf() { # NAME COMMON_NAME AUTHORITY EXTENSION
  request "$1" "$2"
  printf '%s\n' "$4" >"$1.ext"
  openssl x509 -req -in "$1.csr" -CA "$3.pem" -CAkey "$3.key" -CAcreateserial -days 3650 -extfile "$1.ext" -out "$1.pem"
}

# `openssl x509` of Debian 12 can't sign for the past; `openssl ca` can.
expired_leaf() { # NAME COMMON_NAME EXTENSION
  request "$1" "$2"
  printf '%s\n' "$3" >"$1.ext"
  : >index
  printf '%s\n' '[ca]' 'default_ca=own' '[own]' 'database=index' 'rand_serial=yes' 'default_md=sha256' 'policy=any' \
    'new_certs_dir=.' '[any]' 'commonName=supplied' >ca.conf
  openssl ca -batch -notext -config ca.conf -cert ca.pem -keyfile ca.key -in "$1.csr" -out "$1.pem" \
    -extfile "$1.ext" -startdate 20200101000000Z -enddate 20210101000000Z
}

# Kafka's key store in PEM: the key, then the chain.
store() { cat "$1.key" "$1.pem" "$2.pem" >"$1-store.pem"; }
