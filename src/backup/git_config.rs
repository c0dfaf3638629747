//! Which settings of a git repository only say how it is kept, and which may have git run a program.

use std::collections::HashSet;

/// Settings that run nothing, whatever they say. `*` stands for the name of a branch, a remote or a submodule. All others may: a
/// list of those that do would be out of date with the next git.
const HARMLESS: [&str; 73] = [
    "author.email",
    "author.name",
    "branch.*.description",
    "branch.*.merge",
    "branch.*.pushremote",
    "branch.*.rebase",
    "branch.*.remote",
    "branch.*.vscode-merge-base",
    "color.branch",
    "color.diff",
    "color.status",
    "color.ui",
    "commit.status",
    "commit.verbose",
    "committer.email",
    "committer.name",
    "core.abbrev",
    "core.autocrlf",
    "core.bare",
    "core.compression",
    "core.eol",
    "core.filemode",
    "core.ignorecase",
    "core.logallrefupdates",
    "core.longpaths",
    "core.precomposeunicode",
    "core.preloadindex",
    "core.quotepath",
    "core.repositoryformatversion",
    "core.safecrlf",
    "core.sharedrepository",
    "core.sparsecheckout",
    "core.sparsecheckoutcone",
    "core.symlinks",
    "core.untrackedcache",
    "diff.algorithm",
    "diff.colormoved",
    "diff.renames",
    "extensions.compatobjectformat",
    "extensions.noop",
    "extensions.objectformat",
    "extensions.refstorage",
    "feature.manyfiles",
    "fetch.prune",
    "gc.auto",
    "index.version",
    "init.defaultbranch",
    "lfs.repositoryformatversion",
    "log.date",
    "merge.conflictstyle",
    "merge.ff",
    "pull.ff",
    "pull.rebase",
    "push.autosetupremote",
    "push.default",
    "push.followtags",
    "rebase.autosquash",
    "rebase.autostash",
    "remote.*.fetch",
    "remote.*.gh-resolved",
    "remote.*.prune",
    "remote.*.push",
    "remote.*.pushurl",
    "remote.*.tagopt",
    "remote.*.url",
    "remote.pushdefault",
    "rerere.enabled",
    "status.short",
    "submodule.*.active",
    "submodule.*.url",
    "user.email",
    "user.name",
    "user.useconfigonly",
];

/// Whether a setting runs nothing. `name` is as git lists it: `section.key` or `section.any name.key`.
pub(super) fn is_harmless(name: &str) -> bool {
    let (Some((section, _)), Some((_, key))) = (name.split_once('.'), name.rsplit_once('.')) else { return false };
    let named = name.len() > section.len() + key.len() + 1;
    let setting = format!("{section}.{}{key}", if named { "*." } else { "" }).to_ascii_lowercase();
    HARMLESS.contains(&&*setting)
}

/// Takes out of a repository's `config` whatever may run a program or leads to another repository on this disk, whose hooks a
/// push would run; gives the rest, and the lines that went.
pub(super) fn harmless(config: &[u8]) -> (Vec<u8>, Vec<String>) {
    let lines: Vec<ConfigLine> = config.split_inclusive(|byte| *byte == b'\n').scan(None, ConfigLine::read).collect();
    // A remote's name that is none is a path to git.
    let remotes: HashSet<String> = lines.iter().filter_map(ConfigLine::remote).collect();
    let (mut kept, mut gone) = (Vec::new(), Vec::new());
    for line in lines {
        match line.stays(&remotes) {
            true => kept.extend(line.bytes),
            false => gone.push(String::from_utf8_lossy(line.bytes).trim().to_owned()),
        }
    }
    (kept, gone)
}

/// A line, in the few shapes that git writes; one that git might read in another way than we do is `Strange`.
struct ConfigLine<'a> {
    bytes: &'a [u8],
    says: Says,
}

enum Says {
    Nothing,
    Section,
    Setting { name: String, value: String },
    Strange,
}

impl<'a> ConfigLine<'a> {
    /// Reads a line below a section, or the next section.
    fn read(section: &mut Option<String>, bytes: &'a [u8]) -> Option<Self> {
        let says = match std::str::from_utf8(bytes).map(|text| text.trim_end_matches(['\n', '\r'])) {
            Ok(text) if !text.contains('\\') && !text.chars().any(|c| c.is_control() && c != '\t') => {
                Says::read(section, text.trim_matches([' ', '\t']))
            }
            _ => Says::Strange,
        };
        // What follows a section that is not understood belongs to none.
        if matches!(says, Says::Strange) && bytes.contains(&b'[') {
            *section = None;
        }
        Some(Self { bytes, says })
    }

    /// The name of a remote that is on another machine.
    fn remote(&self) -> Option<String> {
        let Says::Setting { name, value } = &self.says else { return None };
        let remote = name.strip_prefix("remote.")?.strip_suffix(".url")?;
        is_elsewhere(value).then(|| remote.to_owned())
    }

    fn stays(&self, remotes: &HashSet<String>) -> bool {
        match &self.says {
            Says::Nothing | Says::Section => true,
            Says::Strange => false,
            Says::Setting { name, value } => {
                let ends = |end: &str| name.ends_with(end);
                is_harmless(name)
                    && if name == "remote.pushdefault" || ends(".remote") || ends(".pushremote") {
                        remotes.contains(value)
                    } else if ends(".url") || ends(".pushurl") {
                        is_elsewhere(value)
                    } else {
                        true
                    }
            }
        }
    }
}

impl Says {
    fn read(section: &mut Option<String>, text: &str) -> Self {
        let is_word = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        if text.is_empty() || text.starts_with(['#', ';']) {
            return Self::Nothing;
        }
        if let Some(header) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            let (word, name) = match header.split_once(' ') {
                None => (header, None),
                Some((word, quoted)) => (word, quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'))),
            };
            let named = header.contains(' ');
            if !is_word(word) || named != name.is_some() || name.is_some_and(|name| name.contains('"')) {
                return Self::Strange;
            }
            let word = word.to_ascii_lowercase();
            *section = Some(name.map_or_else(|| word.clone(), |name| format!("{word}.{name}")));
            return Self::Section;
        }
        let (Some(section), Some((key, value))) = (section, text.split_once('=')) else { return Self::Strange };
        let (key, value) = (key.trim_matches([' ', '\t']), value.trim_matches([' ', '\t']));
        if !is_word(key) || value.contains(['"', '#', ';']) {
            return Self::Strange;
        }
        Self::Setting { name: format!("{section}.{}", key.to_ascii_lowercase()), value: value.to_owned() }
    }
}

/// Whether an address leads to another machine: `https://…`, `ssh://…`, `git@host:path`.
fn is_elsewhere(url: &str) -> bool {
    if let Some((scheme, rest)) = url.split_once("://") {
        return ["https", "http", "ssh", "git"].contains(&scheme) && !rest.starts_with('-');
    }
    let Some((host, path)) = url.split_once(':') else { return false };
    let host = host.rsplit('@').next().unwrap_or(host);
    let is_name = |host: &str| host.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'.' || b == b'_');
    host.len() > 1 && is_name(host) && !host.starts_with('-') && !path.starts_with(':')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_itself_writes_stays_byte_for_byte() {
        let plain = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n# mine\n\n[user]\n\tname = Maya ü\n\
                     [remote \"origin\"]\n\turl = git@example.org:maya/notes.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\
                     [branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n[remote]\n\tpushDefault = origin\n";
        let (kept, gone) = harmless(plain.as_bytes());
        assert_eq!((std::str::from_utf8(&kept).unwrap(), gone), (plain, vec![]));
    }

    #[test]
    fn what_may_run_a_program_goes_however_it_is_written() {
        for hostile in [
            "[core]\n\tfsmonitor = touch pwned\n",
            "[core] fsmonitor = touch pwned\n",
            "[CORE]\n\tHooksPath = notes/hooks\n",
            "[core]\n\tbare = false\\\n\tfsmonitor = x\n",
            "[core]\n\tbare = \"\nfsmonitor = x\n",
            "\u{feff}[core]\n\tfsmonitor = x\n",
            "[core]\n\tworktree = /\n",
            "[include]\n\tpath = ../notes/config\n",
            "[includeIf \"gitdir:/\"]\n\tpath = x\n",
            "[filter \"x\"]\n\tclean = touch pwned\n",
            "[diff \"x\"]\n\ttextconv = touch pwned\n",
            "[gpg]\n\tprogram = x\n[commit]\n\tgpgSign = true\n[log]\n\tshowSignature = true\n",
            "[protocol \"ext\"]\n\tallow = always\n",
            "[remote \"o\"]\n\turl = ext::sh -c x\n",
            "[remote \"o\"]\n\turl = notes/evil.git\n",
            "[remote \"o\"]\n\turl = ./notes/evil:x\n",
            "[remote \"o\"]\n\turl = file:///home/maya/vault/notes/evil\n",
            "[remote \"o\"]\n\turl = https://example.org/x\n\tpushurl = notes/evil\n\treceivepack = x\n",
            "[remote \"o\"]\n\turl = ssh://-oProxyCommand=x/y\n",
            "[remote]\n\tpushDefault = notes\n",
            "[branch \"main\"]\n\tremote = notes\n\tpushRemote = .\n",
            "[url \"notes/\"]\n\tinsteadOf = https://\n",
            "[alias]\n\tstatus = !x\n",
            "[extensions]\n\tworktreeConfig = true\n\tpartialClone = o\n",
            "[submodule \"x\"]\n\tupdate = !touch pwned\n",
            "[core \"x]\n[core]x]\n\tfsmonitor = x\n",
            "[hook \"x\"]\n\tcommand = x\n\tevent = pre-commit\n",
            "[core]\r\tfsmonitor = x\n",
            "[user \"a\\\"]\n[core]\n\tfsmonitor = x\n",
        ] {
            let (kept, gone) = harmless(hostile.as_bytes());
            let kept = String::from_utf8(kept).unwrap();
            for word in ["fsmonitor", "path", "pwned", "evil", "= notes", "= .", "always", "ext::", "= x", "= /", "= o"]
            {
                assert!(!kept.to_lowercase().contains(word), "{hostile}: {kept}");
            }
            assert!(!gone.is_empty(), "{hostile}");
        }
    }
}
