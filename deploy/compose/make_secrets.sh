#!/bin/sh
# Makes what docker-compose.secure.yml mounts, with openssl: make_secrets.sh [FOLDER]
#   ca.pem, ca.key      our own authority, ten years; the key is mounted nowhere
#   broker.pem          the broker's key and certificate, one year
#   USER.password       of the broker (admin) and of each stage
#   jaas.conf, admin.properties   the admin's password, as the broker and Kafka's own commands read it
# What is there stays: remove a file, and those made of it, to have it made again (docs/compose.md).
set -eu
umask 077
folder=${1:-$(dirname "$0")/secrets}
# Containers have users of their own, and a secret of compose keeps the mode of its file. So everybody may read the
# files, and nobody else comes into the folder; what is mounted is the file, past the folder.
mkdir -p -m 700 "$folder"
cd "$folder"

new_key="-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
if [ ! -s ca.pem ]; then
    # shellcheck disable=SC2086 # several words
    openssl req -x509 $new_key -keyout ca.key -out ca.new -days 3650 -subj "/CN=Fabricscope Kafka authority" \
        -addext "keyUsage=critical,keyCertSign,cRLSign" 2>openssl.log || { cat openssl.log >&2; exit 1; }
    mv ca.new ca.pem
    rm -f broker.pem
fi
if [ ! -s broker.pem ]; then
    cat >broker.ext <<END
basicConstraints=critical,CA:FALSE
keyUsage=critical,digitalSignature
extendedKeyUsage=serverAuth
subjectKeyIdentifier=hash
authorityKeyIdentifier=keyid
subjectAltName=DNS:kafka,DNS:localhost,IP:127.0.0.1
END
    # shellcheck disable=SC2086
    openssl req $new_key -keyout broker.key -out broker.csr -subj "/CN=kafka" 2>openssl.log &&
        openssl x509 -req -in broker.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 365 -extfile broker.ext \
            -out broker.crt 2>openssl.log || { cat openssl.log >&2; exit 1; }
    cat broker.key broker.crt >broker.new
    mv broker.new broker.pem
fi
for user in admin ingest analytics alerts export recorder api; do
    [ -s $user.password ] && continue
    openssl rand -hex 24 >password.new
    mv password.new $user.password
done

login="org.apache.kafka.common.security"
admin="username=\"admin\" password=\"$(cat admin.password)\""
cat >jaas.new <<END
sasl_ssl.KafkaServer {
  $login.scram.ScramLoginModule required $admin;
};
controller.KafkaServer {
  $login.plain.PlainLoginModule required $admin user_admin="$(cat admin.password)";
};
END
cat >admin.new <<END
security.protocol=SASL_SSL
sasl.mechanism=SCRAM-SHA-512
sasl.jaas.config=$login.scram.ScramLoginModule required $admin;
ssl.truststore.type=PEM
ssl.truststore.location=/run/secrets/ca.pem
END
mv jaas.new jaas.conf
mv admin.new admin.properties
rm -f broker.key broker.crt broker.csr broker.ext ca.srl openssl.log
chmod 444 ca.pem broker.pem ./*.password jaas.conf admin.properties
