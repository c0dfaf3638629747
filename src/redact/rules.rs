//! What secrets look like. To add one: its kind, words that it cannot be without, its pattern (the first group is the secret,
//! or all of it), and what else it must be.

use std::sync::{LazyLock, OnceLock};

use regex::Regex;

use super::said::{is_said_password, is_said_token};
use super::value::{has_digit, is_value};

/// One shape of a secret.
pub(super) struct Rule {
    pub(super) kind: &'static str,
    /// One of these is in every text that matches, in any case.
    hints: &'static [&'static str],
    pattern: &'static str,
    /// Whether what was found is one.
    pub(super) fits: fn(&str) -> bool,
    compiled: OnceLock<Regex>,
}

impl Rule {
    pub(super) fn pattern(&self) -> &Regex {
        self.compiled.get_or_init(|| Regex::new(self.pattern).expect("a test compiles every rule"))
    }
}

/// The hints by their first byte, each with the place of its rule.
type Hints = Vec<Vec<(usize, &'static [u8])>>;

static HINTS: LazyLock<Hints> = LazyLock::new(|| {
    let mut hints: Hints = vec![Vec::new(); 256];
    for (at, rule) in RULES.iter().enumerate() {
        for hint in rule.hints {
            hints[usize::from(hint.as_bytes()[0])].push((at, hint.as_bytes()));
        }
    }
    hints
});

/// The rules of which a text has a hint, found in one pass over it.
pub(super) fn hinted(text: &str) -> impl Iterator<Item = &'static Rule> {
    let bytes = text.as_bytes();
    let mut found = vec![false; RULES.len()];
    for (start, byte) in bytes.iter().enumerate() {
        for (rule, hint) in &HINTS[usize::from(byte.to_ascii_lowercase())] {
            let part = bytes.get(start..start + hint.len());
            if !found[*rule] && part.is_some_and(|part| part.eq_ignore_ascii_case(hint)) {
                found[*rule] = true;
            }
        }
    }
    RULES.iter().zip(found).filter(|(_, found)| *found).map(|(rule, _)| rule)
}

const fn rule(kind: &'static str, hints: &'static [&'static str], pattern: &'static str) -> Rule {
    Rule { kind, hints, pattern, fits: |_| true, compiled: OnceLock::new() }
}

const fn rule_if(
    kind: &'static str,
    hints: &'static [&'static str],
    pattern: &'static str,
    fits: fn(&str) -> bool,
) -> Rule {
    Rule { kind, hints, pattern, fits, compiled: OnceLock::new() }
}

/// A value that is named by something as common as `token` must look like one.
fn is_random_value(text: &str) -> bool {
    is_value(text) && text.len() >= 8 && has_digit(text)
}

/// After a colon there may be a sentence. A password is said by itself, or has what words do not have.
fn is_said_value(text: &str) -> bool {
    is_value(text) && text.len() >= 4 && (has_digit(text) || text.contains(['!', '#', '@', '%', '^', '_', '+', '~']))
}

const PASSWORDS: &[&str] = &["passw", "passphrase", "pwd"];
/// The same in sentences, and in more languages.
const SAID_PASSWORDS: &[&str] = &[
    "passw",
    "passphrase",
    "pwd",
    "kennwort",
    "mot de passe",
    "contrase",
    "senha",
    "wachtwoord",
    "\u{430}\u{440}\u{43e}\u{43b}\u{44c}",
];

/// A sentence that says a secret: what it is called, what it is for, that it is so, and it, in quotes or not.
macro_rules! said {
    ($names:literal) => {
        concat!(
            "(?:",
            $names,
            r")(?:[ \p{Zs}]+(?:(?i-u:for|of|to|on|at|fur|vom|von|zum|zur|pour|du|de|para|del|do|voor|per)|für)",
            r"(?:[ \p{Zs}]+[^\s:=]{1,30}){1,3}?)?",
            r"[ \p{Zs}]+(?:(?i-u:is|was|are|has been|will be|ist|lautet|war|est|es|era|reads)|é|è|är|—|–|-)",
            r"(?:[ \p{Zs}]+(?i-u:now|still|currently|just|set to|changed to|reset to|jetzt|nun|noch|maintenant|ahora|agora|adesso))?:?",
            r#"[ \p{Zs}]+["'`“”„«»‘’*]{0,2}([^\s"'`“”«»‘’]{5,200}?)[.,;:)]*(?:[\s"'`“”«»‘’*]|$)"#
        )
    };
}

/// The more telling come first: what they have redacted is not looked at again.
pub(super) static RULES: [Rule; 46] = [
    rule(
        "private key",
        &["private key"],
        r"(?s)-----BEGIN[ A-Z0-9]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END[ A-Z0-9]{0,40}PRIVATE KEY(?: BLOCK)?-----|\z)",
    ),
    rule("private key", &["age-secret-key-1"], r"AGE-SECRET-KEY-1[0-9A-Z]{40,80}"),
    rule("private key", &["private-lines"], r"(?s)PuTTY-User-Key-File-[23]:.*?Private-MAC: [0-9a-f]+"),
    rule("GitHub token", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], r"gh[pousr]_[A-Za-z0-9]{30,255}"),
    rule("GitHub token", &["github_pat_"], r"github_pat_[A-Za-z0-9_]{22,255}"),
    rule(
        "GitLab token",
        &["glpat-", "gldt-", "glrt-", "glptt-", "glsoat-", "glcbt-", "glft-", "glimt-", "glagent-"],
        r"gl(?:pat|dt|rt|ptt|soat|cbt|ft|imt|agent)-[A-Za-z0-9_\-.]{20,300}",
    ),
    rule_if("API key", &["sk-"], r"(?-u:\b)sk-[A-Za-z0-9_\-]{20,300}", has_digit),
    rule_if("API key", &["pplx-"], r"(?-u:\b)pplx-[A-Za-z0-9]{40,100}", has_digit),
    rule_if("API key", &["gsk_"], r"(?-u:\b)gsk_[A-Za-z0-9]{40,100}", has_digit),
    rule_if("API key", &["xai-"], r"(?-u:\b)xai-[A-Za-z0-9]{60,120}", has_digit),
    rule("Stripe key", &["_live_", "_test_"], r"(?-u:\b)[prs]k_(?:live|test)_[A-Za-z0-9]{10,200}"),
    rule("Stripe key", &["whsec_"], r"(?-u:\b)whsec_[A-Za-z0-9+/=]{20,200}"),
    rule("Slack token", &["xox"], r"(?-u:\b)xox[abceoprs](?:\.xox[abceoprs])?-[A-Za-z0-9\-]{10,400}"),
    rule("Slack token", &["xapp-"], r"(?-u:\b)xapp-[0-9]-[A-Za-z0-9\-]{10,300}"),
    rule("Slack token", &["hooks.slack.com"], r"hooks\.slack\.com/(?:services|workflows)/([A-Za-z0-9+/]{20,200})"),
    rule("Discord token", &["/api/webhooks/"], r"discord(?:app)?\.com/api/webhooks/([0-9]+/[A-Za-z0-9_\-]{40,120})"),
    rule("AWS key", &["akia", "asia", "abia", "acca"], r"(?-u:\b)(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}(?-u:\b)"),
    rule("Google key", &["aiza"], r"(?-u:\b)AIza[A-Za-z0-9_\-]{35}"),
    rule("Google key", &["gocspx-"], r"(?-u:\b)GOCSPX-[A-Za-z0-9_\-]{20,60}"),
    rule("Google key", &["ya29."], r"(?-u:\b)ya29\.[A-Za-z0-9_\-]{20,500}"),
    rule("npm token", &["npm_"], r"(?-u:\b)npm_[A-Za-z0-9]{36}"),
    rule("PyPI token", &["pypi-"], r"(?-u:\b)pypi-AgE[A-Za-z0-9_\-]{50,1000}"),
    rule_if("crates.io token", &["cio"], r"(?-u:\b)cio[A-Za-z0-9]{32}(?-u:\b)", has_digit),
    rule_if("Hugging Face token", &["hf_"], r"(?-u:\b)hf_[A-Za-z0-9]{30,60}", has_digit),
    rule_if("Replicate token", &["r8_"], r"(?-u:\b)r8_[A-Za-z0-9]{37}", has_digit),
    rule("JWT", &["eyj"], r"(?-u:\b)eyJ[A-Za-z0-9_\-]{8,4000}\.eyJ[A-Za-z0-9_\-]{8,8000}(?:\.[A-Za-z0-9_\-]*)?"),
    rule("SendGrid key", &["sg."], r"(?-u:\b)SG\.[A-Za-z0-9_\-]{16,64}\.[A-Za-z0-9_\-]{16,64}"),
    rule("Vault token", &["hvs.", "hvb."], r"(?-u:\b)hv[sb]\.[A-Za-z0-9_\-]{24,300}"),
    rule("Telegram token", &[":aa"], r"(?-u:\b)[0-9]{8,10}:AA[A-Za-z0-9_\-]{32,40}"),
    rule("DigitalOcean token", &["_v1_"], r"(?-u:\b)do[opr]_v1_[a-f0-9]{64}"),
    rule("Shopify token", &["shpat_", "shpca_", "shppa_", "shpss_"], r"(?-u:\b)shp(?:at|ca|pa|ss)_[A-Fa-f0-9]{32}"),
    rule("Linear key", &["lin_api_"], r"(?-u:\b)lin_api_[A-Za-z0-9]{32,60}"),
    rule_if("Notion token", &["ntn_", "secret_"], r"(?-u:\b)(?:ntn_|secret_)[A-Za-z0-9]{40,60}", has_digit),
    rule("Grafana token", &["glsa_", "glc_"], r"(?-u:\b)(?:glsa|glc)_[A-Za-z0-9+/=_]{32,400}"),
    rule("Tailscale key", &["tskey-"], r"(?-u:\b)tskey-[a-z]{2,12}-[A-Za-z0-9\-]{10,100}"),
    rule("Databricks token", &["dapi"], r"(?-u:\b)dapi[a-f0-9]{32}"),
    rule("Azure key", &["accountkey="], r"(?i-u:AccountKey)=([A-Za-z0-9+/=]{40,120})"),
    rule(
        "token",
        &["authorization"],
        r#"(?i-u:authorization)\\*["']?[\t\p{Zs}]*[:=][\t\p{Zs}]*\\*["']?(?i-u:basic|bearer|token|digest|apikey)[ \t]+([A-Za-z0-9._~+/=\-]{6,4000})"#,
    ),
    rule_if("token", &["bearer"], r"(?-u:\b)(?i-u:bearer)[ \t]+([A-Za-z0-9._~+/=\-]{16,4000})", has_digit),
    rule("password", &["://"], r"[a-z][a-z0-9+.\-]{1,20}://[^\s/:@]{0,200}:([^\s/@]{1,200})@"),
    rule_if(
        "password",
        PASSWORDS,
        concat!(
            r#"(?i-u:passw(?:or[dt])?|passwd|passphrase|pwd)[A-Za-z0-9_]{0,20}\\*["']?[\t\p{Zs}]*"#,
            // As JSON within a string has it, once and more often; then what is quoted, and what is not.
            r#"(?:[:=]>?[\t\p{Zs}]*\\"((?:[^"\\\n]|\\{2,}"?|\\[^"\\\n]){1,200}?)\\""#,
            r#"|[:=]>?[\t\p{Zs}]*\\+"([^"\n]{1,200}?)\\+"|[:=]>?[\t\p{Zs}]*\\+"([^\s"\\]{1,200})"#,
            r#"|[:=]>?[\t\p{Zs}]*"((?:[^"\\\n]|\\[^\n]){1,200})"|[:=]>?[\t\p{Zs}]*"([^"\n]{1,200})"#,
            r#"|[:=]>?[\t\p{Zs}]*'([^'\n]{1,200})'"#,
            r#"|=>?[\t\p{Zs}]*((?:[^\s"'`\\]|\\[^\s"'`]){1,200}))"#
        ),
        is_value,
    ),
    rule_if(
        "password",
        PASSWORDS,
        r#"(?m)(?i-u:passw(?:or[dt])?|passwd|passphrase|pwd)[A-Za-z0-9_]{0,20}["']?[\t\p{Zs}]*:[\t\p{Zs}]*([^\s"'`]{4,200})[\t\p{Zs}]*$"#,
        is_value,
    ),
    rule_if(
        "password",
        PASSWORDS,
        r#"(?i-u:passw(?:or[dt])?|passwd|passphrase|pwd)[A-Za-z0-9_]{0,20}["']?[\t\p{Zs}]*:[\t\p{Zs}]*([^\s"'`]{4,200})"#,
        is_said_value,
    ),
    rule_if(
        "secret",
        &["key", "secret", "token"],
        concat!(
            r#"(?i-u:api[_\- ]?key|access[_\-]?key(?:[_\-]?id)?|secret[_\-]?(?:access[_\-]?)?(?:key)?|client[_\-]?secret|"#,
            r#"auth[_\-]?token|access[_\-]?token|refresh[_\-]?token|private[_\-]?key|token)\\*["']?[\t\p{Zs}]*[:=]>?[\t\p{Zs}]*"#,
            r#"\\*["']?((?:[^\s"'`,;&\\]|\\[^\s"'`,;&]){8,400})"#
        ),
        is_random_value,
    ),
    rule_if(
        "password",
        SAID_PASSWORDS,
        said!(
            r"(?i-u:passw(?:or[dt])?|passwd|passphrase|pwd|kennwort|mot de passe|senha|wachtwoord)|[Cc]ontraseña|[Пп]ароль"
        ),
        is_said_password,
    ),
    rule_if(
        "secret",
        &["key", "secret", "token"],
        said!(r"(?i-u:(?:api|access|secret|private)[ _\-]?key|secret|token)"),
        is_said_token,
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_compiles_and_its_hints_are_in_lower_case() {
        for rule in &RULES {
            assert!(!rule.pattern().as_str().is_empty());
            assert!(rule.hints.iter().all(|hint| !hint.chars().any(char::is_uppercase)), "{:?}", rule.hints);
        }
        let kinds = |text: &str| hinted(text).map(|rule| rule.kind).collect::<Vec<_>>();
        assert_eq!(kinds("a BeareR"), ["token"]);
        assert_eq!(kinds("beare"), [""; 0]);
    }
}
