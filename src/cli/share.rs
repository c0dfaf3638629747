//! Shows a note or a folder to somebody else: `vault share`.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use serde_json::{Value, json};

use super::backend::{Backend, home};
use super::terminal::{DIM, Outcome, PLAIN, TITLE, answer, remark, say};
use crate::access::people::{People, Person};
use crate::access::rules::{is_agents, literal};
use crate::access::share::SHARE;
use crate::base::address::WebAddress;
use crate::base::path::VaultPath;
use crate::serve::api::endpoints::routes;
use crate::serve::server::ServerSettings;
use crate::serve::wire::{EndShareParams, ShareParams};
use crate::vault::disk::Home;

/// Show a note or a folder to somebody else: by a link to one note, or to a person of a server of several vaults. Without a path, list what is
/// shared.
///
/// A link shows one note, read only, to whoever has it, until its days are over. Private notes are never shown; a note that becomes private
/// is not shown any more.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  vault share notes/bread.md --link --days 7\n  vault share notes/recipes --with sam --read\n  vault share\n  \
    vault share notes/bread.md --end\n  vault share notes/recipes --with sam --end"
)]
pub(super) struct ShareCommand {
    /// The path of a note, or with --with of a folder; with --end also the id of a link.
    path: Option<String>,
    /// Make a link to the note, and print it this once.
    #[arg(long, requires = "path", conflicts_with_all = ["with", "end"])]
    link: bool,
    /// Let this person of the server see it, besides what they see already.
    #[arg(long, value_name = "NAME", requires = "path")]
    with: Option<String>,
    /// They may read it (the default).
    #[arg(long, requires = "with", conflicts_with = "edit")]
    read: bool,
    /// They may edit it as well.
    #[arg(long, requires = "with")]
    edit: bool,
    /// End after so many days. A link: 7 where nothing is said; a person has it until it is ended.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=366), requires = "path")]
    days: Option<u16>,
    /// End it: all links to the note, or the person's right.
    #[arg(long, requires = "path", conflicts_with_all = ["days", "read", "edit"])]
    end: bool,
    /// The server's folder, where the vault is not within it.
    #[arg(long, value_name = "DIR")]
    vaults: Option<PathBuf>,
}

impl ShareCommand {
    pub(super) fn run(mut self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        self.path = self.path.map(|path| path.trim_start_matches("./").trim_end_matches('/').to_owned());
        match (&self.path, &self.with) {
            (None, _) => self.list(vault),
            (Some(path), Some(person)) => self.with_person(vault, path, person),
            (Some(path), None) if self.end => {
                let ended =
                    Backend::caught_up(vault)?.ask(&routes::END_SHARE, &EndShareParams { link: path.clone() })?;
                answer(&ended, true, |_| remark!("{} ended", if ended.ended == 1 { "1 link" } else { "All its links" }))
            }
            (Some(path), None) if self.link => {
                let home = home(vault)?;
                if home.root().join(path).is_dir() {
                    bail!("a link shows one note; `--with NAME` shares a folder");
                }
                let params = ShareParams { path: path.clone(), days: self.days };
                let mut made = Backend::caught_up(vault)?.ask(&routes::SHARE, &params)?;
                // One that its server has closed knows nothing of it.
                if let (None, Some(server)) = (home.daemon(), self.server(&home)?) {
                    let secret = made.address.rsplit_once(SHARE).map(|(_, secret)| secret).unwrap_or_default();
                    made.address = format!("{}/v/{}{SHARE}{secret}", server.settings.place(), server.vault);
                }
                answer(&made, true, |_| {
                    let day = made.link.until.split('T').next().unwrap_or_default();
                    remark!(
                        "Whoever has this link reads `{}` until {day}. vault does not show it again.",
                        made.link.path
                    );
                    if WebAddress::parse(&made.address).is_some_and(|address| address.is_loopback()) {
                        remark!(
                            "Only this machine can open it: `[server] public_url` does not say where others reach the vault."
                        );
                    }
                    say!("{}", made.address);
                })
            }
            (Some(_), None) => bail!("say how: `--link`, or `--with NAME`"),
        }
    }

    fn list(&self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let links = Backend::caught_up(vault)?.ask(&routes::SHARES, &())?.links;
        let people = self.server(&home(vault)?)?.map(|server| people_with(&server)).unwrap_or_default();
        let found = json!({ "links": links, "people": people });
        answer(&found, !(links.is_empty() && people.is_empty()), |out| {
            for link in &links {
                let until = format!("link {} until {}", link.id, link.until.split('T').next().unwrap_or_default());
                out.row(&[(TITLE, &link.path), (DIM, &until)]);
            }
            for person in &people {
                let text = |key: &str| person[key].as_str().unwrap_or_default().to_owned();
                let until = person["until"].as_str().map(|until| format!(" until {until}")).unwrap_or_default();
                out.row(&[(TITLE, &text("path")), (PLAIN, &format!("{} ({}){until}", text("name"), text("right")))]);
            }
            if links.is_empty() && people.is_empty() {
                remark!("Nothing is shared. `vault share NOTE --link` makes a link to a note.");
            }
        })
    }

    fn with_person(&self, vault: Option<&Path>, path: &str, person: &str) -> anyhow::Result<Outcome> {
        let home = home(vault)?;
        let Some(Server { people, vault: name, .. }) = self.server(&home)? else {
            bail!("this vault is of no server of several vaults; `--vaults DIR` says which one");
        };
        let place = VaultPath::new(path).with_context(|| format!("`{path}` is no path in the vault"))?;
        if self.end {
            let ended = people.end_share(person, &name, path)?;
            return answer(&json!({ "name": &*ended.name, "path": path }), true, |_| {
                remark!("`{person}` does not see `{path}` by it any more");
            });
        }
        let file = place.on_disk(home.root());
        let is_open = !path.split('/').any(|part| part.starts_with('.')) && !is_agents(path);
        if !is_open || !(file.is_dir() || file.is_file() && path.ends_with(".md")) {
            bail!("`{path}` is no note or folder of notes in this vault");
        }
        let right = if self.edit { "editor" } else { "reader" };
        let shared = people.share(person, &name, path, right, self.days)?;
        answer(&json!({ "name": &*shared.name, "path": path, "right": right }), true, |_| {
            let verb = if self.edit { "edits" } else { "reads" };
            let days = self.days.map(|days| format!(" for {days} days")).unwrap_or_default();
            remark!("`{person}` {verb} `{path}`{days}, in the vault `{name}`. Private notes in it stay yours.");
        })
    }

    /// The server that the vault is of: in the folder that is named, or that the vault is in.
    fn server(&self, home: &Home) -> anyhow::Result<Option<Server>> {
        let around = home.root().parent().filter(|parent| ServerSettings::are_in(parent));
        let named = self.vaults.as_deref().or(around);
        let Some(folder) = named else { return Ok(None) };
        let folder = std::fs::canonicalize(folder).with_context(|| format!("cannot open {}", folder.display()))?;
        let settings = ServerSettings::load(&folder)?;
        match settings.name_of(&folder, home.root()) {
            Some(vault) => Ok(Some(Server { people: People::of(&folder), settings, vault })),
            None if self.vaults.is_none() => Ok(None),
            None => bail!("{} is no vault of the server in {}", home.root().display(), folder.display()),
        }
    }
}

/// A server, and what the vault is called there.
struct Server {
    people: People,
    settings: ServerSettings,
    vault: String,
}

/// What each of the people was given of a vault, note by note and folder by folder, as far as that is not over.
fn people_with(server: &Server) -> Vec<Value> {
    let shared = |person: &Person| {
        let right = person.vaults.get(&server.vault)?;
        let (paths, until) = right.parts();
        let view = |glob: &String| {
            let plain = glob.replace('\\', "");
            let path = if literal(&plain) == *glob { plain } else { glob.clone() };
            json!({ "name": &*person.name, "path": path, "right": right.name(), "until": until })
        };
        person.principal(&server.vault).map(|_| paths.iter().map(view).collect::<Vec<_>>())
    };
    server.people.all().iter().filter_map(|person| shared(person)).flatten().collect()
}
