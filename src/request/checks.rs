//! What is asked, checked as every use case checks it.

use super::RequestError;
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

/// Maximum number of passages on either side of a hit.
pub(crate) const MAX_CONTEXT: usize = 20;

/// How many passages are asked for on either side of a hit.
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

/// A path as somebody gives it.
///
/// # Errors
/// When it leaves the vault, or cannot be a path.
pub(crate) fn note_path(path: &str) -> Result<VaultPath, RequestError> {
    VaultPath::new(path).map_err(|error| RequestError::invalid(format!("`path`: {error}")))
}
