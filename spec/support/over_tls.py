"""over_tls.py -- a certificate for a server of `localhost`, and the flags for it."""
import subprocess


def certificate(world):
    """Returns the file of a self-signed certificate, and the flags."""
    pem, key = world.path("tls.pem"), world.path("tls.key")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=localhost",
                    "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key, "-out", pem], check=True, capture_output=True)
    return pem, ("--tls-certificate", pem, "--tls-key", key)
