//! Takes secrets out of texts before anything is written.
//!
//! The rules are our own: one line for each kind of key, from what its issuer says of its shape. Each names words without which it cannot
//! match, so that an ordinary text costs no more than looking for those. To add one: its kind, those words, its pattern (the first group is
//! the secret, or all of it), and what else it must be.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use regex::{Captures, Regex, RegexSet};

/// The text with `[redacted: KIND]` in place of every secret that is known by its shape: private keys, tokens, passwords
/// that are named as such, card numbers.
pub(crate) fn redact(text: &str) -> Cow<'_, str> {
    let mut redacted = Cow::Borrowed(text);
    for rule in hinted(text) {
        let replace = |found: &Captures<'_>| {
            let whole = found.get(0).map_or("", |whole| whole.as_str());
            let secret = found.iter().skip(1).flatten().next().or(found.get(0));
            match secret {
                Some(secret) if (rule.fits)(secret.as_str()) => {
                    let start = secret.start() - found.get(0).map_or(0, |whole| whole.start());
                    let end = start + secret.len();
                    format!("{}[redacted: {}]{}", &whole[..start], rule.kind, &whole[end..])
                }
                _ => whole.to_owned(),
            }
        };
        if let Cow::Owned(changed) = rule.pattern().replace_all(&redacted, replace) {
            redacted = Cow::Owned(changed);
        }
    }
    match without_cards(&redacted) {
        Some(changed) => Cow::Owned(changed),
        None => redacted,
    }
}

/// One shape of a secret.
struct Rule {
    kind: &'static str,
    /// One of these is in every text that matches, in any case.
    hints: &'static [&'static str],
    pattern: &'static str,
    /// Whether what was found is one.
    fits: fn(&str) -> bool,
    compiled: OnceLock<Regex>,
}

impl Rule {
    fn pattern(&self) -> &Regex {
        self.compiled.get_or_init(|| Regex::new(self.pattern).expect("a test compiles every rule"))
    }
}

/// The hints of each rule.
static HINTS: LazyLock<RegexSet> = LazyLock::new(|| {
    let one = |hint: &&str| match hint.is_ascii() {
        true => format!("(?i-u:{})", regex::escape(hint)),
        false => (*hint).to_owned(),
    };
    let hints = RULES.iter().map(|rule| rule.hints.iter().map(one).collect::<Vec<_>>().join("|"));
    RegexSet::new(hints).expect("a test uses it")
});

/// The rules of which a text has a hint, found in one pass over it.
fn hinted(text: &str) -> impl Iterator<Item = &'static Rule> {
    HINTS.matches(text).into_iter().filter_map(|at| RULES.get(at))
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
    "passw", "passphrase", "pwd", "kennwort", "mot de passe", "contrase", "senha", "wachtwoord",
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
static RULES: [Rule; 46] = [
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

/// The text without its card numbers; `None` when it has none.
fn without_cards(text: &str) -> Option<String> {
    let mut redacted = String::new();
    let mut kept = 0;
    for card in runs(text).flat_map(|run| cards(text, &run)) {
        redacted.push_str(&text[kept..card.start]);
        redacted.push_str("[redacted: card number]");
        kept = card.end;
    }
    (kept > 0).then(|| redacted + &text[kept..])
}

/// Digits with none between them, and the sign of what stands before them in a run: a hyphen, a dot or a blank.
struct Group {
    digits: Range<usize>,
    gap: Option<char>,
}

/// Groups of digits with gaps between them, of a hyphen, a dot, or one or two spaces of whatever width, that no word or longer number holds.
fn runs(text: &str) -> impl Iterator<Item = Vec<Group>> {
    static RUN: LazyLock<Regex> = LazyLock::new(|| {
        let space = r"[\s&&[^\x00-\x1f\x7f-\u{9f}]]";
        let gap = format!(r"(?:[-\u{{2010}}-\u{{2012}}.]|{space}{{1,2}})");
        Regex::new(&format!("[0-9]+(?:{gap}[0-9]+)*")).expect("a test uses it")
    });
    let is_free = |run: &Range<usize>| {
        let holds = |c: char| c.is_alphanumeric() || matches!(c, '_' | '+' | '-' | '/' | '.');
        // A full stop ends a sentence; with more behind it, it is part of a number or an address.
        let goes_on = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
        !text[..run.start].ends_with(holds) && !text[run.end..].starts_with(goes_on)
    };
    RUN.find_iter(text).map(|run| run.range()).filter(is_free).map(|run| {
        let (mut groups, mut at) = (Vec::new(), run.start);
        while at < run.end {
            let gap = text[at..run.end].find(|c: char| c.is_ascii_digit()).unwrap_or_default();
            let start = at + gap;
            let length = text[start..run.end].find(|c: char| !c.is_ascii_digit()).unwrap_or(run.end - start);
            let sign = text[at..start].chars().next().map(|sign| match sign {
                '-' | '\u{2010}'..='\u{2012}' => '-',
                '.' => '.',
                _ => ' ',
            });
            groups.push(Group { digits: start..start + length, gap: sign });
            at = start + length;
        }
        groups
    })
}

/// The card numbers of a run: all of it, or groups as they are printed, with short ones beside them for a date or a code.
fn cards(text: &str, run: &[Group]) -> Vec<Range<usize>> {
    const PRINTED: [&[usize]; 5] = [&[4, 4, 4, 4, 3], &[4, 4, 4, 4], &[4, 6, 5], &[4, 6, 4], &[]];
    let length = |at: usize| run.get(at).map_or(0, |group| group.digits.len());
    let ends = |at: usize| run.get(at).is_none_or(|group| group.gap.is_none_or(|gap| gap == ' '));
    let mut found = Vec::new();
    let mut at = 0;
    while at < run.len() {
        let card = PRINTED.iter().find_map(|printed| {
            let next = at + printed.len().max(1);
            let groups = run.get(at..next)?;
            let like = printed.is_empty() || groups.iter().map(|group| group.digits.len()).eq(printed.iter().copied());
            let alike = groups.iter().skip(2).all(|group| group.gap == groups[1].gap);
            let aside = ends(at) && ends(next) && length(next) < 4 && (at == 0 || length(at - 1) < 4);
            let span = groups.first()?.digits.start..groups.last()?.digits.end;
            (like && alike && aside && is_card(&text[span.clone()])).then_some((span, next))
        });
        match card {
            Some((span, next)) => {
                found.push(span);
                at = next;
            }
            None => at += 1,
        }
    }
    found
}

fn is_card(run: &str) -> bool {
    let digits: Vec<u32> = run.chars().filter_map(|c| c.to_digit(10)).collect();
    let number = |count: usize| digits.iter().take(count).fold(0, |number, digit| number * 10 + digit);
    let (two, three, four) = (number(2), number(3), number(4));
    let issued = match digits.len() {
        14 => matches!(two, 36 | 38 | 39) || (300..=305).contains(&three),
        15 => matches!(two, 34 | 37),
        16 => {
            digits[0] == 4
                || (51..=55).contains(&two)
                || (2221..=2720).contains(&four)
                || four == 6011
                || two == 65
                || (644..=649).contains(&three)
                || (3528..=3589).contains(&four)
                || two == 62
        }
        19 => digits[0] == 4 || matches!(two, 62 | 65),
        _ => false,
    };
    issued && luhn(&digits)
}

fn luhn(digits: &[u32]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(at, digit)| match digit * (1 + at as u32 % 2) {
            doubled @ 10.. => doubled - 9,
            digit => digit,
        })
        .sum();
    sum.is_multiple_of(10)
}

/// Whether somebody made it up at random, or to be hard to guess: words have no digits in them.
fn has_digit(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_digit())
}

/// A value in code or a template, or what says that there is none, is no secret.
fn is_value(text: &str) -> bool {
    const NO_VALUES: [&str; 11] =
        ["none", "null", "nil", "true", "false", "undefined", "string", "str", "required", "password", "secret"];
    // What follows may be of another value, and redacted already.
    let end = text.char_indices().skip(1).find(|(_, c)| matches!(c, ',' | ';' | '&')).map_or(text.len(), |(at, _)| at);
    let bare = text[..end].trim_end_matches(['.', ')']);
    !is_code(bare) && !bare.is_empty() && !NO_VALUES.contains(&bare.to_ascii_lowercase().as_str())
}

/// A name, a call, a place in a template: not what it stands for.
fn is_code(text: &str) -> bool {
    let is_name = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-:".contains(&byte));
    // Nobody makes up a name with lower case and digits in it.
    let is_plain =
        |text: &str| is_name(text) && !(has_digit(text) && text.bytes().any(|byte| byte.is_ascii_lowercase()));
    let called = |open: char| text.split_once(open).is_some_and(|(name, _)| !name.is_empty() && is_plain(name));
    ["${", "$(", "{{", "<%", "[redacted"].iter().any(|start| text.starts_with(start))
        || (text.starts_with('<') && text.ends_with('>'))
        || text.strip_prefix(['$', '%', '&', '*']).is_some_and(|rest| is_plain(rest.trim_matches(['*', '%'])))
        || text.strip_prefix('{').and_then(|text| text.strip_suffix('}')).is_some_and(is_name)
        || called('(')
        || called('[')
}

/// Parts of words with digits in them that are no secrets: what secrets are made with, and what keeps them.
const TERMS: &str = "aes argon2 argon2i argon2id base16 base32 base58 base64 bcrypt blake2 blake3 chacha20 ed25519 h264 hmac hs256 hs512 http2 ipv4 \
    ipv6 iso jwt k8s latin1 md4 md5 mp3 oauth oauth1 oauth2 password pbkdf2 pkcs12 pkcs8 rc4 rs256 rsa rsa2048 rsa4096 s3 saml2 scrypt sha sha1 \
    sha2 sha256 sha3 sha384 sha512 tls12 tls13 ucs2 utf utf16 utf8 uuid uuid4 uuidv4 uuidv7 win32 win64 x25519 x509 x86";
/// Signs that are in passwords and hardly ever within words.
const SIGNS: [char; 13] = ['!', '#', '@', '%', '^', '*', '$', '+', '~', '=', '?', '{', '&'];

/// Whether a text that is said to be a password looks like one.
fn is_said_password(text: &str) -> bool {
    let Some(SecretSpelling { bare, letters, digits, .. }) = SecretSpelling::of(text, 6) else { return false };
    let is_number = letters == 0 && bare.chars().all(|c| c.is_ascii_digit());
    let has_both_cases = bare.contains(char::is_lowercase) && bare.contains(char::is_uppercase);
    let has_sign = bare.contains(SIGNS);
    is_number || (letters > 0 && digits > 0) || (has_sign && has_both_cases && bare.len() >= 8)
}

/// Whether a text that is said to be a token or a key looks like one: those are made by programs.
fn is_said_token(text: &str) -> bool {
    let Some(SecretSpelling { letters, digits, changes, .. }) = SecretSpelling::of(text, 12) else { return false };
    letters > 0 && digits > 1 && changes > 2
}

/// How what may be a secret is spelt.
struct SecretSpelling<'t> {
    /// Without what ends a sentence.
    bare: &'t str,
    letters: usize,
    digits: usize,
    /// How often a letter follows a digit or a digit a letter.
    changes: usize,
}

impl<'t> SecretSpelling<'t> {
    /// Of a text of at least so many bytes that is neither a name in code, a place, a version, a number with a unit nor a term.
    fn of(text: &'t str, least: usize) -> Option<Self> {
        let bare = text.trim_matches(['(', ')', '.', ',', ';', ':', '?', '!', '*', '_']);
        let is_place = bare.contains("://")
            || bare.starts_with(['/', '~', '@', '#'])
            || (bare.contains('/') && !(bare.len() >= 20 && bare.contains(char::is_uppercase) && !bare.contains('.')))
            || bare.split_once('@').is_some_and(|(_, host)| host.contains('.'));
        let is_term = |part: &str| TERMS.split(' ').any(|term| part.eq_ignore_ascii_case(term));
        if bare.len() < least || is_place || !is_value(text) || is_measure(bare) {
            return None;
        }
        if bare.split(|c: char| !c.is_alphanumeric()).any(is_term) {
            return None;
        }
        let count = |is: fn(&char) -> bool| bare.chars().filter(is).count();
        let pairs = bare.chars().zip(bare.chars().skip(1));
        let is_change = |(one, other): &(char, char)| {
            one.is_alphanumeric() && other.is_alphanumeric() && one.is_ascii_digit() != other.is_ascii_digit()
        };
        let changes = pairs.filter(is_change).count();
        Some(Self { bare, letters: count(|c| c.is_alphabetic()), digits: count(char::is_ascii_digit), changes })
    }
}

/// Whether it is a date, a version, an amount, or a number with a word: 2026-03-02, v2.1.0, 12-character, 1st.
fn is_measure(text: &str) -> bool {
    let rest = text.trim_start_matches(['v', 'V']);
    let is_parted = rest.starts_with(|c: char| c.is_ascii_digit()) && rest.contains(['.', '-', ':', ',']);
    let is_numeric = rest.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '-' | ':' | ',' | '%'));
    let word = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_counted = word.len() < text.len()
        && text.len() - word.len() <= 3
        && word.chars().all(|c| c.is_alphabetic() || matches!(c, '-' | '\'' | '\u{2019}'));
    (is_parted && is_numeric) || is_counted
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Put together here, so that no scanner takes this file for a leak.
    fn made(prefix: &str, body: &str, length: usize) -> String {
        format!("{prefix}{}", body.chars().cycle().take(length).collect::<String>())
    }

    #[test]
    fn what_is_secret_is_redacted() {
        let random = "a8F3kZ0qL9xT2mB7";
        let hex = "0a9f83b1c7d2e645";
        for (text, kind) in [
            (made("ghp_", random, 36), "GitHub token"),
            (made("github_pat_", random, 40), "GitHub token"),
            (made("glpat-", random, 20), "GitLab token"),
            (made("sk-proj-", random, 40), "API key"),
            (made("sk-ant-api03-", random, 60), "API key"),
            (made("sk_live_", random, 24), "Stripe key"),
            (made("xoxb-", "1234567890", 30), "Slack token"),
            (made("AKIA", "ABCDEFGH2345", 16), "AWS key"),
            (made("AIza", random, 35), "Google key"),
            (made("npm_", random, 36), "npm token"),
            (made("pypi-AgEIcHlwaS5vcmc", random, 60), "PyPI token"),
            (made("hf_", random, 34), "Hugging Face token"),
            (format!("{}.{}.{random}", made("eyJ", random, 20), made("eyJ", random, 30)), "JWT"),
            (format!("{}.{}", made("SG.", random, 22), made("", random, 43)), "SendGrid key"),
            (made("hvs.", random, 24), "Vault token"),
            (made("AGE-SECRET-KEY-1", "QPZRY9X8", 58), "private key"),
            (made("123456789:AA", random, 33), "Telegram token"),
            (made("dop_v1_", hex, 64), "DigitalOcean token"),
        ] {
            for (before, after) in [("", ""), ("use ", " now"), ("key=", "\n"), ("(", ")"), ("\"", "\"")] {
                let found = redact(&format!("{before}{text}{after}")).into_owned();
                assert_eq!(found, format!("{before}[redacted: {kind}]{after}"), "{text}");
            }
        }
        let key = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1r\n-----END OPENSSH PRIVATE KEY-----";
        assert_eq!(redact(&format!("a\n{key}\nb")), "a\n[redacted: private key]\nb");
        assert_eq!(redact("x -----BEGIN PRIVATE KEY-----\nMIIE cut off"), "x [redacted: private key]");
    }

    #[test]
    fn what_is_called_a_password_is_redacted() {
        for (text, expected) in [
            ("password=hunter2 ok", "password=[redacted: password] ok"),
            ("passwd: hunter2", "passwd: [redacted: password]"),
            ("PASSWORD = \"correct horse\"", "PASSWORD = \"[redacted: password]\""),
            ("DB_PASSWORD='s3cret'", "DB_PASSWORD='[redacted: password]'"),
            ("{\"password\": \"hunter2\"}", "{\"password\": \"[redacted: password]\"}"),
            ("{\"password\" : \"x\"}", "{\"password\" : \"[redacted: password]\"}"),
            ("{'password' :'x'}", "{'password' :'[redacted: password]'}"),
            (r#""{\"password\":\"x\"}""#, r#""{\"password\":\"[redacted: password]\"}""#),
            (r#"{\"password\" : \"a b\", \"n\":1}"#, r#"{\"password\" : \"[redacted: password]\", \"n\":1}"#),
            (r#"{\"password\":\"a\\\"b\",\"n\":1}"#, r#"{\"password\":\"[redacted: password]\",\"n\":1}"#),
            (r#"\\\"password\\\":\\\"x\\\","#, r#"\\\"password\\\":\\\"[redacted: password]\\\","#),
            (r#"{\"password\":\"x"#, r#"{\"password\":\"[redacted: password]"#),
            (r#"{"password": "a\"b c"}"#, r#"{"password": "[redacted: password]"}"#),
            ("{\"password\": \"cut off", "{\"password\": \"[redacted: password]"),
            (r#"echo \"password=hunter2\""#, r#"echo \"password=[redacted: password]\""#),
            ("password\u{a0}:\u{a0}hunter2", "password\u{a0}:\u{a0}[redacted: password]"),
            ("password\u{a0}=\u{a0}hunter2", "password\u{a0}=\u{a0}[redacted: password]"),
            (r#"{\"api_key\": \"12345678abcdef\"}"#, r#"{\"api_key\": \"[redacted: secret]\"}"#),
            (r#"{\"Authorization\":\"Bearer abc123def456\"}"#, r#"{\"Authorization\":\"Bearer [redacted: token]\"}"#),
            ("Passwort: geheim123", "Passwort: [redacted: password]"),
            ("curl -u x https://me:hunter2@example.org/a", "curl -u x https://me:[redacted: password]@example.org/a"),
            ("PWD=&abcd99 DB_PASSWORD=$up3rS", "PWD=[redacted: password] DB_PASSWORD=[redacted: password]"),
            ("password=s3cret[1]", "password=[redacted: password]"),
            ("password: {Kx9!z8}", "password: [redacted: password]"),
            ("api_key = 12345678abcdef", "api_key = [redacted: secret]"),
            ("client-secret: 8sdf7sd8f7", "client-secret: [redacted: secret]"),
            ("Authorization: Bearer abc123def456ghi7", "Authorization: Bearer [redacted: token]"),
            ("authorization: basic dXNlcjpwYXNz", "authorization: basic [redacted: token]"),
            ("-H 'X: bearer 0123456789abcdef0123'", "-H 'X: bearer [redacted: token]'"),
        ] {
            assert_eq!(redact(text), expected);
        }
    }

    #[test]
    fn what_is_redacted_hides_nothing_that_is_beside_it() {
        let key = made("ghp_", "a8F3kZ0qL9xT2mB7", 36);
        for text in [format!("password=hunter2,token={key}"), format!("/home/x/password=hunter2/{key}")] {
            let redacted = redact(&text);
            assert!(!redacted.contains("hunter2") && !redacted.contains(&key), "{redacted}");
        }
        assert!(!redact("?password=hunter3&x=arr[0]").contains("hunter3"));
    }

    #[test]
    fn card_numbers_are_redacted() {
        for card in [
            "4111111111111111",
            "4111 1111 1111 1111",
            "4111  1111  1111  1111",
            "4111 1111  1111 1111",
            "4111\u{a0}1111\u{a0}1111\u{a0}1111",
            "4111\u{202f}1111 1111\u{a0}1111",
            "4111.1111.1111.1111",
            "5555-5555-5555-4444",
            "5555\u{2011}5555\u{2011}5555\u{2011}4444",
            "3782 822463 10005",
            "3782.822463.10005",
            "6011111111111117",
        ] {
            for (before, after) in
                [("pay with ", "."), ("", ""), ("(", ")"), ("=", ","), ("1 ", " 123"), ("x\n", " 12/27")]
            {
                let found = redact(&format!("{before}{card}{after}")).into_owned();
                assert_eq!(found, format!("{before}[redacted: card number]{after}"), "{card}");
            }
        }
    }

    #[test]
    fn what_only_looks_like_it_stays() {
        for text in [
            "commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
            "sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "id 4fa85f64-5717-4562-b3fc-2c963f66afa6",
            "41111111-1111-1111-1111-111111111111",
            "ISBN 978-3-16-148410-0, 9783161484100 and 0-306-40615-2",
            "call +49 170 1234567, +4915112345678 or (555) 123-4567",
            "at 1735689600000, 1735689600000000 and 1735689600000000000",
            "4111 1111 1111 1112 is no card",
            "IBAN DE89 3704 0044 0532 0130 00",
            "version 4.1111.1111.1111, v4.11.0-rc.1, 2026.11.21.1 and 4111.1111.1111.1111.2",
            "on 2026-01-05, 05.01.2026, 2026.01.05 12.30 and 4 11 2026, 20260105 1230",
            "at 2026-01-05T12:00:00.123456789Z or 1735689600.123456",
            "0151 2345 6789, 030 4111 1111, (030) 4111 1111 11, 1.800.555.0199 and 0049.170.1234567",
            "ISBN 978 3 16 148410 0, 978.3.16.148410.0 and 3-540-49698-5",
            "id 4FA85F64-5717-4562-B3FC-2C963F66AFA6 and 41111111111111111111111111111111",
            "10.0.0.1, 192.168.100.200:8080 and 4111:1111:1111:1111::1",
            "0.4111111111111111 and 4.4000000000000004 and 3.14159265358979",
            "4111 1111 1111 1111 1111 1111 are numbers in a row",
            "1 000 000, 4.111.111,00 and 4 111 111 111 111 111",
            "4111-1111 1111-1111 and 4111-1111-1111-1111-12",
            "\"password\" : \"\", password\\\":\\\"\\\" and \"password\": null",
            "\"password\" : { \"type\" : \"string\" }",
            "the password: ask Maya",
            "Password: must be at least 8 characters",
            "let password = read_password();",
            "password = os.environ['X'] or password=$PASSWORD or password: {{ secret }}",
            "the bearer of bad news, bearer certificates",
            "sk-learn-and-a-long-name-of-a-page",
            "the secret: nobody knows it",
            "api_key: str, token = None",
            "https://example.org/a:b@c and mailto:me@example.org",
            "[redacted: password]",
        ] {
            assert_eq!(redact(text), text);
        }
    }

    #[test]
    fn a_long_text_costs_little() {
        let text = "password reset for the api key and the secret token, authorization: see bearer. ".repeat(640);
        let started = std::time::Instant::now();
        redact(&text);
        assert!(started.elapsed() < std::time::Duration::from_secs(30), "{:?}", started.elapsed());
    }
}

#[cfg(test)]
mod tests_of_rules {
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

#[cfg(test)]
mod tests_of_said {
    use super::redact;

    #[test]
    fn a_password_in_a_sentence_is_redacted() {
        for (text, expected) in [
            ("the password is hunter2", "the password is [redacted: password]"),
            ("The password is Tr0ub4dor&3.", "The password is [redacted: password]."),
            ("my password is 'Kx9!z8Qq', ok?", "my password is '[redacted: password]', ok?"),
            ("(password is Corr!ectHorse)", "(password is [redacted: password])"),
            ("Password for the router is 19283746", "Password for the router is [redacted: password]"),
            (
                "the wifi password is still \u{201c}blue42whale\u{201d} here",
                "the wifi password is still \u{201c}[redacted: password]\u{201d} here",
            ),
            ("password was changed to Winter2031!", "password was changed to [redacted: password]"),
            ("Das Passwort ist geheim123.", "Das Passwort ist [redacted: password]."),
            ("das Passwort lautet Xy7_kkq2", "das Passwort lautet [redacted: password]"),
            ("le mot de passe est soleil99", "le mot de passe est [redacted: password]"),
            ("la contrase\u{f1}a es luna2024x", "la contrase\u{f1}a es [redacted: password]"),
            ("a senha \u{e9} praia88sol", "a senha \u{e9} [redacted: password]"),
            ("la password \u{e8} Roma1999x", "la password \u{e8} [redacted: password]"),
            ("het wachtwoord is tulp2345", "het wachtwoord is [redacted: password]"),
            (
                "\u{43f}\u{430}\u{440}\u{43e}\u{43b}\u{44c} \u{2014} zima2031",
                "\u{43f}\u{430}\u{440}\u{43e}\u{43b}\u{44c} \u{2014} [redacted: password]",
            ),
            ("the token is a8f3k0q9b2t7m4", "the token is [redacted: secret]"),
            ("The API key for the weather is 9f86d081884c7d65", "The API key for the weather is [redacted: secret]"),
            ("der Token ist a8f3k0q9b2t7m4", "der Token ist [redacted: secret]"),
        ] {
            assert_eq!(redact(text), expected);
        }
    }

    #[test]
    fn a_sentence_about_passwords_stays() {
        for text in [
            "the password is stored in the vault",
            "The password is stored!",
            "the password is **encrypted** with AES-256-GCM",
            "the password is sha256-hashed, the token is base64-encoded",
            "the password is bcrypt or argon2id, argon2id-hashed",
            "the password is 12 characters long, 16-character or 8chars",
            "the password is too short; password is required",
            "The password is known to Maya@example.org and @maya1234",
            "the password is at /etc/shadow1 or ~/.ssh/id_ed25519",
            "the password is https://example.org/a1",
            "the password is 2026-03-02, 10:30:15 or v2.10.3",
            "the password manager is 1Password, or KeePassXC2021",
            "the password is JavaScript and case-sensitive",
            "the password is your-first-name",
            "the password is $PASSWORD1 or ${secret1}",
            "Das Passwort ist abgelaufen und das Passwort lautet anders",
            "le mot de passe est incorrect, la contrase\u{f1}a es correcta",
            "the token is valid until 2026-03-02T10:00",
            "the token is 4096 bytes, the token is version2, the token limit is 1000000000000",
            "the API key is in 1Password, the secret is out",
            "the key is C5 and the token is UUIDv4",
        ] {
            assert_eq!(redact(text), text);
        }
    }
}
