//! The tokens of remote assistants: registered, given for a code, renewed by a ticket that changes each time, and taken back.

use std::sync::Arc;
use std::time::Instant;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use blake3::Hash;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::client::Client;
use super::consent::AuthorizationRequest;
use super::document::Documents;
use super::params::{OAuthError, Params};
use crate::access::policy::AgentRegistry;
use crate::access::rules::{Authenticator, Principal, Token};
use crate::base::address::WebAddress;
use crate::base::config::ServerConfig;
use crate::base::fs::crash;
use crate::base::state::{RemoteGrant, RemoteGrantTable, RemoteTerms, State, StateError};

/// A code counts for so long.
const CODE_LIFE: SignedDuration = SignedDuration::from_secs(60);
/// So does an access token.
const ACCESS_LIFE: SignedDuration = SignedDuration::from_hours(1);
/// And a refresh token.
const REFRESH_LIFE: SignedDuration = SignedDuration::from_hours(60 * 24);
/// Length of what a ticket begins with.
const ID_CHARS: usize = 32;
/// The one scope. What may be seen says the agent's page.
const SCOPE: &str = "vault";
/// Where clients register themselves.
pub(crate) const REGISTER: &str = "/oauth/register";

/// Where the outside reaches a vault, and whether clients may register there.
#[derive(Debug, Clone)]
pub(crate) struct RemoteAddress {
    /// The address of the vault: what it is called as an authorization server.
    pub(crate) issuer: String,
    registration: bool,
}

impl RemoteAddress {
    /// That of a vault at a path of a server, which is empty where it has but one; `None` where the outside does not reach it.
    pub(crate) fn of(config: &ServerConfig, path: &str) -> Option<Self> {
        let issuer = format!("{}{path}", config.public()?);
        Some(Self { issuer, registration: config.client_registration })
    }

    /// The address of `/mcp`, for which tokens count.
    pub(crate) fn resource(&self) -> String {
        format!("{}/mcp", self.issuer)
    }

    /// The address of a document of its own: between host and path (RFC 8414, RFC 9728).
    fn well_known(&self, name: &str, of: &str) -> String {
        let origin = WebAddress::parse(of).map(|address| address.origin()).unwrap_or_default();
        format!("{origin}/.well-known/{name}{}", &of[origin.len()..])
    }

    /// What `/mcp` answers to who has no token that counts.
    pub(crate) fn challenge(&self, has_token: bool) -> String {
        let metadata = self.well_known("oauth-protected-resource", &self.resource());
        let error = if has_token { "error=\"invalid_token\", " } else { "" };
        format!("Bearer {error}resource_metadata=\"{metadata}\", scope=\"{SCOPE}\"")
    }

    /// What `/mcp` is (RFC 9728).
    pub(crate) fn resource_metadata(&self) -> Value {
        json!({
            "resource": self.resource(),
            "authorization_servers": [self.issuer],
            "scopes_supported": [SCOPE],
            "bearer_methods_supported": ["header"],
            "resource_name": "vault",
        })
    }

    /// How a client comes to a token (RFC 8414).
    pub(crate) fn server_metadata(&self) -> Value {
        let at = |path: &str| format!("{}{path}", self.issuer);
        let mut all = json!({
            "issuer": self.issuer,
            "authorization_endpoint": at("/oauth/authorize"),
            "token_endpoint": at("/oauth/token"),
            "revocation_endpoint": at("/oauth/revoke"),
            "response_types_supported": ["code"],
            "response_modes_supported": ["query"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "token_endpoint_auth_methods_supported": ["none"],
            "revocation_endpoint_auth_methods_supported": ["none"],
            "code_challenge_methods_supported": ["S256"],
            "scopes_supported": [SCOPE],
            "client_id_metadata_document_supported": true,
            "authorization_response_iss_parameter_supported": true,
        });
        if self.registration {
            all["registration_endpoint"] = at(REGISTER).into();
        }
        all
    }

    /// Whether an address names `/mcp`: a slash at its end does not count.
    pub(super) fn is_resource(&self, said: &str) -> bool {
        said.strip_suffix('/').unwrap_or(said) == self.resource()
    }
}

/// What remote assistants get of one vault. It opens no index.
pub(crate) struct Remote {
    pub(crate) at: RemoteAddress,
    /// The vault's; none where there is no vault at that address, which answers as one that knows nobody.
    vault: Option<VaultParts>,
    pub(super) documents: Documents,
}

struct VaultParts {
    state: Arc<State>,
    agents: Arc<AgentRegistry>,
    grants: RemoteGrantTable,
}

impl Remote {
    /// What they get of a vault.
    pub(crate) fn new(at: RemoteAddress, state: &Arc<State>, agents: &Arc<AgentRegistry>) -> Self {
        let grants = RemoteGrantTable::new(state);
        let vault = VaultParts { state: Arc::clone(state), agents: Arc::clone(agents), grants };
        Self { at, vault: Some(vault), documents: Documents::default() }
    }

    /// The same where there is no vault.
    pub(crate) fn of_no_vault(at: RemoteAddress) -> Self {
        Self { at, vault: None, documents: Documents::default() }
    }

    /// Registers a client (RFC 7591).
    ///
    /// # Errors
    /// When clients may not register here, or this one has nowhere to go.
    pub(crate) fn register(&self, metadata: &[u8], now: Timestamp) -> Result<Value, OAuthError> {
        if !self.at.registration {
            return Err(OAuthError::new("access_denied", "clients cannot register here"));
        }
        let metadata: Value = serde_json::from_slice(metadata)
            .map_err(|_| OAuthError::new("invalid_client_metadata", "the body is not JSON"))?;
        let client = Client::read(&metadata)?;
        let key = match &self.vault {
            Some(vault) => vault.state.key_or_new().map_err(|error| failed(&error))?,
            None => {
                let random = Token::random().map_err(|error| failed(&error))?;
                crate::base::state::DigestKey::of(*random.hash().as_bytes())
            }
        };
        Ok(json!({
            "client_id": client.sealed(&key).map_err(|error| failed(&error))?,
            "client_id_issued_at": now.as_second(),
            "client_name": client.name,
            "redirect_uris": client.redirects,
            "token_endpoint_auth_method": "none",
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
        }))
    }

    /// The client of an id. It may wait for the network.
    ///
    /// # Errors
    /// Why there is none, for the person.
    pub(super) fn client(&self, id: &str) -> Result<Client, String> {
        if id.starts_with("https:") {
            return self.documents.client(id, Instant::now());
        }
        let keys = self.vault.as_ref().and_then(|vault| vault.state.keys().ok()).unwrap_or_default();
        Client::of_sealed(id, &keys).ok_or_else(|| "no client of this id has registered here".into())
    }

    /// Lets a client act as an agent, of whose own token this is the hash; gives the code.
    ///
    /// # Errors
    /// When the state cannot be written.
    pub(super) fn grant(
        &self,
        request: &AuthorizationRequest,
        slug: &str,
        agent: &Hash,
        now: Timestamp,
    ) -> Result<String, StateError> {
        let random = || Token::random().map_err(no_random);
        let (mut id, access) = (random()?.reveal().to_owned(), random()?);
        id.truncate(ID_CHARS);
        let code = ticket(&id, &random()?);
        let terms = RemoteTerms {
            slug: slug.to_owned(),
            agent: agent.to_hex().to_string(),
            client: request.client_id.clone(),
            redirect: request.redirect.clone(),
            challenge: request.challenge.clone(),
            resource: self.at.resource(),
            ticket: Token::from_text(&code).hash().to_hex().to_string(),
            is_code: true,
            ticket_until: now + CODE_LIFE,
            access_until: now,
        };
        let Some(vault) = &self.vault else { return Ok(code) };
        vault.grants.add(&RemoteGrant { id, access: access.hash(), terms }, now)?;
        crash::point("code-kept");
        Ok(code)
    }

    /// Answers at the token endpoint: tokens for a code, or for a refresh token.
    ///
    /// # Errors
    /// When the request makes no sense or its code or token does not count. One that did before, or is in other hands, ends all that it gave.
    pub(crate) fn token(&self, form: &str, now: Timestamp) -> Result<Value, OAuthError> {
        let params = Params::read(form)?;
        let (is_code, name) = match params.need("grant_type")? {
            "authorization_code" => (true, "code"),
            "refresh_token" => (false, "refresh_token"),
            _ => return Err(OAuthError::new("unsupported_grant_type", "`grant_type` is of no use here")),
        };
        let (client, said) = (params.need("client_id")?, params.need(name)?);
        let proof = match is_code {
            true => Some((params.need("redirect_uri")?, challenge_of(params.need("code_verifier")?))),
            false => None,
        };
        if params.get("resource").is_some_and(|resource| !self.at.is_resource(resource)) {
            return Err(OAuthError::new("invalid_target", "`resource` is not the address of this vault's MCP"));
        }
        let random = || Token::random().map_err(|error| failed(&error));
        let (access, secret) = (random()?, random()?);
        let (Some((id, _)), Some(vault)) = (said.split_once('.'), &self.vault) else { return Err(nothing()) };
        let (refresh, shown) = (ticket(id, &secret), Token::from_text(said).hash());
        let next = |grant: RemoteGrant| {
            let terms = &grant.terms;
            let is_ticket = Hash::from_hex(&terms.ticket).is_ok_and(|known| known == shown) && terms.is_code == is_code;
            let is_in_time = now < terms.ticket_until;
            let is_proven = proof.as_ref().is_none_or(|(redirect, challenge)| {
                terms.redirect == *redirect && challenge.as_ref().is_some_and(|challenge| terms.challenge == *challenge)
            });
            let is_theirs = terms.client == client && terms.resource == self.at.resource();
            let counts = is_ticket && is_in_time && is_proven && is_theirs && vault.is_alive(terms);
            counts.then(|| RemoteGrant {
                id: grant.id.clone(),
                access: access.hash(),
                terms: RemoteTerms {
                    ticket: Token::from_text(&refresh).hash().to_hex().to_string(),
                    is_code: false,
                    ticket_until: now + REFRESH_LIFE,
                    access_until: now + ACCESS_LIFE,
                    ..grant.terms
                },
            })
        };
        vault.grants.change(id, next).map_err(|error| failed(&error))?.ok_or_else(nothing)?;
        crash::point("tokens-kept");
        Ok(json!({
            "access_token": access.reveal(),
            "token_type": "Bearer",
            "expires_in": ACCESS_LIFE.as_secs(),
            "refresh_token": refresh,
            "scope": SCOPE,
        }))
    }

    /// Ends what an access or refresh token belongs to (RFC 7009). One that is not known is no error.
    ///
    /// # Errors
    /// When no token is named, or the state cannot be written.
    pub(crate) fn revoke(&self, form: &str) -> Result<(), OAuthError> {
        let params = Params::read(form)?;
        let said = Token::from_text(params.need("token")?);
        let Some(vault) = &self.vault else { return Ok(()) };
        let all = vault.grants.list().map_err(|error| failed(&error))?;
        let is_its = |grant: &&RemoteGrant| {
            grant.access == said.hash() || Hash::from_hex(&grant.terms.ticket).is_ok_and(|ticket| ticket == said.hash())
        };
        let ended = all.iter().filter(is_its).try_for_each(|grant| vault.grants.remove(&grant.id).map(drop));
        ended.map_err(|error| failed(&error))
    }
}

impl VaultParts {
    /// Whether the agent that was let in is there, and its time is not over.
    fn is_alive(&self, terms: &RemoteTerms) -> bool {
        let own = self.agents.token_of(&terms.slug).ok().flatten();
        let is_same = own.is_some_and(|own| Hash::from_hex(&terms.agent).is_ok_and(|known| known == own.hash));
        is_same && self.agents.policy(&terms.slug).is_some()
    }
}

impl Authenticator for Remote {
    /// Who has an access token of a remote assistant. It counts at `/mcp` alone: nothing else may ask this.
    fn holder(&self, token: &Hash) -> Option<Principal> {
        let vault = self.vault.as_ref()?;
        let known = vault.grants.holder(token).inspect_err(|error| tracing::warn!("{error}")).ok()??;
        let is_for_here = known.terms.resource == self.at.resource();
        let counts = is_for_here && Timestamp::now() < known.terms.access_until && vault.is_alive(&known.terms);
        counts.then(|| vault.agents.named(&known.terms.slug).map(Principal::Agent)).flatten()
    }
}

/// What a code or refresh token is: it names its grant, and nobody can guess either.
fn ticket(id: &str, secret: &Token) -> String {
    format!("{id}.{}", secret.reveal())
}

/// The challenge that a verifier meets (RFC 7636); `None` for what is no verifier.
pub(crate) fn challenge_of(verifier: &str) -> Option<String> {
    let takes = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let is_one = (43..=128).contains(&verifier.len()) && verifier.bytes().all(takes);
    is_one.then(|| URL_SAFE_NO_PAD.encode(Sha256::digest(verifier)))
}

fn nothing() -> OAuthError {
    OAuthError::new("invalid_grant", "this code or token does not count, or no longer; sign in again")
}

fn failed(error: &dyn std::fmt::Display) -> OAuthError {
    tracing::warn!("a remote assistant was not answered: {error}");
    OAuthError::new("temporarily_unavailable", "the vault cannot answer now")
}

fn no_random(source: std::io::Error) -> StateError {
    crate::base::fs::FsError { operation: "get random numbers from", path: "the system".into(), source }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    const BACK: &str = "https://claude.ai/cb";

    /// A vault with the agent Ada, who was let in at a time; gives her code.
    fn let_in(folder: &tempfile::TempDir, now: Timestamp) -> (Remote, String) {
        let page = folder.path().join("agents/ada/agent.md");
        std::fs::create_dir_all(page.parent().unwrap()).unwrap();
        std::fs::write(&page, "---\ncan_read_user_memory: true\n---\n").unwrap();
        let state = State::in_folder(folder.path());
        let agents = Arc::new(AgentRegistry::new(folder.path().to_owned(), &state));
        let own = agents.give_token("ada", None).unwrap().hash();
        let config = ServerConfig { public_url: "https://memory.example.com".into(), ..ServerConfig::default() };
        let remote = Remote::new(RemoteAddress::of(&config, "").unwrap(), &state, &agents);
        let request = AuthorizationRequest::for_test("client", BACK, &challenge_of(VERIFIER).unwrap());
        let code = remote.grant(&request, "ada", &own, now).unwrap();
        (remote, code)
    }

    fn trade(remote: &Remote, code: &str, now: Timestamp) -> Result<Value, OAuthError> {
        let form = format!(
            "grant_type=authorization_code&client_id=client&code={code}&redirect_uri={BACK}&code_verifier={VERIFIER}"
        );
        remote.token(&form, now)
    }

    fn renew(remote: &Remote, tokens: &Value, now: Timestamp) -> Result<Value, OAuthError> {
        let refresh = tokens["refresh_token"].as_str().unwrap();
        remote.token(&format!("grant_type=refresh_token&client_id=client&refresh_token={refresh}"), now)
    }

    fn is_in(remote: &Remote, tokens: &Value) -> bool {
        remote.holder(&Token::from_text(tokens["access_token"].as_str().unwrap()).hash()).is_some()
    }

    #[test]
    fn a_code_counts_for_a_minute_and_tokens_for_their_time() {
        let now = Timestamp::now();
        let second = SignedDuration::from_secs(1);
        let folder = || tempfile::tempdir().unwrap();
        let (late, code) = let_in(&folder(), now);
        assert_eq!(trade(&late, &code, now + CODE_LIFE).unwrap_err().error, "invalid_grant");
        let here = folder();
        let (remote, code) = let_in(&here, now);
        let tokens = trade(&remote, &code, now + CODE_LIFE - second).unwrap();
        assert!(is_in(&remote, &tokens));
        let next = renew(&remote, &tokens, now + REFRESH_LIFE).unwrap();
        let over = now + REFRESH_LIFE + REFRESH_LIFE;
        assert_eq!(renew(&remote, &next, over).unwrap_err().error, "invalid_grant");
        assert_eq!(renew(&remote, &next, now).unwrap_err().error, "invalid_grant", "it has ended");
        // One that was given an hour ago.
        let before = now - ACCESS_LIFE;
        let here = folder();
        let (remote, code) = let_in(&here, before);
        let tokens = trade(&remote, &code, before).unwrap();
        assert!(!is_in(&remote, &tokens));
        assert!(is_in(&remote, &renew(&remote, &tokens, now).unwrap()));
    }

    #[test]
    fn tokens_are_for_the_address_that_they_were_given_at() {
        let (now, here) = (Timestamp::now(), tempfile::tempdir().unwrap());
        let (remote, code) = let_in(&here, now);
        let tokens = trade(&remote, &code, now).unwrap();
        let VaultParts { state, agents, .. } = remote.vault.as_ref().unwrap();
        let config = ServerConfig { public_url: "https://other.example.com".into(), ..ServerConfig::default() };
        let moved = Remote::new(RemoteAddress::of(&config, "").unwrap(), state, agents);
        assert!(is_in(&remote, &tokens) && !is_in(&moved, &tokens));
        assert_eq!(renew(&moved, &tokens, now).unwrap_err().error, "invalid_grant");
        // And the agent's own token, another since, ends them.
        let here = tempfile::tempdir().unwrap();
        let (remote, code) = let_in(&here, now);
        let tokens = trade(&remote, &code, now).unwrap();
        remote.vault.as_ref().unwrap().agents.give_token("ada", None).unwrap();
        assert!(!is_in(&remote, &tokens));
    }

    #[test]
    fn addresses_stand_between_host_and_path() {
        let config = ServerConfig { public_url: "https://memory.example.com/".into(), ..ServerConfig::default() };
        let at = RemoteAddress::of(&config, "/v/maya").unwrap();
        assert_eq!(at.resource_metadata()["authorization_servers"][0], "https://memory.example.com/v/maya");
        let said = at.challenge(true);
        assert!(said.starts_with("Bearer error=\"invalid_token\", resource_metadata=\"https://memory.example.com/.well-known/oauth-protected-resource/v/maya/mcp\""), "{said}");
        assert!(
            at.is_resource("https://memory.example.com/v/maya/mcp/")
                && !at.is_resource("https://memory.example.com/mcp")
        );
    }
}
