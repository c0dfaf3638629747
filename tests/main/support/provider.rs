//! An OpenID Connect provider, which signs anybody in as whoever the test says, and lies as it says.

use std::collections::HashMap;
use std::io::Read;
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use openidconnect::PrivateSigningKey;
use openidconnect::core::{CoreJwsSigningAlgorithm, CoreRsaPrivateSigningKey};
use rcgen::{KeyPair, PublicKeyData, SigningKey};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::upstream::{Got, Upstream, respond};

/// A key that signs ID tokens.
#[derive(Clone)]
pub struct Key {
    pub algorithm: &'static str,
    pub public: Value,
    #[allow(clippy::type_complexity, reason = "it is said once")]
    sign: Arc<dyn Fn(&[u8]) -> Vec<u8> + Send + Sync>,
}

fn encoded(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

impl Key {
    /// EdDSA, with an id.
    pub fn ed25519(id: &str) -> Self {
        let pair = KeyPair::generate_for(&rcgen::PKCS_ED25519).unwrap();
        let public = json!({ "kty": "OKP", "crv": "Ed25519", "kid": id, "use": "sig", "x": encoded(pair.der_bytes()) });
        Self { algorithm: "EdDSA", public, sign: Arc::new(move |text| pair.sign(text).unwrap()) }
    }

    /// ES256, with an id.
    pub fn p256(id: &str) -> Self {
        let pair = KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).unwrap();
        let (x, y) = pair.der_bytes()[1..].split_at(32);
        let public = json!({ "kty": "EC", "crv": "P-256", "kid": id, "use": "sig", "x": encoded(x), "y": encoded(y) });
        // A SEQUENCE of two INTEGERs, which a token has as 32 bytes each.
        let plain = |der: &[u8]| {
            let (first, second) = der[4..].split_at(der[3].into());
            let fixed = |integer: &[u8]| [[0; 32].as_slice(), integer].concat()[integer.len()..].to_vec();
            [fixed(first), fixed(&second[2..])].concat()
        };
        Self { algorithm: "ES256", public, sign: Arc::new(move |text| plain(&pair.sign(text).unwrap())) }
    }

    /// RS256, with an id.
    pub fn rsa(id: &str) -> Self {
        let pem = include_str!("../../data/openid-rsa.pem");
        let key = CoreRsaPrivateSigningKey::from_pem(pem, Some(openidconnect::JsonWebKeyId::new(id.into()))).unwrap();
        let public = serde_json::to_value(key.as_verification_key()).unwrap();
        let sign = move |text: &[u8]| key.sign(&CoreJwsSigningAlgorithm::RsaSsaPkcs1V15Sha256, text).unwrap();
        Self { algorithm: "RS256", public, sign: Arc::new(sign) }
    }

    /// Whatever gives a signature, under the id of another key.
    pub fn other(algorithm: &'static str, of: &Self, sign: impl Fn(&[u8]) -> Vec<u8> + Send + Sync + 'static) -> Self {
        Self { algorithm, public: of.public.clone(), sign: Arc::new(sign) }
    }

    fn token(&self, claims: &Value) -> String {
        let header = json!({ "alg": self.algorithm, "typ": "JWT", "kid": self.public["kid"] });
        let text = format!("{}.{}", encoded(header.to_string()), encoded(claims.to_string()));
        format!("{text}.{}", encoded((self.sign)(text.as_bytes())))
    }
}

/// What the provider does otherwise than it should.
#[derive(Clone, Default)]
pub struct Twist {
    /// Claims in the place of those that are right; null leaves one out.
    pub claims: Value,
    /// Signs instead of the key that is published.
    pub key: Option<Key>,
    /// What the metadata says otherwise.
    pub metadata: Value,
    /// Never answers.
    pub is_silent: bool,
    /// Answers so to every request: status and headers.
    pub answer: Option<(&'static str, String, Vec<u8>)>,
}

/// What a browser was sent to the provider with.
#[derive(Clone)]
struct Asked {
    subject: String,
    nonce: String,
    challenge: String,
    redirect: String,
}

struct Inner {
    key: Key,
    twist: Twist,
    codes: HashMap<String, Asked>,
    made: usize,
}

/// What the provider sends a browser back with.
#[derive(Debug, Clone)]
pub struct Back {
    pub state: String,
    pub code: String,
}

/// The provider.
pub struct Provider {
    upstream: Upstream,
    inner: Arc<Mutex<Inner>>,
}

impl Provider {
    pub fn start() -> Self {
        let inner = Inner { key: Key::ed25519("one"), twist: Twist::default(), codes: HashMap::new(), made: 0 };
        let inner = Arc::new(Mutex::new(inner));
        let kept = Arc::clone(&inner);
        let upstream = Upstream::start(move |got, stream| answer(&kept, got, stream));
        Self { upstream, inner }
    }

    pub fn issuer(&self) -> String {
        format!("http://{}", self.upstream.address())
    }

    /// What a server's settings say of it.
    pub fn settings(&self) -> String {
        format!("[sign_in]\nopenid_issuer = {:?}\nopenid_client_id = \"vault\"\n", self.issuer())
    }

    pub fn got(&self) -> Vec<Got> {
        self.upstream.got()
    }

    /// How often it was asked for something.
    pub fn asked(&self, path: &str) -> usize {
        self.got().iter().filter(|got| got.line.split(' ').nth(1) == Some(path)).count()
    }

    pub fn twist(&self, twist: Twist) {
        self.inner.lock().unwrap().twist = twist;
    }

    pub fn key(&self) -> Key {
        self.inner.lock().unwrap().key.clone()
    }

    /// Signs with another key from now on, and publishes that alone.
    pub fn change_key(&self, key: Key) {
        self.inner.lock().unwrap().key = key;
    }

    /// What becomes of a browser that is sent to an address here, and signs in with a name.
    #[track_caller]
    pub fn signs_in(&self, address: &str, subject: &str) -> Back {
        let (page, query) = address.split_once('?').unwrap();
        assert_eq!(page, format!("{}/authorize", self.issuer()));
        let pairs: Vec<(String, String)> = serde_urlencoded::from_str(query).unwrap();
        let names: std::collections::BTreeSet<&str> = pairs.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names.len(), pairs.len(), "each is said once: {query}");
        let said: HashMap<String, String> = pairs.iter().cloned().collect();
        for (name, value) in
            [("response_type", "code"), ("client_id", "vault"), ("scope", "openid"), ("code_challenge_method", "S256")]
        {
            assert_eq!(said[name], value, "{query}");
        }
        let mut inner = self.inner.lock().unwrap();
        inner.made += 1;
        let code = format!("code-{}", inner.made);
        let asked = Asked {
            subject: subject.into(),
            nonce: said["nonce"].clone(),
            challenge: said["code_challenge"].clone(),
            redirect: said["redirect_uri"].clone(),
        };
        assert!(asked.nonce.len() > 20 && asked.challenge.len() == 43 && said["state"].len() > 20, "{query}");
        inner.codes.insert(code.clone(), asked);
        Back { state: said["state"].clone(), code }
    }

    /// Where it would send the browser that has this code.
    pub fn redirect(&self, back: &Back) -> String {
        self.inner.lock().unwrap().codes[&back.code].redirect.clone()
    }
}

fn answer(inner: &Mutex<Inner>, got: &Got, stream: &mut TcpStream) {
    let twist = inner.lock().unwrap().twist.clone();
    if twist.is_silent {
        // Until whoever asks has had enough.
        let _ = stream.read(&mut [0]);
        return;
    }
    if let Some((status, headers, body)) = &twist.answer {
        return respond(stream, status, headers, body);
    }
    let issuer = format!("http://{}", got.header("host").unwrap());
    let (status, said) = match got.line.split(' ').nth(1).unwrap() {
        "/.well-known/openid-configuration" => ("200 OK", merged(metadata(&issuer), &twist.metadata)),
        "/jwks" => ("200 OK", json!({ "keys": [inner.lock().unwrap().key.public] })),
        "/token" => match token(&mut inner.lock().unwrap(), &twist, &issuer, got) {
            Ok(said) => ("200 OK", said),
            Err(why) => ("400 Bad Request", json!({ "error": "invalid_grant", "error_description": why })),
        },
        _ => ("404 Not Found", json!({})),
    };
    respond(stream, status, "Content-Type: application/json\r\n", said.to_string().as_bytes());
}

fn metadata(issuer: &str) -> Value {
    json!({
        "issuer": issuer, "authorization_endpoint": format!("{issuer}/authorize"),
        "token_endpoint": format!("{issuer}/token"), "jwks_uri": format!("{issuer}/jwks"),
        "response_types_supported": ["code"], "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["RS256", "ES256", "EdDSA", "HS256", "none"],
    })
}

/// One value with the members of another in the place of its own; null leaves one out.
fn merged(mut value: Value, over: &Value) -> Value {
    let members = value.as_object_mut().unwrap();
    for (name, other) in over.as_object().into_iter().flatten() {
        match other {
            Value::Null => _ = members.remove(name),
            other => _ = members.insert(name.clone(), other.clone()),
        }
    }
    value
}

/// Trades a code, once, with whoever has its verifier.
fn token(inner: &mut Inner, twist: &Twist, issuer: &str, got: &Got) -> Result<Value, &'static str> {
    let form: HashMap<String, String> = serde_urlencoded::from_bytes(&got.body).map_err(|_| "no form")?;
    let field = |name: &str| form.get(name).map(String::as_str).unwrap_or_default();
    let by_basic = got.header("authorization").and_then(|value| value.strip_prefix("Basic ")).and_then(|basic| {
        let decoded = String::from_utf8(STANDARD.decode(basic).ok()?).ok()?;
        Some(decoded.split_once(':')?.0.to_owned())
    });
    if field("grant_type") != "authorization_code" || by_basic.as_deref().unwrap_or(field("client_id")) != "vault" {
        return Err("not the client");
    }
    let asked = inner.codes.remove(field("code")).ok_or("no such code")?;
    if encoded(Sha256::digest(field("code_verifier"))) != asked.challenge {
        return Err("not the verifier");
    }
    if field("redirect_uri") != asked.redirect {
        return Err("not the redirect address");
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let claims = json!({
        "iss": issuer, "aud": "vault", "sub": asked.subject, "nonce": asked.nonce, "iat": now, "exp": now + 300,
    });
    let id_token = twist.key.as_ref().unwrap_or(&inner.key).token(&merged(claims, &twist.claims));
    Ok(json!({ "access_token": "access", "token_type": "Bearer", "expires_in": 300, "id_token": id_token }))
}
