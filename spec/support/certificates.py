"""certificates.py -- TLS certificates for servers of specs, from a CA of their own: for 127.0.0.1, and without a name."""
import os
import subprocess

SCRIPT = """set -e
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test-ca -keyout ca.key -out ca.pem
openssl req -newkey rsa:2048 -nodes -subj /CN=127.0.0.1 -keyout server.key -out server.csr
printf 'subjectAltName=IP:127.0.0.1' >san
openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile san -out server.pem
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=another-ca -keyout other.key -out other.pem
chmod 644 *"""


def make_certificates(folder):
    """Makes server.pem and server.key, signed by ca.pem, and other.pem, a CA that signed nothing, in this new folder."""
    os.mkdir(folder)
    subprocess.run(SCRIPT, cwd=folder, shell=True, check=True, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
