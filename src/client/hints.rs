//! What to do about errors of security and connection, whose texts from librdkafka and OpenSSL leave a
//! user guessing.

use crate::error::Error;
use crate::rd::certificate;
use crate::rd::client::Client;
use crate::status::{KABI_STATUS_ALL_BROKERS_DOWN, KABI_STATUS_SSL};

/// A part of a text, and what to do about it. The first that fits counts.
type Hints = &'static [(&'static str, &'static str)];

/// Errors of connections.
const CONNECTING: Hints = &[
    (
        "SSL alert number",
        "the broker refused this client's certificate, or wants one: set ssl.certificate.location and \
         ssl.key.location (or ssl.certificate.pem and ssl.key.pem) to a pair that it trusts",
    ),
    (
        "wrong version number",
        "the broker does not speak TLS on this port: check bootstrap.servers and security.protocol",
    ),
    (
        "connecting to a PLAINTEXT broker listener",
        "check bootstrap.servers and security.protocol",
    ),
    (
        "brokers are down",
        "no broker can be reached: check bootstrap.servers and security.protocol; errors before this \
         one and the client's log say more",
    ),
];

const SASL: &str =
    "check sasl.username and sasl.password, and that the broker knows the user for this \
                    sasl.mechanism";

/// Refused configurations.
const MAKING: Hints = &[
    (
        "key values mismatch",
        "the private key does not belong to the certificate",
    ),
    (
        "ssl.key.location failed",
        "is it a readable PEM file, and if it is encrypted, is ssl.key.password right?",
    ),
    (
        "ssl.key.pem failed",
        "is it a PEM text, and if it is encrypted, is ssl.key.password right?",
    ),
    (
        "ssl.ca.location failed",
        "is it a readable file of PEM certificates, or a folder of them?",
    ),
    (
        "ssl.certificate.location failed",
        "is it a readable PEM file?",
    ),
    (
        "ssl.certificate.pem failed",
        "it takes the text itself; a file's name goes to ssl.certificate.location",
    ),
    (
        "from ssl.ca.pem",
        "it takes the text itself; a file's name goes to ssl.ca.location",
    ),
    (
        "No provider for SASL mechanism GSSAPI",
        "GSSAPI is the default of sasl.mechanism, and this build has no Kerberos: set sasl.mechanism to \
         PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER",
    ),
];

/// OpenSSL's X509_V_ERR_* numbers, which are part of its interface.
const CERTIFICATES: &[(i32, &str)] = &[
    (
        9,
        "the certificate is not valid yet; is this machine's clock right?",
    ),
    (
        10,
        "the certificate has expired; the broker needs a new one (or is this machine's clock wrong?)",
    ),
    (
        18,
        "the certificate is self-signed and not trusted; if it is the right one, name it in \
         ssl.ca.location or ssl.ca.pem",
    ),
    (
        19,
        "its authority is not trusted here; name the authority's certificate in ssl.ca.location or \
         ssl.ca.pem",
    ),
    (
        20,
        "its authority is not known here; name the authority's certificate in ssl.ca.location or \
         ssl.ca.pem",
    ),
    (
        21,
        "its authority is not known here; name the authority's certificate in ssl.ca.location or \
         ssl.ca.pem",
    ),
    (23, "the certificate has been revoked"),
    (26, "the certificate is not made for servers"),
    (
        62,
        "the certificate is for another host name; connect by a name that it holds, or have the broker \
         advertise one (ssl.endpoint.identification.algorithm=none turns this check off)",
    ),
    (
        64,
        "the certificate is for another address; connect by a name that it holds, or have the broker \
         advertise one (ssl.endpoint.identification.algorithm=none turns this check off)",
    ),
];

fn find(hints: Hints, text: &str) -> Option<&'static str> {
    hints
        .iter()
        .find(|(part, _)| text.contains(part))
        .map(|(_, hint)| *hint)
}

/// An error event's code and text, made clearer where that is possible.
pub fn connecting(client: &Client, code: i32, text: String) -> (i32, String) {
    if text.contains("certificate verify failed") {
        return refused_certificate(client, &text).unwrap_or((KABI_STATUS_SSL, text));
    }
    if text.contains("SASL authentication error") {
        // A broker's answer to PLAIN does not name the mechanism.
        let mechanism = client.property("sasl.mechanisms").unwrap_or_default();
        return (code, format!("{text}: {SASL} (here {mechanism})"));
    }
    let told = code == KABI_STATUS_ALL_BROKERS_DOWN;
    match find(CONNECTING, &text) {
        Some(hint) if told => (code, format!("{hint} ({text})")),
        Some(hint) => (code, format!("{text}: {hint}")),
        None => (code, text),
    }
}

/// librdkafka says that the connection failed, or that ssl.ca.location may be wrong, whatever the reason.
fn refused_certificate(client: &Client, text: &str) -> Option<(i32, String)> {
    let number = certificate::refusal(client, text)?;
    let broker = text.split(": ").next().unwrap_or(text);
    let why = CERTIFICATES
        .iter()
        .find(|(known, _)| *known == number)
        .map_or_else(
            || {
                format!(
                    "OpenSSL's verification error {number} (openssl verify's manual lists them)"
                )
            },
            |(_, why)| (*why).to_owned(),
        );
    Some((
        KABI_STATUS_SSL,
        format!(
            "{broker}: the broker's certificate was refused (certificate verify failed): {why}"
        ),
    ))
}

/// A configuration that librdkafka refused.
pub fn making(error: Error) -> Error {
    match find(MAKING, &error.message) {
        Some(hint) => Error {
            message: format!("{}: {hint}", error.message),
            ..error
        },
        None => error,
    }
}
