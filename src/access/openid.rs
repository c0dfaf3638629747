//! Signing in with an OpenID Connect provider: the authorization code flow, with PKCE. What the provider says of itself is asked for at the first
//! sign-in.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use blake3::Hash;
use openidconnect::core::{
    CoreAuthDisplay, CoreAuthenticationFlow, CoreClaimName, CoreClaimType, CoreClient, CoreClientAuthMethod,
    CoreGrantType, CoreIdToken, CoreJsonWebKey, CoreJweContentEncryptionAlgorithm, CoreJweKeyManagementAlgorithm,
    CoreJwsSigningAlgorithm as Algorithm, CoreResponseMode, CoreResponseType, CoreSubjectIdentifierType,
};
use openidconnect::{
    AdditionalProviderMetadata, AuthType, AuthorizationCode, ClaimsVerificationError, ClientId, ClientSecret,
    CsrfToken, EndpointMaybeSet, EndpointNotSet, EndpointSet, HttpRequest, HttpResponse, IssuerUrl, Nonce,
    PkceCodeChallenge, PkceCodeVerifier, ProviderMetadata, RedirectUrl, TokenResponse,
};
use serde::{Deserialize, Serialize};

use super::rules::Token;
use crate::base::address::WebAddress;

/// Whoever is sent to the provider has so long to come back.
pub(crate) const SIGN_IN_WITHIN: Duration = Duration::from_secs(600);
/// Maximum number of people who are at the provider at a time; the one who is there for longest gives way.
const MAX_BEGUN: usize = 4096;
/// What the provider says of itself counts so long.
const METADATA_LIFE: Duration = Duration::from_secs(3600);
/// Time limit of each request to the provider, from looking for the host to the last byte.
const FETCH_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum length of an answer of the provider, in bytes.
const MAX_ANSWER_BYTES: u64 = 256 << 10;
/// Maximum length of a subject, as OpenID Connect has it.
const MAX_SUBJECT_BYTES: usize = 255;
/// How ID tokens may be signed, where the provider says that it does so: by a key of its own. One that it shares with each client is none.
const ALGORITHMS: [Algorithm; 9] = [
    Algorithm::RsaSsaPkcs1V15Sha256,
    Algorithm::RsaSsaPkcs1V15Sha384,
    Algorithm::RsaSsaPkcs1V15Sha512,
    Algorithm::RsaSsaPssSha256,
    Algorithm::RsaSsaPssSha384,
    Algorithm::RsaSsaPssSha512,
    Algorithm::EcdsaP256Sha256,
    Algorithm::EcdsaP384Sha384,
    Algorithm::EdDsa,
];

/// The provider of a server, and the sign-ins that have begun.
pub(crate) struct OpenId {
    issuer: IssuerUrl,
    client_id: ClientId,
    secret: Option<ClientSecret>,
    redirect: RedirectUrl,
    agent: ureq::Agent,
    known: Mutex<Option<(Instant, Arc<Metadata>)>>,
    begun: Mutex<HashMap<Hash, Begun>>,
}

/// A sign-in that has begun, by the hash of its state.
struct Begun {
    at: Instant,
    /// Of what only the browser that began it has.
    browser: Hash,
    verifier: PkceCodeVerifier,
    nonce: Nonce,
    invitation: Option<String>,
}

/// What the provider has sent the browser back with.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Returned {
    state: String,
    code: Option<String>,
    iss: Option<String>,
    error: Option<String>,
}

/// Who has signed in, and the code of the invitation that they accept so, if any.
#[derive(Debug)]
pub(crate) struct SignedIn {
    /// The provider and its name for them, as a person's page has both.
    pub(crate) account: String,
    pub(crate) invitation: Option<String>,
}

/// Nobody is signed in.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpenIdError {
    /// What came back does not count.
    #[error("{0}")]
    Refused(String),
    /// The provider cannot be asked, or does not do what is needed.
    #[error("{0}")]
    Unavailable(String),
}

/// What a provider says beside what all do.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct IssuerInAnswers {
    /// Whether it always names itself where it sends a browser back (RFC 9207).
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
}

impl AdditionalProviderMetadata for IssuerInAnswers {}

type Metadata = ProviderMetadata<
    IssuerInAnswers,
    CoreAuthDisplay,
    CoreClientAuthMethod,
    CoreClaimName,
    CoreClaimType,
    CoreGrantType,
    CoreJweContentEncryptionAlgorithm,
    CoreJweKeyManagementAlgorithm,
    CoreJsonWebKey,
    CoreResponseMode,
    CoreResponseType,
    CoreSubjectIdentifierType,
>;
type Client =
    CoreClient<EndpointSet, EndpointNotSet, EndpointNotSet, EndpointNotSet, EndpointMaybeSet, EndpointMaybeSet>;

/// Whether an address can be a provider's: https, or of this machine; without a query.
pub(crate) fn is_issuer(address: &str) -> bool {
    WebAddress::parse(address)
        .is_some_and(|address| (address.is_secure || address.is_loopback()) && !address.rest.contains('?'))
}

/// An account as a person's page has it: the issuer, and after a space, which no address has, the subject.
pub(crate) fn account(issuer: &str, subject: &str) -> Option<String> {
    let fits = (1..=MAX_SUBJECT_BYTES).contains(&subject.len()) && !subject.chars().any(char::is_control);
    fits.then(|| format!("{issuer} {subject}"))
}

impl OpenId {
    /// The provider that has this issuer, which [`is_issuer`], and knows this server by an id and perhaps a secret; it sends browsers back to
    /// `redirect`.
    ///
    /// # Errors
    /// When one of them is no address.
    pub(crate) fn new(issuer: &str, client_id: &str, secret: Option<String>, redirect: String) -> Result<Self, String> {
        let wrong = |error| format!("cannot be used: {error}");
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            // What is secret goes where the provider's metadata says, and nowhere else.
            .max_redirects(0)
            .proxy(None)
            .timeout_global(Some(FETCH_TIMEOUT))
            .user_agent(concat!("memory-vault/", env!("CARGO_PKG_VERSION")));
        Ok(Self {
            issuer: IssuerUrl::new(issuer.to_owned()).map_err(wrong)?,
            client_id: ClientId::new(client_id.to_owned()),
            secret: secret.map(ClientSecret::new),
            redirect: RedirectUrl::new(redirect).map_err(wrong)?,
            agent: config.build().new_agent(),
            known: Mutex::default(),
            begun: Mutex::default(),
        })
    }

    /// The provider, for people: its host.
    pub(crate) fn name(&self) -> String {
        WebAddress::parse(&self.issuer).map(|address| address.host).unwrap_or_default()
    }

    /// Where the page has to be opened for the provider to send the browser back to it: scheme, host and port.
    pub(crate) fn origin(&self) -> String {
        WebAddress::parse(&self.redirect).map(|address| address.origin()).unwrap_or_default()
    }

    /// Begins to sign somebody in. Gives the address at the provider, and a secret for the browser that goes there. It may wait for the network.
    ///
    /// # Errors
    /// When the provider cannot be asked.
    pub(crate) fn begin(&self, invitation: Option<String>, now: Instant) -> Result<(String, Token), OpenIdError> {
        let metadata = self.metadata(now)?;
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let flow = CoreAuthenticationFlow::AuthorizationCode;
        let (address, state, nonce) = self
            .client(&metadata)
            .authorize_url(flow, CsrfToken::new_random, Nonce::new_random)
            .set_pkce_challenge(challenge)
            .url();
        if !self.may_ask(address.as_str()) {
            return Err(OpenIdError::Unavailable(format!("{}: its sign-in page is not at https", self.name())));
        }
        let browser = Token::random()
            .map_err(|error| OpenIdError::Unavailable(format!("cannot get random numbers from the system: {error}")))?;
        let mut begun = self.begun();
        begun.retain(|_, one| now.saturating_duration_since(one.at) < SIGN_IN_WITHIN);
        if begun.len() >= MAX_BEGUN
            && let Some(oldest) = begun.iter().min_by_key(|(_, one)| one.at).map(|(state, _)| *state)
        {
            begun.remove(&oldest);
        }
        let one = Begun { at: now, browser: browser.hash(), verifier, nonce, invitation };
        begun.insert(blake3::hash(state.secret().as_bytes()), one);
        Ok((address.into(), browser))
    }

    /// Ends what [`begin`](Self::begin) began, once, in the browser that has its secret. It may wait for the network.
    ///
    /// # Errors
    /// When nothing was begun so, the provider has not signed anybody in, or what it says is not its own, not for this server, or not for now.
    pub(crate) fn finish(&self, back: Returned, browser: &Token, now: Instant) -> Result<SignedIn, OpenIdError> {
        let refused = |why: &str| OpenIdError::Refused(why.to_owned());
        let begun = self.take(&back.state, browser, now).ok_or_else(|| refused("it was not begun in this browser"))?;
        let metadata = self.metadata(now)?;
        let names_itself = metadata.additional_metadata().authorization_response_iss_parameter_supported;
        if back.iss.as_ref().map_or(names_itself, |named| *named != *self.issuer) {
            return Err(refused("another provider has sent the browser back"));
        }
        if let Some(error) = back.error {
            return Err(OpenIdError::Refused(format!("the provider says {error:?}")));
        }
        let code = AuthorizationCode::new(back.code.ok_or_else(|| refused("there is no code"))?);
        let client = self.client(&metadata);
        let exchange = client.exchange_code(code).map_err(|error| self.unavailable(&error))?;
        let tokens = exchange.set_pkce_verifier(begun.verifier).request(&|request| self.fetch(request));
        let tokens = tokens.map_err(|error| match error {
            openidconnect::RequestTokenError::Request(error) => self.unavailable(&error),
            error => OpenIdError::Refused(format!("the code gives no token: {}", chain(&error))),
        })?;
        let id_token = tokens.id_token().ok_or_else(|| refused("the provider gives no ID token"))?;
        let subject = self.subject(id_token, &begun.nonce, &metadata, now)?;
        let account = account(&self.issuer, &subject).ok_or_else(|| refused("its subject is none"))?;
        Ok(SignedIn { account, invitation: begun.invitation })
    }

    /// Whom an ID token names, if all of it is right. A key that is not known may be new: then the provider is asked once again.
    fn subject(
        &self,
        id_token: &CoreIdToken,
        nonce: &Nonce,
        metadata: &Metadata,
        now: Instant,
    ) -> Result<String, OpenIdError> {
        let verified = match self.verified(id_token, nonce, metadata) {
            Err(ClaimsVerificationError::SignatureVerification(_)) => {
                self.verified(id_token, nonce, &*self.discovered(now)?)
            }
            verified => verified,
        };
        verified.map_err(|error| OpenIdError::Refused(format!("the ID token: {}", chain(&error))))
    }

    fn verified(
        &self,
        id_token: &CoreIdToken,
        nonce: &Nonce,
        metadata: &Metadata,
    ) -> Result<String, ClaimsVerificationError> {
        let signs = metadata.id_token_signing_alg_values_supported();
        let client = self.client(metadata);
        let verifier =
            client.id_token_verifier().set_allowed_algs(ALGORITHMS.into_iter().filter(|one| signs.contains(one)));
        Ok(id_token.claims(&verifier, nonce)?.subject().to_string())
    }

    /// What was begun with a state in a browser; then it is over. In another browser it goes on.
    fn take(&self, state: &str, browser: &Token, now: Instant) -> Option<Begun> {
        let (state, browser) = (blake3::hash(state.as_bytes()), browser.hash());
        let mut begun = self.begun();
        begun.get(&state).filter(|one| one.browser == browser)?;
        begun.remove(&state).filter(|one| now.saturating_duration_since(one.at) < SIGN_IN_WITHIN)
    }

    fn client(&self, metadata: &Metadata) -> Client {
        let takes = metadata.token_endpoint_auth_methods_supported();
        let takes = |method| takes.is_some_and(|known| known.contains(&method));
        let in_body = takes(CoreClientAuthMethod::ClientSecretPost) && !takes(CoreClientAuthMethod::ClientSecretBasic);
        CoreClient::from_provider_metadata(metadata.clone(), self.client_id.clone(), self.secret.clone())
            .set_redirect_uri(self.redirect.clone())
            .set_auth_type(if in_body { AuthType::RequestBody } else { AuthType::BasicAuth })
    }

    /// What the provider says of itself, with its keys; asked for where it was not lately.
    fn metadata(&self, now: Instant) -> Result<Arc<Metadata>, OpenIdError> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match known.filter(|(at, _)| now.saturating_duration_since(*at) < METADATA_LIFE) {
            Some((_, metadata)) => Ok(metadata),
            None => self.discovered(now),
        }
    }

    /// The same, asked for in any case.
    fn discovered(&self, now: Instant) -> Result<Arc<Metadata>, OpenIdError> {
        let found = Metadata::discover(&self.issuer, &|request| self.fetch(request));
        let metadata = Arc::new(found.map_err(|error| self.unavailable(&error))?);
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Some((now, Arc::clone(&metadata)));
        Ok(metadata)
    }

    fn fetch(&self, request: HttpRequest) -> Result<HttpResponse, ureq::Error> {
        if !self.may_ask(&request.uri().to_string()) {
            return Err(io::Error::other("it names an address that is not https").into());
        }
        // An empty body would be sent as one.
        let (parts, body) = request.into_parts();
        let request = ureq::http::Request::from_parts(parts, ());
        let answer = match body.is_empty() {
            true => self.agent.run(request),
            false => self.agent.run(request.map(|()| body)),
        };
        let (parts, mut body) = answer?.into_parts();
        let body = body.with_config().limit(MAX_ANSWER_BYTES).read_to_vec()?;
        Ok(HttpResponse::from_parts(parts, body))
    }

    /// Whether an address that the provider names may be asked: https, or of this machine where the provider is.
    fn may_ask(&self, address: &str) -> bool {
        let is_here = |address: &WebAddress| address.is_loopback();
        let is_here_itself = WebAddress::parse(&self.issuer).as_ref().is_some_and(is_here);
        WebAddress::parse(address).is_some_and(|address| address.is_secure || (is_here_itself && is_here(&address)))
    }

    fn unavailable(&self, error: &dyn std::error::Error) -> OpenIdError {
        OpenIdError::Unavailable(format!("{}: {}", self.name(), chain(error)))
    }

    fn begun(&self) -> MutexGuard<'_, HashMap<Hash, Begun>> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An error with what led to it.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source()).map(|error| error.to_string());
    // What the provider sent may be quoted.
    causes.collect::<Vec<_>>().join(": ").replace(char::is_control, " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_is_at_https_or_here() {
        for (address, is) in [
            ("https://accounts.example.com", true),
            ("https://login.example.com/tenant/v2.0/", true),
            ("http://127.0.0.1:8080/realms/home", true),
            ("http://accounts.example.com", false),
            ("https://accounts.example.com/?tenant=1", false),
            ("https://maya@accounts.example.com", false),
            ("accounts.example.com", false),
        ] {
            assert_eq!(is_issuer(address), is, "{address}");
        }
        let asks = |issuer: &str, address: &str| {
            OpenId::new(issuer, "vault", None, "http://127.0.0.1:7833/v/".into()).unwrap().may_ask(address)
        };
        assert!(asks("https://a.example", "https://b.example/token"), "providers have several hosts");
        assert!(!asks("https://a.example", "http://a.example/token"));
        assert!(!asks("https://a.example", "http://127.0.0.1/token"), "nothing else of this machine is asked");
        assert!(asks("http://localhost:1", "http://127.0.0.1:2/token"));
        assert!(
            !asks("http://localhost:1", "javascript:alert(1)") && !asks("http://localhost:1", "file:///etc/passwd")
        );
    }

    #[test]
    fn what_was_begun_is_ended_once_in_time_and_in_its_browser() {
        let openid = OpenId::new("https://a.example", "vault", None, "https://vault.example/v/".into()).unwrap();
        let (now, browser) = (Instant::now(), Token::from_text("browser"));
        let begin = |state: &str, at: Instant| {
            let (_, verifier) = PkceCodeChallenge::new_random_sha256();
            let one = Begun { at, browser: browser.hash(), verifier, nonce: Nonce::new_random(), invitation: None };
            openid.begun().insert(blake3::hash(state.as_bytes()), one);
        };
        begin("one", now);
        assert!(openid.take("one", &Token::from_text("other"), now).is_none(), "another browser");
        assert!(openid.take("two", &browser, now).is_none());
        assert!(openid.take("one", &browser, now).is_some(), "nobody else has ended it");
        assert!(openid.take("one", &browser, now).is_none(), "once");
        begin("late", now);
        assert!(openid.take("late", &browser, now + SIGN_IN_WITHIN).is_none());
    }

    #[test]
    fn an_account_is_of_one_issuer() {
        assert_eq!(account("https://a.example", "1").as_deref(), Some("https://a.example 1"));
        assert_ne!(account("https://a.example", "1"), account("https://b.example", "1"));
        assert!(["", "a\nb", &"a".repeat(256)].iter().all(|subject| account("https://a.example", subject).is_none()));
    }
}
