//! What a person may be about to type: paths and collections that they see.

use rmcp::model::{CompleteRequestParams, CompleteResult, CompletionInfo, ErrorData, Reference};

use super::{prompts, resources};
use crate::notes;
use crate::path::folded;
use crate::request::Viewer;

pub(super) fn complete(viewer: &Viewer, request: &CompleteRequestParams) -> Result<CompleteResult, ErrorData> {
    let argument = request.argument.name.as_str();
    let within = request.context.as_ref().and_then(|context| context.get_argument("collection"));
    let known = match &request.r#ref {
        Reference::Resource(template) => match (template.uri.as_str(), argument) {
            (resources::NOTE, "path") => paths(viewer, "")?,
            (resources::IN_COLLECTION, "collection") => {
                let names = notes::collections(viewer).map_err(|error| resources::failed(viewer.principal(), error))?;
                names.collections
            }
            (resources::IN_COLLECTION, "path") => match within {
                Some(collection) => paths(viewer, &format!("{collection}/"))?,
                None => Vec::new(),
            },
            (uri, _) => return Err(unknown(&format!("`{argument}` of {uri}"))),
        },
        // What a person wants to recall or remember is not ours to guess.
        Reference::Prompt(prompt) if prompts::is_one(&prompt.name) => Vec::new(),
        Reference::Prompt(prompt) => return Err(unknown(&format!("the prompt {}", prompt.name))),
        _ => return Err(unknown("this reference")),
    };
    let (total, values) = matching(known, &request.argument.value);
    let more = total > values.len();
    viewer.log("complete", &request.argument.value, values.clone());
    let info = CompletionInfo::with_pagination(values, u32::try_from(total).ok(), more);
    Ok(CompleteResult::new(info.map_err(|error| ErrorData::internal_error(error, None))?))
}

fn unknown(what: &str) -> ErrorData {
    ErrorData::invalid_params(format!("there is nothing to complete in {what}"), None)
}

/// The paths that start so, less what they start with.
fn paths(viewer: &Viewer, start: &str) -> Result<Vec<String>, ErrorData> {
    let paths = notes::paths(viewer).map_err(|error| resources::failed(viewer.principal(), error))?;
    Ok(paths.into_iter().filter_map(|path| Some(path.strip_prefix(start)?.to_owned())).collect())
}

/// How many hold what was typed, and the first of them: those that start so, then those with a part that does, then the rest.
fn matching(known: Vec<String>, typed: &str) -> (usize, Vec<String>) {
    let typed = folded(typed);
    let mut found: Vec<(usize, String)> = known
        .into_iter()
        .filter_map(|name| {
            let spelled = folded(&name);
            let at = spelled.find(&typed)?;
            let rank = match at {
                0 => 0,
                _ if spelled[..at].ends_with('/') => 1,
                _ => 2,
            };
            Some((rank, name))
        })
        .collect();
    found.sort();
    let total = found.len();
    (total, found.into_iter().map(|(_, name)| name).take(CompletionInfo::MAX_VALUES).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_of_a_path_comes_before_its_middle() {
        let known = ["a/notes.md", "notes/b.md", "c/my notes.md", "x.md"].map(str::to_owned).to_vec();
        let (total, values) = matching(known.clone(), "NOTES");
        assert_eq!((total, values), (3, ["notes/b.md", "a/notes.md", "c/my notes.md"].map(str::to_owned).to_vec()));
        assert_eq!(matching(known, "").0, 4);
    }
}
