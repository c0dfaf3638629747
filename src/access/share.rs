//! Links that show one note, read only, to whoever has them, until a day. Such a link is a member of the vault who was given that note alone, so
//! that it shows nothing that a reader would not see: a note that becomes private is not shown any more.

use std::path::Path;
use std::sync::Arc;

use blake3::Hash;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, json};

use crate::access::request::{Owner, RequestError, read_seen, rfc3339};
use crate::access::rules::{Member, Policy, Principal, Token, literal};
use crate::base::fs::{Context, FsError};
use crate::base::state::{ShareLink, ShareLinks};
use crate::serve::wire::{EndShareParams, NewShareLink, ShareLinkView, ShareLinksView, ShareParams, SharesEnded};
use crate::vault::disk::Home;

/// Addresses of shared notes begin so, before the secret.
pub(crate) const SHARE: &str = "/share/";
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
/// When its file cannot be read.
pub(crate) fn link_of(home: &Home, secret: &Token) -> Result<Option<ShareLink>, FsError> {
    ShareLinks::in_folder(&home.state_dir()).with(&secret.hash())
}

/// Who a link to a note is to the vault: somebody who reads that note.
pub(crate) fn principal(path: &str) -> Principal {
    let page = [("can_read_user_memory", json!(true)), ("paths", json!([literal(path)]))];
    let page: Map<_, _> = page.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    // Nobody who has a name is called so.
    Principal::Member(Member { name: "a link".into(), policy: Arc::new(Policy::parse(&page)) })
}

/// Makes a link.
///
/// # Errors
/// When there is no such note, or it is hidden from others; when the days are none, or too many; when the disk refuses.
pub(crate) fn share(owner: &Owner, params: &ShareParams) -> Result<NewShareLink, RequestError> {
    let days = params.days.unwrap_or(DAYS);
    if !(1..=MAX_DAYS).contains(&days) {
        return Err(RequestError::invalid(format!("`days` is {days}; it takes 1 to {MAX_DAYS}")));
    }
    let path = read_seen(&owner.read_scope()?, &params.path)?.0.path.to_string();
    if read_seen(&owner.seen_as(principal(&path))?.read_scope()?, &path).is_err() {
        let message = format!("`{path}` cannot be shared: it is private, made of private notes, or an agent's");
        return Err(RequestError::invalid(message));
    }
    let secret = Token::random().on("get random numbers from", Path::new("the system"))?;
    let (hash, now) = (secret.hash(), Timestamp::now());
    let link = ShareLink { path, made_at: now, until: now + SignedDuration::from_hours(24 * i64::from(days)) };
    links(owner).add(&hash, &link)?;
    Ok(NewShareLink { address: address(owner) + SHARE + secret.reveal(), link: view(&hash, link) })
}

fn links(owner: &Owner) -> ShareLinks {
    ShareLinks::in_folder(&owner.workspace().home.state_dir())
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
/// When they cannot be read.
pub(crate) fn list(owner: &Owner) -> Result<ShareLinksView, RequestError> {
    let (mut links, now) = (links(owner).all()?, Timestamp::now());
    links.retain(|(_, link)| link.until > now);
    links.sort_by_key(|(_, link)| std::cmp::Reverse(link.made_at));
    Ok(ShareLinksView { links: links.into_iter().map(|(hash, link)| view(&hash, link)).collect() })
}

/// Ends a link by its id, or all of a note by its path.
///
/// # Errors
/// When there is none such, or the disk refuses.
pub(crate) fn end(owner: &Owner, params: &EndShareParams) -> Result<SharesEnded, RequestError> {
    let (links, mut ended) = (links(owner), 0);
    for (hash, link) in links.all()? {
        if ShareLinks::id(&hash) == params.link || link.path == params.link {
            links.remove(&hash)?;
            ended += 1;
        }
    }
    match ended {
        0 => Err(RequestError::not_found(format!("no link has the id or shows the note `{}`", params.link))),
        ended => Ok(SharesEnded { ended }),
    }
}

fn view(hash: &Hash, link: ShareLink) -> ShareLinkView {
    let at = |time: Timestamp| rfc3339(time.as_millisecond());
    ShareLinkView { id: ShareLinks::id(hash), made_at: at(link.made_at), until: at(link.until), path: link.path }
}
