//! Links that show one note, read only, to whoever has them, until a day. Such a link is a member of the vault who was given that note alone, so
//! that it shows nothing that a reader would not see: a note that becomes private is not shown any more.

use std::path::Path;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, json};

use crate::access::request::{Owner, Reader, RequestError, read_seen, rfc3339};
use crate::access::rules::{Member, Policy, Principal, Token, literal};
use crate::base::fs::Context;
use crate::base::state::{ShareLink, ShareLinkTable, State, StateError};
use crate::serve::wire::{EndShareParams, NewShareLink, ShareLinkView, ShareLinksView, ShareParams, SharesEnded};

/// Addresses of shared notes begin so, before the secret.
pub(crate) const SHARE: &str = "/share/";
/// Characters of a link's id.
const ID_CHARS: usize = 8;
/// Days that a link counts where nothing is said, and at most.
const DAYS: u16 = 7;
const MAX_DAYS: u16 = 366;

/// The secret of the link that a path is.
pub(crate) fn secret(path: &str) -> Option<Token> {
    path.strip_prefix(SHARE).map(Token::from_text)
}

/// The link with a secret, while it counts.
///
/// # Errors
/// When the state cannot be read.
pub(crate) fn link_of(state: &Arc<State>, secret: &Token) -> Result<Option<ShareLink>, StateError> {
    let link = ShareLinkTable::new(state).holder(&secret.hash())?;
    Ok(link.filter(|link| link.until > Timestamp::now()))
}

/// Who a link is to the vault: somebody who reads that note.
pub(crate) fn principal(link: &ShareLink) -> Principal {
    let page = [("can_read_user_memory", json!(true)), ("paths", json!([literal(&link.path)]))];
    let page: Map<_, _> = page.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    Principal::Member(Member { name: format!("link {}", link.id).into(), policy: Arc::new(Policy::parse(&page)) })
}

/// Makes a link.
///
/// # Errors
/// When there is no such note, or it is hidden from others; when the days are none, or too many; when the state cannot be written.
pub(crate) fn share(owner: &Owner, params: &ShareParams) -> Result<NewShareLink, RequestError> {
    let days = params.days.unwrap_or(DAYS);
    if !(1..=MAX_DAYS).contains(&days) {
        return Err(RequestError::invalid(format!("`days` is {days}; it takes 1 to {MAX_DAYS}")));
    }
    let path = read_seen(&owner.read_scope()?, &params.path)?.0.path.to_string();
    let random = || Token::random().on("get random numbers from", Path::new("the system")).map_err(StateError::from);
    let (secret, id, now) = (random()?, random()?, Timestamp::now());
    let id = id.reveal().chars().take(ID_CHARS).collect();
    let until = now + SignedDuration::from_hours(24 * i64::from(days));
    let link = ShareLink { id, path, made_at: now, until, hash: secret.hash() };
    let others: Reader = owner.seen_as(principal(&link))?;
    if read_seen(&others.read_scope()?, &link.path).is_err() {
        let message = format!("`{}` cannot be shared: it is private, made of private notes, or an agent's", link.path);
        return Err(RequestError::invalid(message));
    }
    ShareLinkTable::new(&owner.workspace().state).add(&link)?;
    Ok(NewShareLink { address: address(owner) + SHARE + secret.reveal(), link: view(link) })
}

/// Where the vault is reached: from outside where that is said, else on this machine.
fn address(owner: &Owner) -> String {
    let (config, daemon) = (&owner.workspace().config.server, owner.workspace().home.daemon());
    let path = daemon.as_ref().map_or("", |daemon| &daemon.path);
    let here = || match &daemon {
        Some(daemon) if !daemon.is_stopgap() => format!("{}://{}", daemon.scheme, daemon.address),
        _ => format!("http://{}:{}", config.host, config.port),
    };
    config.public().unwrap_or_else(here) + path
}

/// The links that count, the newest first.
///
/// # Errors
/// When the state cannot be read.
pub(crate) fn list(owner: &Owner) -> Result<ShareLinksView, RequestError> {
    let (mut links, now) = (ShareLinkTable::new(&owner.workspace().state).list()?, Timestamp::now());
    links.retain(|link| link.until > now);
    Ok(ShareLinksView { links: links.into_iter().rev().map(view).collect() })
}

/// Ends a link by its id, or all of a note by its path.
///
/// # Errors
/// When there is none such, or the state cannot be written.
pub(crate) fn end(owner: &Owner, params: &EndShareParams) -> Result<SharesEnded, RequestError> {
    let table = ShareLinkTable::new(&owner.workspace().state);
    let mut ended = 0;
    for link in table.list()?.iter().filter(|link| link.id == params.link || link.path == params.link) {
        ended += usize::from(table.remove(&link.id)?);
    }
    match ended {
        0 => Err(RequestError::not_found(format!("no link has the id or shows the note `{}`", params.link))),
        ended => Ok(SharesEnded { ended }),
    }
}

fn view(link: ShareLink) -> ShareLinkView {
    let at = |time: Timestamp| rfc3339(time.as_millisecond());
    ShareLinkView { made_at: at(link.made_at), until: at(link.until), id: link.id, path: link.path }
}
