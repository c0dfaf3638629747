//! Consent: what a client asks for is shown to the person, who lets it in as an agent, or does not. Nothing is kept between the two: the
//! decision comes with the request, which is read anew.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;

use super::client::Client;
use super::grants::Remote;
use super::params::{OAuthError, Params, with_params};
use crate::access::agents;
use crate::access::request::{Owner, RequestError};
use crate::access::rules::Token;
use crate::base::address::WebAddress;
use crate::base::fs::crash;
use crate::serve::wire::{ConsentDecision, ConsentGoes, ConsentRequest};
use crate::vault::disk::slug;

/// What a client asks for, when all of it is right.
pub(crate) struct AuthorizationRequest {
    pub(super) client_id: String,
    pub(super) redirect: String,
    pub(super) challenge: String,
    client: Client,
}

#[cfg(test)]
impl AuthorizationRequest {
    /// One of a client that was looked at.
    pub(super) fn for_test(client_id: &str, redirect: &str, challenge: &str) -> Self {
        let client = Client { name: client_id.to_owned(), redirects: vec![redirect.to_owned()] };
        Self { client_id: client_id.to_owned(), redirect: redirect.to_owned(), challenge: challenge.to_owned(), client }
    }
}

/// A request of a client that is known, with an address that is its own.
struct Asked {
    client_id: String,
    client: Client,
    redirect: String,
    state: Option<String>,
    params: Params,
}

impl Asked {
    /// Reads a query.
    ///
    /// # Errors
    /// When client or address are not right: then nobody is sent anywhere.
    fn read(remote: &Remote, query: &str) -> Result<Self, RequestError> {
        let wrong =
            |about: String| RequestError::invalid(about).hint("close this page, and start again in the assistant");
        let params = Params::read(query).map_err(|error| wrong(error.about))?;
        let need = |name| params.need(name).map(str::to_owned).map_err(|error| wrong(error.about));
        let (client_id, redirect) = (need("client_id")?, need("redirect_uri")?);
        let client = remote.client(&client_id).map_err(wrong)?;
        if !client.has_redirect(&redirect) {
            return Err(wrong("the assistant did not name the address that it wants the answer at".into()));
        }
        let state = params.get("state").map(str::to_owned);
        Ok(Self { client_id, client, redirect, state, params })
    }

    /// The same, where all else is right too.
    ///
    /// # Errors
    /// What the client is told.
    fn complete(&self, remote: &Remote) -> Result<AuthorizationRequest, OAuthError> {
        let params = &self.params;
        if params.need("response_type")? != "code" {
            return Err(OAuthError::new("unsupported_response_type", "`response_type` takes code"));
        }
        if params.get("code_challenge_method") != Some("S256") {
            return Err(OAuthError::request("`code_challenge_method` takes S256"));
        }
        let challenge = params.need("code_challenge")?;
        if URL_SAFE_NO_PAD.decode(challenge).map_or(0, |bytes| bytes.len()) != 32 {
            return Err(OAuthError::request("`code_challenge` is none of S256"));
        }
        if params.get("resource").is_some_and(|resource| !remote.at.is_resource(resource)) {
            return Err(OAuthError::new("invalid_target", "`resource` is not the address of this vault's MCP"));
        }
        let (client_id, redirect) = (self.client_id.clone(), self.redirect.clone());
        Ok(AuthorizationRequest { client_id, redirect, challenge: challenge.to_owned(), client: self.client.clone() })
    }

    /// The address at which the client gets an answer. It says who answers (RFC 9207).
    fn answer(&self, remote: &Remote, answer: &[(&str, &str)]) -> String {
        let state = self.state.as_deref().map(|state| ("state", state));
        let all: Vec<_> = answer.iter().copied().chain(state).chain([("iss", remote.at.issuer.as_str())]).collect();
        with_params(&self.redirect, &all)
    }

    fn refusal(&self, remote: &Remote, error: &OAuthError) -> String {
        self.answer(remote, &[("error", error.error), ("error_description", &error.about)])
    }
}

/// What a client asks for, as the person is shown it before deciding.
///
/// # Errors
/// When the client or the address of its answer is not right.
pub(crate) fn look(owner: &Owner, remote: &Remote, query: &str) -> Result<ConsentRequest, RequestError> {
    let asked = Asked::read(remote, query)?;
    let problem = asked.complete(remote).err();
    let same = slug(&asked.client.name);
    let agents = &owner.workspace().agents;
    Ok(ConsentRequest {
        name: asked.client.name.clone(),
        // Who registers itself may call itself anything: only a document says whose a client is.
        published_by: asked.client_id.starts_with("https:").then(|| host_of(&asked.client_id)),
        redirect_host: host_of(&asked.redirect),
        redirect: asked.redirect.clone(),
        agent: agents.page(&same).map(|_| same),
        back: problem.as_ref().map(|error| asked.refusal(remote, error)),
        problem: problem.map(|error| error.about),
    })
}

/// Lets a client in as an agent, or not; says where its answer goes. The page is made first, then the code: a process that is killed between
/// leaves an agent that nobody can be.
///
/// # Errors
/// When the request or the rules are not right, there is an agent of that name, or the disk refuses.
pub(crate) fn decide(owner: &Owner, remote: &Remote, decision: &ConsentDecision) -> Result<ConsentGoes, RequestError> {
    let asked = Asked::read(remote, &decision.query)?;
    let request = match asked.complete(remote) {
        Ok(request) => request,
        Err(error) => return Ok(ConsentGoes { address: asked.refusal(remote, &error), agent: None }),
    };
    let (slug, token) = match (&decision.agent, &decision.existing) {
        (None, None) => {
            let denied = OAuthError::new("access_denied", "the vault's owner did not let it in");
            return Ok(ConsentGoes { address: asked.refusal(remote, &denied), agent: None });
        }
        (Some(params), None) => {
            let made = agents::add(owner, params)?;
            crash::point("remote-agent-made");
            (made.agent.slug, Token::from_text(&made.token).hash())
        }
        (None, Some(slug)) => {
            let all = &owner.workspace().agents;
            all.page(slug).ok_or_else(|| agents::no_agent(slug))?;
            let own = all.token_of(slug)?.map(|own| own.hash);
            (slug.clone(), own.map_or_else(|| all.give_token(slug, None).map(|token| token.hash()), Ok)?)
        }
        (Some(_), Some(_)) => return Err(RequestError::invalid("only one of `agent` and `existing` may be there")),
    };
    let code = remote.grant(&request, &slug, &token, Timestamp::now())?;
    tracing::info!("agents/{slug}/agent.md was given to {}", request.client.name);
    Ok(ConsentGoes { address: asked.answer(remote, &[("code", &code)]), agent: Some(slug) })
}

/// Where an address leads, in short: its host, or the program that it opens.
fn host_of(address: &str) -> String {
    let scheme = || format!("{}:", address.split(':').next().unwrap_or_default());
    WebAddress::parse(address).map_or_else(scheme, |address| address.host)
}
