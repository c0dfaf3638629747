//! What of HTML is a tag, and what only looks like one.

/// The elements that a note may have without attributes.
const ELEMENTS: &str = "a abbr address article aside b bdi bdo big blockquote body br button caption center cite code col colgroup dd \
    del details dfn div dl dt em figcaption figure font footer h1 h2 h3 h4 h5 h6 head header hr html i iframe img input ins kbd \
    label li link main mark math meta nav ol p picture pre q rp rt ruby s samp script section small source span strike strong \
    style sub summary sup svg table tbody td template tfoot th thead time title tr tt u ul var video wbr";

/// Whether what reads as the start of an element is a part of the text: `Vec<u8>` is no element `u8`.
pub(super) fn is_text(tag: &str) -> bool {
    let Some(inside) = tag.strip_prefix('<').and_then(|rest| rest.strip_suffix('>')) else { return false };
    let is_name = !inside.is_empty() && inside.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    is_name && !ELEMENTS.split(' ').any(|element| element.eq_ignore_ascii_case(inside))
}
