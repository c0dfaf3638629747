//! The people of a server of several vaults: `vault person`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};

use super::terminal::{DIM, Outcome, PLAIN, TITLE, answer, list, remark, say};
use crate::access::openid::account;
use crate::access::people::{People, Person, Right};
use crate::base::config::FILE_NAME;
use crate::serve::server::ServerSettings;

/// Let people sign in to a server of several vaults, and say which vaults each has.
///
/// Each is a page in `people/` in the server's folder. The server need not run, and sees every change at once.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  vault person add Sam --give sam=owner --give family=editor --vaults ~/vaults\n  vault person invite sam --vaults ~/vaults\n  \
    vault person give sam work=reader --collections notes --exclude-tags salary --vaults ~/vaults"
)]
pub(super) struct PersonCommand {
    /// The server's folder.
    #[arg(long, value_name = "DIR", default_value = ".", global = true)]
    vaults: PathBuf,
    #[command(subcommand)]
    action: PersonAction,
}

#[derive(Debug, Subcommand)]
enum PersonAction {
    /// Add somebody, and print a link by which they choose how they sign in. It counts for a week, once.
    Add {
        /// What they are called; the name to sign in with is made of it.
        name: String,
        /// A vault and a right: `family=owner`, `editor` or `reader`.
        #[arg(long, value_name = "VAULT=RIGHT")]
        give: Vec<String>,
        /// Their subject at the server's OpenID provider: they sign in there, and need no link.
        #[arg(long, value_name = "SUBJECT")]
        openid: Option<String>,
    },
    /// Print a new link by which somebody chooses how they sign in, in the place of what there is.
    Invite {
        /// Their name.
        name: String,
    },
    /// List the people and their vaults.
    List,
    /// Give somebody a vault, or change their right there.
    Give {
        /// Their name.
        name: String,
        /// The vault and the right: `family=owner`, `editor` or `reader`.
        #[arg(value_name = "VAULT=RIGHT")]
        give: String,
        /// Only these top-level folders.
        #[arg(long, value_delimiter = ',')]
        collections: Option<Vec<String>>,
        /// No notes with these tags.
        #[arg(long, value_delimiter = ',')]
        exclude_tags: Option<Vec<String>>,
    },
    /// Take a vault from somebody.
    Take {
        /// Their name.
        name: String,
        /// The vault.
        #[arg(value_name = "VAULT")]
        from: String,
    },
    /// Make a token for a program of somebody's, which is printed only once.
    Token {
        /// Their name.
        name: String,
    },
    /// Remove somebody: their sessions and tokens end. What they wrote stays.
    Remove {
        /// Their name.
        name: String,
    },
}

impl PersonCommand {
    pub(super) fn run(self, _: Option<&Path>) -> anyhow::Result<Outcome> {
        let settings = ServerSettings::load(&self.vaults)?;
        let folder =
            std::fs::canonicalize(&self.vaults).with_context(|| format!("cannot open {}", self.vaults.display()))?;
        if folder.join(FILE_NAME).exists() {
            bail!("{} is a vault; `--vaults` takes the folder that vaults are in", folder.display());
        }
        let people = People::of(&folder);
        match self.action {
            PersonAction::Add { name, give, openid } => {
                let vaults = give.iter().map(|give| pair(give)).collect::<anyhow::Result<BTreeMap<_, _>>>()?;
                vaults.keys().for_each(|vault| remark_missing(&settings, &folder, vault));
                let Some(subject) = openid else {
                    let person = people.add(&name, &vaults, None)?;
                    return invite(&people, &settings, &person.name);
                };
                let issuer = settings.sign_in.issuer().context("`sign_in.openid_issuer` is not set in server.toml")?;
                let account = account(issuer, &subject).with_context(|| format!("{subject:?} is no subject"))?;
                let person = people.add(&name, &vaults, Some(&account))?;
                answer(&view(&person), true, |_| remark!("`{}` signs in at {issuer}", person.name))
            }
            PersonAction::Invite { name } => invite(&people, &settings, &name),
            PersonAction::List => {
                let all = people.all();
                let found = json!({ "people": all.iter().map(|person| view(person)).collect::<Vec<_>>() });
                list(&found, &all, "nobody was added yet; `vault person add` does", |person, out| {
                    let vaults = person.vaults.iter().map(|(vault, right)| format!("{vault} ({})", right.name()));
                    let ways = [person.has_passphrase().then_some("passphrase"), person.openid.as_deref()];
                    let state = match (ways.into_iter().flatten().collect::<Vec<_>>(), person.is_invited()) {
                        (_, true) => "  invited".to_owned(),
                        (ways, false) if ways.is_empty() => "  cannot sign in: `vault person invite`".to_owned(),
                        (ways, false) => format!("  {}", ways.join(", ")),
                    };
                    out.row(&[(TITLE, &person.name), (PLAIN, &vaults.collect::<Vec<_>>().join(", ")), (DIM, &state)]);
                    for problem in person.vaults.values().flat_map(Right::problems) {
                        writeln!(out, "  {problem}");
                    }
                })
            }
            PersonAction::Give { name, give, collections, exclude_tags } => {
                let (vault, given) = pair(&give)?;
                let rules = [("collections", collections), ("exclude_tags", exclude_tags)];
                let rules: Map<String, Value> =
                    rules.into_iter().filter_map(|(key, value)| Some((key.to_owned(), json!(value?)))).collect();
                let right = match rules.is_empty() {
                    true => json!(given),
                    false => {
                        let mut all = Map::from_iter([("right".to_owned(), json!(given))]);
                        all.extend(rules);
                        Value::Object(all)
                    }
                };
                let person = people.give(&name, &vault, Some(&right))?;
                remark_missing(&settings, &folder, &vault);
                answer(&view(&person), true, |_| remark!("`{name}` has `{vault}` as {given}"))
            }
            PersonAction::Take { name, from } => {
                let person = people.give(&name, &from, None)?;
                answer(&view(&person), true, |_| remark!("`{name}` does not have `{from}` any more"))
            }
            PersonAction::Token { name } => {
                let token = people.give_token(&name)?;
                answer(&json!({ "name": name, "token": token.reveal() }), true, |_| {
                    remark!("This token is `{name}` to every vault they have. vault does not show it again.");
                    say!("{}", token.reveal());
                })
            }
            PersonAction::Remove { name } => {
                people.remove(&name)?;
                answer(&json!({ "ok": true }), true, |_| remark!("`{name}` is signed out everywhere"))
            }
        }
    }
}

/// Says that there is no vault of a name yet, if so.
fn remark_missing(settings: &ServerSettings, folder: &Path, vault: &str) {
    if settings.root_of(folder, vault).is_none() {
        remark!("There is no vault `{vault}` in {} yet.", folder.display());
    }
}

/// A vault and a right, as they are typed.
fn pair(give: &str) -> anyhow::Result<(String, String)> {
    match give.split_once('=') {
        Some((vault, right)) if ["owner", "editor", "reader"].contains(&right) && !vault.is_empty() => {
            Ok((vault.to_owned(), right.to_owned()))
        }
        _ => bail!("`{give}` is not VAULT=RIGHT; a right is owner, editor or reader"),
    }
}

fn invite(people: &People, settings: &ServerSettings, name: &str) -> anyhow::Result<Outcome> {
    let code = people.invite(name)?;
    let place = settings.place();
    let link = format!("{place}/v/#invite={}", code.reveal());
    answer(&json!({ "name": name, "link": link }), true, |_| {
        let or = if settings.sign_in.issuer().is_some() { ", or signs in with the OpenID provider" } else { "" };
        remark!("`{name}` opens this link within a week and chooses a passphrase{or}; it works once.");
        say!("{link}");
    })
}

fn view(person: &Person) -> Value {
    let vaults: Map<String, Value> = person
        .vaults
        .iter()
        .map(|(vault, right)| (vault.clone(), json!({ "right": right.name(), "problems": right.problems() })))
        .collect();
    json!({
        "name": &*person.name, "title": person.title, "vaults": vaults, "passphrase": person.has_passphrase(),
        "openid": person.openid, "can_sign_in": person.has_passphrase() || person.openid.is_some(),
        "invited": person.is_invited(),
    })
}
