//! Our lines in `info/exclude`, which all worktrees share. They form a block; lines outside it are never touched.

/// The lines that keep children out of their parent's `git add -A` but let the configuration be checked in.
pub const STATE: [&str; 2] = ["/.shopfloor/*", "!/.shopfloor/config.toml"];

/// The line for agents' MCP configuration, where that is not checked in.
pub const MCP: &str = "/.mcp.json";

const BEGIN: &str = "# >>> worktree-spawn >>>";
const END: &str = "# <<< worktree-spawn <<<";

/// Adds patterns to our block, except those that are already in the file.
pub fn with(text: &[u8], patterns: &[String]) -> Vec<u8> {
    let is_there = |pattern: &str| lines(text).any(|line| line == pattern.as_bytes());
    let missing: Vec<&String> = patterns.iter().filter(|pattern| !is_there(pattern)).collect();
    if missing.is_empty() {
        return text.to_vec();
    }
    let added: Vec<u8> = missing.iter().flat_map(|pattern| format!("{pattern}\n").into_bytes()).collect();
    let end = format!("{END}\n").into_bytes();
    if let Some(at) = text.windows(end.len()).position(|window| window == end) {
        return [&text[..at], &added, &text[at..]].concat();
    }
    let gap: &[u8] = if text.is_empty() || text.ends_with(b"\n") { b"" } else { b"\n" };
    [text, gap, format!("{BEGIN}\n").as_bytes(), &added, &end].concat()
}

/// Deletes a pattern from our block, and the block with its last pattern.
pub fn without(text: &[u8], pattern: &str) -> Vec<u8> {
    let mut is_ours = false;
    let kept = text.split_inclusive(|b| *b == b'\n').filter(|line| {
        let line = line.trim_ascii_end();
        is_ours = (is_ours || line == BEGIN.as_bytes()) && line != END.as_bytes();
        !(is_ours && line == pattern.as_bytes())
    });
    let kept: Vec<u8> = kept.flatten().copied().collect();
    let empty = format!("{BEGIN}\n{END}\n").into_bytes();
    match kept.windows(empty.len()).position(|window| window == empty) {
        Some(at) => [&kept[..at], &kept[at + empty.len()..]].concat(),
        None => kept,
    }
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|b| *b == b'\n').map(<[u8]>::trim_ascii_end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_in_our_block_are_added_and_deleted() {
        let patterns = ["/a".to_owned(), "/b".to_owned()];
        let once = with(b"# theirs\n/a", &patterns);
        assert_eq!(String::from_utf8_lossy(&once), format!("# theirs\n/a\n{BEGIN}\n/b\n{END}\n"));
        assert_eq!(with(&once, &patterns), once);
        let twice = with(&once, &["/c".to_owned()]);
        assert_eq!(String::from_utf8_lossy(&twice), format!("# theirs\n/a\n{BEGIN}\n/b\n/c\n{END}\n"));
        assert_eq!(without(&twice, "/c"), once);
        assert_eq!(["/b", "/c"].iter().fold(twice.clone(), |text, line| without(&text, line)), b"# theirs\n/a\n");
        // A line outside the block stays.
        assert_eq!(without(&twice, "/a"), twice);
    }
}
