//! Takes secrets out of texts before anything is written.
//!
//! The rules are our own, in [`rules`]: one line for each kind of key, from what its issuer says of its shape. Each names
//! words without which it cannot match, so that an ordinary text costs no more than looking for those.

mod rules;

use std::borrow::Cow;

use regex::Captures;

use rules::hinted;

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
    match rules::redact(&redacted) {
        Some(changed) => Cow::Owned(changed),
        None => redacted,
    }
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
        assert!(started.elapsed() < std::time::Duration::from_secs(2), "{:?}", started.elapsed());
    }
}
