#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Options of `kvolsim serve`: TLS and a token with the real clients, a port in use, and a record for which there is no room.
. "${KVOLSIM_SRCDIR:?}/tests/serve/served.sh"
HOME=$scratch # no configuration of a real cluster
KUBECONFIG=$scratch/kubeconfig
export HOME KUBECONFIG
small_cluster >small.yaml
printf 'sesame\n' >token

# fails MESSAGE WORD…: a case that passes if the program ends with status 1 and one line that matches MESSAGE.
fails()
{
    message=$1
    shift
    timeout 20 "$kvolsim" "$@" >out 2>err
    [ $? -eq 1 ] && grep -q -- "$message" err && [ "$(wc -l <err)" -eq 1 ]
    result $? "fails: $*"
}

# ---- TLS ----
if openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=kvolsim -addext subjectAltName=IP:127.0.0.1 -keyout key.pem -out cert.pem >out 2>err; then
    # LeakSanitizer itself crashes at the end of a server that has used TLS ("Tracer caught signal 11"): no leaks are looked for here
    with_leaks=$ASAN_OPTIONS
    ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0
    begin served serve small.yaml --speed 0 --at 1m --tls-cert cert.pem --tls-key key.pem --token-file token --kubeconfig kubeconfig >out 2>&1
    result $? "serves over TLS" out served served.err
    same "TLS: curl with the certificate and the token" 200 \
        "$(curl -s -o out -w '%{http_code}' --cacert cert.pem -H 'Authorization: Bearer sesame' "https://127.0.0.1:$port/api/v1/pods")"
    same "... without the token" 401 "$(curl -s -o out -w '%{http_code}' --cacert cert.pem "https://127.0.0.1:$port/api/v1/pods")"
    curl -s --cacert /dev/null "https://127.0.0.1:$port/version" >out 2>err
    [ $? -ne 0 ] && curl -s "http://127.0.0.1:$port/version" >out 2>err
    [ $? -ne 0 ] && [ ! -s out ]
    result $? "... without the certificate, and without TLS, there is no answer"
    if kubectl version --client 2>/dev/null | grep -q 'v1\.'; then
        kubectl config set-cluster kvolsim --certificate-authority=cert.pem >/dev/null
        same "TLS: kubectl with the written configuration" first-0 "$(kubectl --token sesame get pod first-0 -o 'jsonpath={.metadata.name}' 2>&1)"
    else
        case_skip "TLS: kubectl with the written configuration" "kubectl is not here"
    fi
    end INT
    ASAN_OPTIONS=$with_leaks
    same "... and ends as it should" 130 $status
    fails 'key.pem' serve small.yaml --tls-cert key.pem --tls-key key.pem
    refused '--tls-key' serve small.yaml --tls-cert cert.pem
else
    case_skip "TLS" "openssl is not here"
fi
refused 'token' serve small.yaml --token-file small.yaml
refused 'nothere' serve small.yaml --token-file nothere

# ---- The clock of the cluster ----
begin served serve small.yaml --speed 0 --at 1m --start 2030-05-06T07:08:09Z >out 2>&1
same "--start is the clock as it is first served" 2030-05-06T07:08:09Z "$(curl -s "http://127.0.0.1:$port/kvolsim/v1/clock" | sed 's/.*"time":"\([^"]*\)".*/\1/')"
end INT
refused 'neither "now"' serve small.yaml --start yesterday

# ---- A port in use ----
begin first serve small.yaml --speed 0
first=$port
"$kvolsim" serve small.yaml --listen "127.0.0.1:$first" >out 2>err
[ $? -eq 1 ] && grep -q "127.0.0.1:$first" err && [ "$(wc -l <err)" -eq 1 ]
result $? "a second server on a port says that it is in use"
[ "$(curl -s -o out -w '%{http_code}' "http://127.0.0.1:$first/version")" = 200 ]
result $? "... and the first one goes on"
end INT

# ---- A record ----
mkfifo pipe
fails 'no regular file' serve small.yaml --listen 127.0.0.1:0 --record pipe
fails 'no regular file' serve small.yaml --listen 127.0.0.1:0 --record /dev/null
fails 'nothere/record.yaml' serve small.yaml --listen 127.0.0.1:0 --record nothere/record.yaml

# A limit on the sizes of files is a full disk as far as writes go.
trap '' XFSZ
(
    ulimit -f 16
    exec "$kvolsim" serve small.yaml --speed 0 --record full.yaml --listen 127.0.0.1:0
) >served 2>err &
pid=$!
for _ in $(seq 600); do
    port=$(sed -n 's|.*--server http://127.0.0.1:\([0-9]*\) .*|\1|p' served)
    [ -z "$port" ] || break
    sleep 0.1
done
words=$(head -c 1500 /dev/zero | tr '\0' x)
made=0
for i in 1 2 3 4 5 6 7 8 9 10; do
    code=$(curl -s -o out -w '%{http_code}' -H 'Content-Type: application/json' "http://127.0.0.1:$port/api/v1/namespaces/default/persistentvolumeclaims" \
        -d "{\"apiVersion\": \"v1\", \"kind\": \"PersistentVolumeClaim\", \"metadata\": {\"name\": \"c$i\", \"annotations\": {\"a/words\": \"$words\"}}, \"spec\": {\"accessModes\": [\"ReadWriteOnce\"], \"resources\": {\"requests\": {\"storage\": \"1Gi\"}}}}")
    [ "$code" != 201 ] || made=$((made + 1))
done
same "with a full disk the session goes on" 10 $made
end INT
[ $status -eq 1 ] && grep -q full.yaml err && [ "$(wc -l <err)" -eq 1 ]
result $? "... its end says that the record is not whole" err
"$kvolsim" check full.yaml >out 2>&1 && [ "$(grep -c xxxx full.yaml)" -gt 0 ] && [ "$(grep -c xxxx full.yaml)" -lt 10 ]
result $? "... and the record is a scenario with what had room" out full.yaml

(ulimit -f 4; exec "$kvolsim" serve small.yaml --export small) >out 2>err
status=$?
[ $status -eq 1 ] && grep -q 'File too large' err && [ -z "$(ls -d small small.partial* 2>/dev/null)" ]
result $? "an export without room: said in English, and nothing is left" err
cases_end
