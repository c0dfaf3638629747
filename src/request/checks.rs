//! What is asked, checked as every use case checks it.

use super::RequestError;
use crate::config::MemoryScope;
use crate::path::VaultPath;

/// Maximum length of a text that is kept: what is longer is a document, and can be put into the folder.
const MAX_CONTENT_BYTES: usize = 50 * 1024;
/// Maximum length of a query: nothing that a person or an agent looks for is longer.
const MAX_QUERY_BYTES: usize = 16 * 1024;

/// A text of somebody's.
///
/// # Errors
/// When it is empty, too long, or has control characters.
pub(crate) fn text(field: &str, text: &str) -> Result<String, RequestError> {
    let text = text.replace("\r\n", "\n");
    let message = if text.trim().is_empty() {
        "is empty".to_owned()
    } else if text.len() > MAX_CONTENT_BYTES {
        format!("has {} bytes; it takes {MAX_CONTENT_BYTES}", text.len())
    } else if let Some(odd) = text.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\t')) {
        format!("has the control character {odd:?}")
    } else {
        return Ok(text);
    };
    Err(RequestError::invalid(format!("`{field}` {message}")))
}

/// A query, by the name of its field.
///
/// # Errors
/// When it is too long.
pub(crate) fn query_text<'a>(field: &str, text: &'a str) -> Result<&'a str, RequestError> {
    if text.len() > MAX_QUERY_BYTES {
        let message = format!("`{field}` has {} bytes; it takes {MAX_QUERY_BYTES}", text.len());
        return Err(RequestError::invalid(message));
    }
    Ok(text)
}

/// How many are asked for.
///
/// # Errors
/// When it is none, or over 1,000.
pub(crate) fn limit(asked: Option<usize>, default: usize) -> Result<usize, RequestError> {
    match asked {
        None => Ok(default),
        Some(limit @ 1..=1000) => Ok(limit),
        Some(limit) => Err(RequestError::invalid(format!("`limit` is {limit}; it takes 1 to 1000"))),
    }
}

/// How likely hits are to be.
///
/// # Errors
/// When it is no share.
pub(crate) fn min_score(asked: Option<f64>) -> Result<Option<f64>, RequestError> {
    match asked.filter(|asked| !(0.0..=1.0).contains(asked)) {
        Some(asked) => Err(RequestError::invalid(format!("`min_score` is {asked}; it takes 0 to 1"))),
        None => Ok(asked),
    }
}

/// Maximum number of chunks on either side of a hit.
pub(crate) const MAX_CONTEXT: usize = 20;

/// How many chunks are asked for on either side of a hit.
///
/// # Errors
/// When it is over 20.
pub(crate) fn context(asked: Option<usize>) -> Result<Option<usize>, RequestError> {
    match asked {
        Some(more) if more > MAX_CONTEXT => {
            Err(RequestError::invalid(format!("`context` is {more}; it takes 0 to {MAX_CONTEXT}")))
        }
        asked => Ok(asked),
    }
}

/// How long the models are waited for.
///
/// # Errors
/// When it is nothing, or over a minute.
pub(crate) fn timeout_ms(asked: Option<u64>) -> Result<Option<u64>, RequestError> {
    match asked.filter(|asked| !(1..=60_000).contains(asked)) {
        Some(asked) => Err(RequestError::invalid(format!("`timeout_ms` is {asked}; it takes 1 to 60000"))),
        None => Ok(asked),
    }
}

/// Maximum number of memory scopes that one request names.
const MAX_SCOPES: usize = 50;

/// Memory scopes as somebody names them, each with its weight, if one is said: `project:mech,system=0.4`.
///
/// # Errors
/// When one is none, or its weight is no number from 0 to 10.
pub(crate) fn memory_scopes(name: &str, text: &str) -> Result<Vec<(MemoryScope, Option<f64>)>, RequestError> {
    let one = |text: &str| -> Result<(MemoryScope, Option<f64>), RequestError> {
        let (scope, weight) = text.split_once('=').map_or((text, None), |(scope, weight)| (scope, Some(weight)));
        let scope = MemoryScope::parse(scope).map_err(|error| RequestError::invalid(format!("`{name}`: {error}")))?;
        let weight = weight.map(|weight| {
            let number = weight.trim().parse().ok().filter(|weight: &f64| (0.0..=10.0).contains(weight));
            number.ok_or_else(|| RequestError::invalid(format!("`{name}` has the weight `{weight}`; it takes 0 to 10")))
        });
        Ok((scope, weight.transpose()?))
    };
    let scopes = text.split(',').map(one).collect::<Result<Vec<_>, _>>()?;
    if scopes.len() > MAX_SCOPES {
        return Err(RequestError::invalid(format!("`{name}` has {} scopes; it takes {MAX_SCOPES}", scopes.len())));
    }
    Ok(scopes)
}

/// A path as somebody gives it.
///
/// # Errors
/// When it leaves the vault, or cannot be a path.
pub(crate) fn note_path(path: &str) -> Result<VaultPath, RequestError> {
    VaultPath::new(path).map_err(|error| RequestError::invalid(format!("`path`: {error}")))
}
