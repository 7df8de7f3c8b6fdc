//! The lines of `info/exclude`, which the main checkout and all worktrees share. Ours are in one marked block;
//! everything else in the file belongs to others.

use std::collections::BTreeSet;

use shopfloor_core::fs;
use shopfloor_core::path::RelPath;

use crate::env_file;
use crate::layer::MergedLayers;
use crate::sweatfile::toml_string;

const BEGIN: &str = "# >>> sweatfile-apply >>>";
const END: &str = "# <<< sweatfile-apply <<<";

/// The exclude patterns of the layers in their order, then our own. Ours come last so that a `!pattern` of a layer
/// cannot bring `.sweatshop-env` back.
pub fn wanted(merged: &MergedLayers, needs_reserved: bool) -> Vec<String> {
    let reserved = needs_reserved.then(|| format!("{}*", fs::RESERVED));
    let theirs = merged.git_excludes.iter().filter(|p| *p != env_file::FILE).cloned();
    let mut seen = BTreeSet::new();
    theirs.chain(reserved).chain([env_file::FILE.to_owned()]).filter(|p| seen.insert(p.clone())).collect()
}

/// The patterns that the file does not contain.
pub fn missing(text: &[u8], patterns: &[String]) -> Vec<String> {
    let lines: BTreeSet<&[u8]> = lines(text).map(<[u8]>::trim_ascii_end).collect();
    let mut seen = BTreeSet::new();
    let absent = patterns.iter().filter(|p| !lines.contains(p.as_bytes().trim_ascii_end()));
    absent.filter(|p| seen.insert(p.as_str())).cloned().collect()
}

/// Adds `patterns` at the end of our block, but before the line for `.sweatshop-env`, which stays last. A missing
/// block is begun at the end of the file. No other byte changes, except that an unfinished last line gets its line
/// end.
pub fn with(text: &[u8], patterns: &[String]) -> Vec<u8> {
    let added: Vec<u8> = missing(text, patterns).iter().flat_map(|p| format!("{p}\n").into_bytes()).collect();
    if added.is_empty() {
        return text.to_vec();
    }
    let Some((head, body, tail)) = block(text) else {
        let end: &[u8] = if text.is_empty() || text.ends_with(b"\n") { b"" } else { b"\n" };
        return [text, end, BEGIN.as_bytes(), b"\n", &added, END.as_bytes(), b"\n"].concat();
    };
    let own = format!("{}\n", env_file::FILE).into_bytes();
    let is_last = lines(body).last() == Some(own.as_slice());
    let (body, last) = body.split_at(if is_last { body.len() - own.len() } else { body.len() });
    [head, body, &added, last, tail].concat()
}

/// The patterns in our block.
pub fn own(text: &[u8]) -> Vec<String> {
    let body = block(text).map_or(&b""[..], |(_, body, _)| body);
    lines(body).map(|line| String::from_utf8_lossy(bare(line)).into_owned()).collect()
}

/// Removes these patterns from our block, and the block itself once it is empty. Also returns the patterns that were
/// in it.
pub fn without(text: &[u8], patterns: &BTreeSet<String>) -> (Vec<u8>, Vec<String>) {
    let Some((head, body, tail)) = block(text) else { return (text.to_vec(), Vec::new()) };
    let (mut kept, mut removed) = (Vec::new(), Vec::new());
    for line in lines(body) {
        match patterns.iter().find(|pattern| pattern.as_bytes() == bare(line)) {
            Some(pattern) => removed.push(pattern.clone()),
            None => kept.extend(line),
        }
    }
    if !kept.is_empty() {
        return ([head, &kept, tail].concat(), removed);
    }
    let length = |marker: Option<&[u8]>| marker.map_or(0, <[u8]>::len);
    let begin = head.len() - length(lines(head).last());
    ([&head[..begin], &tail[length(lines(tail).next())..]].concat(), removed)
}

/// The pattern for exactly this path at the top of a worktree, as a TOML string.
pub fn pattern_for(path: &RelPath) -> String {
    toml_string(&path.pattern())
}

/// The text up to the lines in our block, these lines, and the text from the line that ends the block.
fn block(text: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let (mut at, mut begin) = (0, None);
    for line in lines(text) {
        match (line.trim_ascii_end(), begin) {
            (l, None) if l == BEGIN.as_bytes() => begin = Some(at + line.len()),
            (l, Some(begin)) if l == END.as_bytes() => return Some((&text[..begin], &text[begin..at], &text[at..])),
            _ => {}
        }
        at += line.len();
    }
    None
}

/// A line without its end. A blank before that is a part of the pattern.
fn bare(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// The lines, with their ends.
fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split_inclusive(|b| *b == b'\n')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn strings(patterns: &[&str]) -> Vec<String> {
        patterns.iter().map(|p| (*p).to_owned()).collect()
    }

    fn text(bytes: Vec<u8>) -> String {
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn a_block_is_begun_without_gluing_and_grown_in_order() {
        let first = with(b"*.log", &strings(&["a", ".sweatshop-env"]));
        let second = with(&first, &strings(&["*.log", "a", "b", "b"]));
        insta::assert_snapshot!(text(second), @r"
        *.log
        # >>> sweatfile-apply >>>
        a
        b
        .sweatshop-env
        # <<< sweatfile-apply <<<
        ");
    }

    #[test]
    fn lines_outside_the_block_are_not_ours_to_remove() {
        let file = with(b"a\n", &strings(&["b", "c"]));
        let (left, removed) = without(&file, &strings(&["a", "b", "c"]).into_iter().collect());
        assert_eq!((text(left), removed), ("a\n".into(), strings(&["b", "c"])));
        let (left, _) = without(&file, &strings(&["b"]).into_iter().collect());
        assert_eq!(missing(&left, &strings(&["a", "b", "c"])), ["b"]);
    }

    #[test]
    fn suggested_patterns_mean_the_path_and_nothing_else() {
        let pattern = |path: &str| pattern_for(&RelPath::parse(path).unwrap());
        assert_eq!(pattern(".envrc"), "\"/.envrc\"");
        assert_eq!(pattern(".*[a?"), r#""/.\\*\\[a\\?""#);
    }

    proptest! {
        #[test]
        fn others_lines_stay_and_adding_is_idempotent(
            before in "[ab#\\n\\r]{0,20}", patterns in proptest::collection::vec("[abc]{1,2}|[*]?[.]sweatshop-env", 0..5)
        ) {
            let once = with(before.as_bytes(), &patterns);
            prop_assert!(once.starts_with(before.as_bytes()));
            prop_assert_eq!(with(&once, &patterns), once.clone());
            for pattern in &patterns {
                let times = lines(&once).filter(|l| l.trim_ascii_end() == pattern.as_bytes()).count();
                let already = lines(before.as_bytes()).filter(|l| l.trim_ascii_end() == pattern.as_bytes()).count();
                prop_assert_eq!(times, already.max(1));
            }
            let (back, _) = without(&once, &patterns.iter().cloned().collect());
            let ended = if before.is_empty() || before.ends_with('\n') || once == before.as_bytes() { before } else { before + "\n" };
            prop_assert_eq!(back, ended.into_bytes());
        }
    }
}
