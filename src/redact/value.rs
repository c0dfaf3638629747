//! Whether a text is a value, and not what stands for one.

/// Whether somebody made it up at random, or to be hard to guess: words have no digits in them.
pub(super) fn has_digit(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_digit())
}

/// A value in code or a template, or what says that there is none, is no secret.
pub(super) fn is_value(text: &str) -> bool {
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
