//! Secrets in sentences: "the password is …". What follows may as well be any word, so it has to look as nobody writes a word.

use super::value::is_value;

/// Parts of words with digits in them that are no secrets: what secrets are made with, and what keeps them.
const TERMS: &str = "aes argon2 argon2i argon2id base16 base32 base58 base64 bcrypt blake2 blake3 chacha20 ed25519 h264 hmac hs256 hs512 http2 ipv4 \
    ipv6 iso jwt k8s latin1 md4 md5 mp3 oauth oauth1 oauth2 password pbkdf2 pkcs12 pkcs8 rc4 rs256 rsa rsa2048 rsa4096 s3 saml2 scrypt sha sha1 \
    sha2 sha256 sha3 sha384 sha512 tls12 tls13 ucs2 utf utf16 utf8 uuid uuid4 uuidv4 uuidv7 win32 win64 x25519 x509 x86";
/// Signs that are in passwords and hardly ever within words.
const SIGNS: [char; 13] = ['!', '#', '@', '%', '^', '*', '$', '+', '~', '=', '?', '{', '&'];

/// Whether a text that is said to be a password looks like one.
pub(super) fn is_said_password(text: &str) -> bool {
    let Some(SecretSpelling { bare, letters, digits, .. }) = SecretSpelling::of(text, 6) else { return false };
    let is_number = letters == 0 && bare.chars().all(|c| c.is_ascii_digit());
    let has_both_cases = bare.contains(char::is_lowercase) && bare.contains(char::is_uppercase);
    let has_sign = bare.contains(SIGNS);
    is_number || (letters > 0 && digits > 0) || (has_sign && has_both_cases && bare.len() >= 8)
}

/// Whether a text that is said to be a token or a key looks like one: those are made by programs.
pub(super) fn is_said_token(text: &str) -> bool {
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
    use super::super::redact;

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
