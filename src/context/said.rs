//! What a line says, without what stands around it. Pure.

/// A line without the mark of a list or a quote before it, and the name of a block behind it.
pub(super) fn without_marks(line: &str) -> &str {
    let line = line.trim().trim_start_matches("> ").trim_start();
    let line = ["- ", "* ", "+ "].iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or(line).trim();
    match line.rsplit_once(" ^") {
        Some((rest, name))
            if !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') =>
        {
            rest.trim_end()
        }
        _ => line,
    }
}

/// A line without the places in it, `^[notes/a.md#L3]`, and those. One that is not closed goes on to the end.
pub(super) fn without_sources(line: &str) -> (String, Vec<&str>) {
    let (mut said, mut sources, mut rest) = (String::with_capacity(line.len()), Vec::new(), line);
    while let Some((before, after)) = rest.split_once("^[") {
        let mut open = 1;
        let end = after.find(|character| {
            open += match character {
                '[' => 1,
                ']' => -1,
                _ => 0,
            };
            open == 0
        });
        let (source, left) = end.map_or((after, ""), |end| (&after[..end], &after[end + 1..]));
        said.push_str(before.trim_end());
        sources.push(source.trim());
        rest = left;
    }
    said.push_str(rest);
    (said.trim().to_owned(), sources)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_what_it_says() {
        assert_eq!(without_marks("  - Prefers tabs ^e-7f"), "Prefers tabs");
        assert_eq!(without_marks("> * x ^ y"), "x ^ y");
        assert_eq!(
            without_sources("Prefers tabs. ^[a.md#L1] ^[b.md]"),
            ("Prefers tabs.".into(), vec!["a.md#L1", "b.md"])
        );
        assert_eq!(
            without_sources("A ^[a [1].md] b %% ^[c.md] %%. ^[d"),
            ("A b %% %%.".into(), vec!["a [1].md", "c.md", "d"])
        );
        assert_eq!(without_sources("a [b]"), ("a [b]".into(), vec![]));
    }
}
