//! `vault remote check`: walks what claude.ai and ChatGPT do to come to a vault, from outside, and names the step that fails.

use std::io::{ErrorKind, Read};
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, Subcommand};
use serde::Serialize;
use serde_json::{Value, json};
use serde_with::skip_serializing_none;
use ureq::Body;
use ureq::http::Response;

use super::backend::{Backend, home};
use super::terminal::{DIM, Outcome, PLAIN, TITLE, answer};
use crate::access::remote::challenge_of;
use crate::access::rules::Token;
use crate::base::address::WebAddress;
use crate::serve::api::endpoints;
use crate::serve::wire::{AgentParams, ConsentDecision, ConsentGoes, percent_encode};

#[derive(Debug, Subcommand)]
pub(super) enum RemoteCommand {
    /// Walk what claude.ai and ChatGPT do, from outside through your tunnel, and name the step that fails. Exit code 1: one does.
    ///
    /// For the last steps `vault serve` must run on this machine: for a moment there is an agent that may read nothing, and goes again.
    Check(CheckArgs),
}

#[derive(Debug, Args)]
pub(super) struct CheckArgs {
    /// The address that you give the assistant, such as https://memory.example.com/mcp.
    address: String,
}

impl RemoteCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let Self::Check(CheckArgs { address }) = self;
        let address = address.trim_end_matches('/').to_owned();
        let read =
            WebAddress::parse(&address).context("the address has to be one such as https://memory.example.com/mcp")?;
        let resource = if read.rest.ends_with("/mcp") { address } else { format!("{address}/mcp") };
        let mut walk = Walk { resource, steps: Vec::new() };
        let failed = walk.go(vault)?.err();
        walk.steps.extend(failed);
        let is_good = walk.steps.iter().all(|step| step.problem.is_none());
        answer(&json!({ "address": walk.resource, "good": is_good, "steps": walk.steps }), is_good, |out| {
            for Step { step, problem, cause } in &walk.steps {
                let sign = if problem.is_none() { "✓" } else { "✗" };
                out.row(&[(TITLE, sign), (PLAIN, step)]);
                problem.iter().for_each(|problem| out.field("  problem", problem));
                cause.iter().for_each(|cause| out.field("  cause", cause));
            }
            if is_good {
                out.paint(DIM, "claude.ai and ChatGPT can be given this address.\n");
            }
        })
    }
}

/// One step, and why it fails if it does.
#[skip_serializing_none]
#[derive(Debug, Serialize)]
struct Step {
    step: &'static str,
    problem: Option<String>,
    cause: Option<&'static str>,
}

/// How assistants name themselves: rules against bots go by that.
const ASSISTANTS: [&str; 2] = ["Claude-User", "openai-mcp/1.0"];
/// What is not answered by then is not answered.
const PATIENCE: Duration = Duration::from_secs(20);
/// Maximum length of an answer that is read, in bytes.
const MAX_ANSWER_BYTES: u64 = 256 << 10;
/// Where the answer of the person would go; nobody listens there, as the code is taken from the address.
const REDIRECT: &str = "http://127.0.0.1:1/remote-check";

const TLS: &str = "TLS: assistants take only certificates of a public authority, for exactly this host";
const AWAY: &str = "the tunnel or proxy does not run, or its name leads elsewhere";
const AWAY_HERE: &str =
    "start `vault serve` on this machine; of a server of several vaults, open the page of this one first";
const BOTS: &str = "a bot rule or firewall before the vault: let requests to this host through without a challenge";
const DROPPED: &str =
    "a bot rule or firewall drops requests after they carry a token: let the Authorization header through to /mcp";
const OTHER_HOST: &str = "another host: `[server] public_url` in memory.toml has to be this address, to the letter, and the proxy must keep the Host header";
const NOT_SET: &str = "`[server] public_url` is not set in memory.toml, or `vault serve` was not restarted since";
const NO_PKCE: &str = "metadata without PKCE: assistants stop here; something before the vault answers in its place";
const REFRESH: &str = "refresh without scope fails: assistants would be signed out every hour";

/// An answer, as far as it was read.
struct Got {
    status: u16,
    challenge: String,
    is_json: bool,
    body: Value,
}

/// A step that fails ends the walk.
type Walked<T> = Result<T, Step>;

struct Walk {
    resource: String,
    steps: Vec<Step>,
}

fn fails(step: &'static str, problem: impl Into<String>, cause: &'static str) -> Step {
    Step { step, problem: Some(problem.into()), cause: Some(cause) }
}

impl Walk {
    fn done(&mut self, step: &'static str) {
        self.steps.push(Step { step, problem: None, cause: None });
    }

    /// Goes all the way; the error inside is the step that failed.
    fn go(&mut self, vault: Option<&Path>) -> anyhow::Result<Walked<()>> {
        let server = match self.discover() {
            Ok(server) => server,
            Err(step) => return Ok(Err(step)),
        };
        let Some(register) = server["registration_endpoint"].as_str() else {
            self.done("registration is shut: what follows was not tried");
            return Ok(Ok(()));
        };
        let client = match self.register(register) {
            Ok(client) => client,
            Err(step) => return Ok(Err(step)),
        };
        let Some(mut daemon) = Backend::daemon_of(&home(vault)?)? else {
            return Ok(Err(fails("consent", "no daemon of this vault runs here", AWAY_HERE)));
        };
        let verifier = Token::random().context("random numbers")?.reveal().to_owned();
        let challenge = challenge_of(&verifier).unwrap_or_default();
        let (client_id, redirect, resource) =
            (percent_encode(&client), percent_encode(REDIRECT), percent_encode(&self.resource));
        let query = format!(
            "response_type=code&client_id={client_id}&redirect_uri={redirect}&code_challenge={challenge}\
             &code_challenge_method=S256&resource={resource}&state=check"
        );
        let name = format!("remote check {}", &Token::random().context("random numbers")?.reveal()[..8]);
        let agent = AgentParams { name, rules: Default::default(), chat_type: None, channel: None };
        let decision = ConsentDecision { query, agent: Some(agent), existing: None };
        let goes: ConsentGoes = match daemon.post("/api/remote/consent", &decision) {
            Ok(goes) => goes,
            Err(error) => return Ok(Err(fails("consent", format!("{error:#}"), OTHER_HOST))),
        };
        let Some(slug) = &goes.agent else {
            return Ok(Err(fails("consent", "the vault refuses the request for this address", OTHER_HOST)));
        };
        let walked = self.enter(&server, &client, &verifier, &goes.address);
        daemon.ask_of::<(), Value>(&endpoints::agents::REMOVE.answering(), slug, &())?;
        Ok(walked)
    }

    /// As a client does that knows the address alone; gives the metadata of the authorization server.
    fn discover(&mut self) -> Walked<Value> {
        const REACHED: &str = "reach /mcp, which asks for a sign-in";
        const RESOURCE: &str = "protected-resource metadata";
        const SERVER: &str = "authorization-server metadata";
        let mut challenge = String::new();
        for assistant in ASSISTANTS {
            let got = self.ask_mcp(assistant, None).map_err(|error| unreached(REACHED, &error))?;
            challenge = match got.status {
                401 if got.challenge.contains("resource_metadata=") => got.challenge,
                401 if got.is_json => return Err(fails(REACHED, "it does not say where to sign in", NOT_SET)),
                403 | 421 if got.body["error"]["code"] == "forbidden" => {
                    return Err(fails(REACHED, "the vault does not know this host", OTHER_HOST));
                }
                status @ 300..=399 => return Err(fails(REACHED, format!("it redirects ({status})"), OTHER_HOST)),
                502 | 504 | 530 => return Err(fails(REACHED, format!("the answer is {}", got.status), AWAY)),
                status => return Err(fails(REACHED, format!("{assistant} gets {status}"), BOTS)),
            };
        }
        self.done(REACHED);
        let address =
            challenge.split("resource_metadata=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default();
        let origin = |address: &str| WebAddress::parse(address).map(|address| address.origin());
        let here = origin(&self.resource);
        let is_here = |address: &str| here.is_some() && origin(address) == here;
        if !is_here(address) {
            return Err(fails(RESOURCE, format!("it is at {address:?}"), OTHER_HOST));
        }
        let resource = read_document(RESOURCE, address)?;
        if resource["resource"] != *self.resource {
            return Err(fails(RESOURCE, format!("it is about {}", resource["resource"]), OTHER_HOST));
        }
        let issuer = resource["authorization_servers"][0].as_str().unwrap_or_default();
        if !is_here(issuer) {
            return Err(fails(RESOURCE, format!("the sign-in is at {issuer:?}"), OTHER_HOST));
        }
        self.done(RESOURCE);
        let origin = origin(issuer).unwrap_or_default();
        let path = issuer.get(origin.len()..).unwrap_or_default();
        let server = read_document(SERVER, &format!("{origin}/.well-known/oauth-authorization-server{path}"))?;
        let lists =
            |key: &str, value: &str| server[key].as_array().is_some_and(|all| all.iter().any(|one| one == value));
        if server["issuer"] != issuer {
            return Err(fails(SERVER, format!("it is that of {}", server["issuer"]), OTHER_HOST));
        }
        if !lists("code_challenge_methods_supported", "S256") {
            return Err(fails(SERVER, "`code_challenge_methods_supported` has no S256", NO_PKCE));
        }
        if !lists("token_endpoint_auth_methods_supported", "none") {
            return Err(fails(SERVER, "`token_endpoint_auth_methods_supported` has no none", NO_PKCE));
        }
        if let Some(key) = ["authorization_endpoint", "token_endpoint"]
            .iter()
            .find(|key| !server[**key].as_str().is_some_and(&is_here))
        {
            return Err(fails(SERVER, format!("`{key}` is {}", server[*key]), OTHER_HOST));
        }
        self.done(SERVER);
        Ok(server)
    }

    fn register(&mut self, address: &str) -> Walked<String> {
        const REGISTERED: &str = "registration";
        let said =
            json!({ "client_name": "remote check", "redirect_uris": [REDIRECT], "token_endpoint_auth_method": "none" });
        let sent =
            client(ASSISTANTS[0]).post(address).header("Content-Type", "application/json").send(said.to_string());
        let got = Got::read(sent).map_err(|error| unreached(REGISTERED, &error))?;
        let id = got.body["client_id"].as_str().filter(|_| got.status == 201);
        let id = id.ok_or_else(|| fails(REGISTERED, format!("the answer is {}", got.status), BOTS))?;
        self.done(REGISTERED);
        Ok(id.to_owned())
    }

    /// From the code to an answer of `/mcp`, and on to the next tokens.
    fn enter(&mut self, server: &Value, client: &str, verifier: &str, goes: &str) -> Walked<()> {
        const CONSENT: &str = "consent";
        const TOKENS: &str = "tokens for the code";
        const ENTERED: &str = "/mcp with the token";
        const REFRESHED: &str = "refresh without scope";
        let said = |name: &str| {
            let (_, query) = goes.split_once('?')?;
            query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('=')).map(str::to_owned)
        };
        let code = said("code").ok_or_else(|| fails(CONSENT, "the answer has no code", OTHER_HOST))?;
        self.done(CONSENT);
        let address = server["token_endpoint"].as_str().unwrap_or_default();
        let (client, redirect, resource) =
            (percent_encode(client), percent_encode(REDIRECT), percent_encode(&self.resource));
        let form = format!(
            "grant_type=authorization_code&code={code}&redirect_uri={redirect}&client_id={client}&code_verifier={verifier}&resource={resource}"
        );
        let tokens = send_form(TOKENS, address, &form, BOTS)?;
        self.done(TOKENS);
        let token = |tokens: &Value, name: &str| tokens[name].as_str().unwrap_or_default().to_owned();
        self.enter_with(ENTERED, &token(&tokens, "access_token"))?;
        let refresh = percent_encode(&token(&tokens, "refresh_token"));
        let form = format!("grant_type=refresh_token&refresh_token={refresh}&client_id={client}");
        let tokens = send_form(REFRESHED, address, &form, REFRESH)?;
        self.enter_with(REFRESHED, &token(&tokens, "access_token"))
    }

    fn enter_with(&mut self, step: &'static str, token: &str) -> Walked<()> {
        for assistant in ASSISTANTS {
            let got = self.ask_mcp(assistant, Some(token)).map_err(|error| fails(step, error.to_string(), DROPPED))?;
            if got.status != 200 || !got.body["result"].is_object() {
                return Err(fails(step, format!("{assistant} gets {}", got.status), DROPPED));
            }
        }
        self.done(step);
        Ok(())
    }

    fn ask_mcp(&self, assistant: &str, token: Option<&str>) -> Result<Got, ureq::Error> {
        let client_info = json!({ "name": "remote-check", "version": env!("CARGO_PKG_VERSION") });
        let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client_info });
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
        let request = client(assistant).post(&self.resource);
        let request =
            request.header("Content-Type", "application/json").header("Accept", "application/json, text/event-stream");
        let request = match token {
            Some(token) => request.header("Authorization", format!("Bearer {token}")),
            None => request,
        };
        Got::read(request.send(message.to_string()))
    }
}

impl Got {
    fn read(sent: Result<Response<Body>, ureq::Error>) -> Result<Self, ureq::Error> {
        let mut answer = sent?;
        let header = |name: &str| {
            answer.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
        };
        let (challenge, kind) = (header("www-authenticate"), header("content-type"));
        let mut text = String::new();
        let read = answer.body_mut().as_reader().take(MAX_ANSWER_BYTES).read_to_string(&mut text);
        read.map_err(ureq::Error::from)?;
        let body = serde_json::from_str(&text).unwrap_or_default();
        Ok(Self { status: answer.status().as_u16(), challenge, is_json: kind.contains("json"), body })
    }
}

fn client(assistant: &str) -> ureq::Agent {
    let config =
        ureq::Agent::config_builder().http_status_as_error(false).max_redirects(0).timeout_global(Some(PATIENCE));
    config.user_agent(assistant).build().into()
}

fn read_document(step: &'static str, address: &str) -> Walked<Value> {
    let got = Got::read(client(ASSISTANTS[0]).get(address).call()).map_err(|error| unreached(step, &error))?;
    match got.status {
        200 if got.is_json && got.body.is_object() => Ok(got.body),
        status => Err(fails(step, format!("{address} answers {status}, and no document"), BOTS)),
    }
}

fn send_form(step: &'static str, address: &str, form: &str, cause: &'static str) -> Walked<Value> {
    let request = client(ASSISTANTS[0]).post(address).header("Content-Type", "application/x-www-form-urlencoded");
    let got = Got::read(request.send(form)).map_err(|error| unreached(step, &error))?;
    match got.status {
        200 if got.body["access_token"].is_string() => Ok(got.body),
        status => Err(fails(
            step,
            format!("the answer is {status} {}", got.body["error_description"].as_str().unwrap_or_default()),
            cause,
        )),
    }
}

/// Why nobody answered.
fn unreached(step: &'static str, error: &ureq::Error) -> Step {
    let is_cut = |kind| matches!(kind, ErrorKind::InvalidData | ErrorKind::UnexpectedEof);
    let is_tls = match error {
        ureq::Error::Rustls(_) | ureq::Error::Tls(_) => true,
        ureq::Error::Io(error) => is_cut(error.kind()),
        _ => false,
    };
    fails(step, error.to_string(), if is_tls { TLS } else { AWAY })
}
