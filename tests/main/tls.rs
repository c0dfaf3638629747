//! TLS: the certificate that is given is shown, a renewed one counts while it runs, and nothing else is let in.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use ureq::tls::{Certificate, RootCerts, TlsConfig};

use crate::support::prelude::*;

/// The status over TLS for who trusts one certificate alone.
fn status(port: &str, trusted: &str) -> Result<u16, ureq::Error> {
    let root = Certificate::from_pem(trusted.as_bytes()).unwrap();
    let tls = TlsConfig::builder().root_certs(RootCerts::new_with_certs(&[root])).build();
    let agent = ureq::Agent::new_with_config(ureq::Agent::config_builder().tls_config(tls).build());
    agent.get(format!("https://localhost:{port}/health")).call().map(|answer| answer.status().as_u16())
}

#[test]
fn a_daemon_speaks_tls_with_the_certificate_that_it_has_now() {
    let folder = tempfile::tempdir().unwrap();
    let vault = folder.path().join("vault");
    fs::create_dir(&vault).unwrap();
    fs::write(vault.join("memory.toml"), "[embed]\nmodel = \"none\"\n").unwrap();
    let [cert, key] = ["cert.pem", "key.pem"].map(|name| folder.path().join(name));
    let renew = || {
        let CertifiedKey { cert: made, signing_key } = generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        fs::write(&key, signing_key.serialize_pem()).unwrap();
        fs::write(&cert, made.pem()).unwrap();
        made.pem()
    };
    let first = renew();
    let serve = || {
        let mut command = vault_command();
        command
            .args(["serve", "--port", "0", "--vault"])
            .arg(&vault)
            .arg("--tls-cert")
            .arg(&cert)
            .arg("--tls-key")
            .arg(&key);
        command
    };
    let mut child = serve().stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut said = BufReader::new(child.stdout.take().unwrap());
    let mut lines = String::new();
    while !lines.contains("https://") {
        assert!(said.read_line(&mut lines).unwrap() > 0, "{lines}");
    }
    let address = lines.split("https://").nth(1).unwrap().split_whitespace().next().unwrap().to_owned();
    let port = address.rsplit(':').next().unwrap();
    assert_eq!(status(port, &first).unwrap(), 200);
    let opened = Ran::of(vault_command().args(["open", "--print", "--vault"]).arg(&vault)).ok().stdout;
    assert!(opened.starts_with(&format!("https://{address}/#code=")), "{opened}");

    // Who speaks no TLS, or nothing at all, is answered nothing and keeps nobody out.
    let silent: Vec<TcpStream> = (0..8).map(|_| TcpStream::connect(&address).unwrap()).collect();
    let mut plain = TcpStream::connect(&address).unwrap();
    plain.write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let _ = plain.read_to_end(&mut answer);
    assert!(!String::from_utf8_lossy(&answer).contains("HTTP/1.1"), "{answer:?}");
    assert_eq!(status(port, &first).unwrap(), 200);
    drop(silent);

    // One that is renewed counts while it runs; one that is broken does not.
    let second = renew();
    until("the new certificate", || status(port, &second).is_ok());
    assert!(status(port, &first).is_err());
    fs::write(&cert, "no certificate").unwrap();
    std::thread::sleep(Duration::from_secs(7));
    assert_eq!(status(port, &second).unwrap(), 200);
    child.kill().unwrap();
    child.wait().unwrap();

    // Nothing is served with files that do not fit, or with half of them.
    let failed = Ran::of(&mut serve());
    assert_ne!(failed.code, 0);
    assert!(failed.stderr.contains("cert.pem"), "{}", failed.stderr);
    renew();
    fs::write(&key, rcgen::KeyPair::generate().unwrap().serialize_pem()).unwrap();
    assert_ne!(Ran::of(&mut serve()).code, 0);
    let half = Ran::of(vault_command().args(["serve", "--tls-cert"]).arg(&cert).arg("--vault").arg(&vault));
    assert!(half.stderr.contains("--tls-key"), "{}", half.stderr);
}
