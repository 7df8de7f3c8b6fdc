//! The lines of a diff as git prints it, each with its place in the file.

use std::sync::Arc;

use crate::text::unescaped;

/// The arguments for a list of changed files with whole paths, whatever the configuration says: who agrees to something has
/// to see the directories, too.
pub const WHOLE_STAT: [&str; 2] = ["--stat=20000,20000", "--stat-graph-width=20"];

/// What a line of a diff is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    /// About the file, or the message of a commit.
    Head,
    /// The first line of a hunk.
    Hunk,
    /// In both files.
    Context,
    /// Only in the old file.
    Removed,
    /// Only in the new file.
    Added,
}

/// A line of a diff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffLine {
    /// What it is.
    pub kind: LineKind,
    /// The file, below the top of the repository.
    pub path: Arc<str>,
    /// The first line of its hunk; empty outside of hunks.
    pub hunk: Arc<str>,
    /// Its numbers in the old and in the new file, from 1.
    pub numbers: (Option<usize>, Option<usize>),
    /// The line without its sign.
    pub text: String,
}

impl DiffLine {
    /// The sign that git prints before it.
    pub fn sign(&self) -> &'static str {
        match self.kind {
            LineKind::Head | LineKind::Hunk => "",
            LineKind::Context => " ",
            LineKind::Removed => "-",
            LineKind::Added => "+",
        }
    }

    /// Whether a file begins with it.
    pub fn is_file(&self) -> bool {
        self.kind == LineKind::Head && self.text.starts_with("diff --git ")
    }

    /// Its number in the file that it stands in: of a line that is in both, the new one.
    pub fn number(&self) -> Option<usize> {
        self.numbers.1.or(self.numbers.0)
    }
}

/// The lines of a diff with the prefixes `a/` and `b/`. What is no diff, as the messages of `git log`, is [`LineKind::Head`].
pub fn lines(diff: &str) -> Vec<DiffLine> {
    let (mut path, mut hunk): (Arc<str>, Arc<str>) = ("".into(), "".into());
    let (mut at, mut left) = ((0, 0), (0, 0));
    let mut all = Vec::new();
    for line in diff.lines() {
        let is_within = left != (0, 0);
        let (kind, numbers) = match line.as_bytes().first() {
            Some(b'-') if left.0 > 0 => (LineKind::Removed, (Some(at.0), None)),
            Some(b'+') if left.1 > 0 => (LineKind::Added, (None, Some(at.1))),
            Some(b' ') | None if left.0 > 0 && left.1 > 0 => (LineKind::Context, (Some(at.0), Some(at.1))),
            _ => (LineKind::Head, (None, None)),
        };
        if let (old, new) = numbers
            && kind != LineKind::Head
        {
            at = (at.0 + usize::from(old.is_some()), at.1 + usize::from(new.is_some()));
            left = (left.0 - usize::from(old.is_some()), left.1 - usize::from(new.is_some()));
            let text = line.get(1..).unwrap_or_default().to_owned();
            all.push(DiffLine { kind, path: path.clone(), hunk: hunk.clone(), numbers, text });
            continue;
        }
        let begins = (!is_within).then(|| ranges(line)).flatten();
        match begins {
            Some((old, new)) => {
                (at, left) = ((old.0, new.0), (old.1, new.1));
                hunk = line.into();
            }
            // The end of a file without a line end belongs to its hunk.
            None if line.starts_with('\\') => {}
            None => (left, hunk) = ((0, 0), "".into()),
        }
        if begins.is_none() && line.starts_with("diff --git ") {
            path = "".into();
        }
        if let Some(named) = ["--- ", "+++ "].iter().filter_map(|mark| line.strip_prefix(mark)).find_map(file) {
            path = named.into();
        }
        let kind = if begins.is_some() { LineKind::Hunk } else { LineKind::Head };
        all.push(DiffLine {
            kind,
            path: path.clone(),
            hunk: hunk.clone(),
            numbers: (None, None),
            text: line.to_owned(),
        });
    }
    all
}

/// The file in a line that begins with `---` or `+++`.
fn file(named: &str) -> Option<String> {
    let named = named.strip_suffix('\t').unwrap_or(named);
    let quoted = named.strip_prefix('"').and_then(|quoted| quoted.strip_suffix('"'));
    let name = quoted.map_or_else(|| named.as_bytes().to_vec(), |quoted| unescaped(quoted.as_bytes()));
    let name = name.strip_prefix(b"a/").or(name.strip_prefix(b"b/"))?;
    Some(String::from_utf8_lossy(name).into_owned())
}

/// First lines and lengths of both sides in the first line of a hunk.
fn ranges(line: &str) -> Option<((usize, usize), (usize, usize))> {
    let (ranges, _) = line.strip_prefix("@@ -")?.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let range = |text: &str| -> Option<(usize, usize)> {
        let (first, length) = text.split_once(',').unwrap_or((text, "1"));
        let number = |text: &str| text.parse::<u32>().ok().and_then(|number| usize::try_from(number).ok());
        Some((number(first)?, number(length)?))
    };
    Some((range(old)?, range(new)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_has_its_place() {
        let diff = "commit 1\n\n    @@ -1 +1 @@ of a message\ndiff --git a/x.rs b/x.rs\n--- a/x.rs\n+++ b/x.rs\n\
                    @@ -3,3 +3,4 @@ fn f()\n a\n--- b\n+++ c\n+d\n\n\
                    diff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n\
                    \\ No newline at end of file\n\
                    diff --git \"a/t\\tb\" \"b/t\\tb\"\n--- /dev/null\n+++ \"b/t\\t\\\"\\\\\\303\\244\"\n@@ -0,0 +1 @@\n+x\n";
        let found: Vec<_> = lines(diff)
            .into_iter()
            .filter(|line| line.number().is_some())
            .map(|line| format!("{}:{:?}{}{}", line.path, line.numbers, line.sign(), line.text))
            .collect();
        assert_eq!(
            found,
            [
                "x.rs:(Some(3), Some(3)) a",
                "x.rs:(Some(4), None)--- b",
                "x.rs:(None, Some(4))+++ c",
                "x.rs:(None, Some(5))+d",
                "x.rs:(Some(5), Some(6)) ",
                "gone:(Some(1), None)-x",
                "t\t\"\\ä:(None, Some(1))+x",
            ]
        );
        let heads = lines(diff)
            .iter()
            .filter(|line| line.kind == LineKind::Hunk)
            .map(|line| line.hunk.len())
            .collect::<Vec<_>>();
        assert_eq!(heads, [22, 13, 13]);
    }

    #[test]
    fn a_diff_that_lies_about_its_lengths_ends_at_its_end() {
        let cut = lines("--- a/x\n+++ b/x\n@@ -1,99999999999999999999 +1 @@\n+a\n@@ -1,9 +1,9 @@\n+a\n!\n+b\n");
        let kinds: Vec<LineKind> = cut.iter().map(|line| line.kind).collect();
        let (head, hunk, added) = (LineKind::Head, LineKind::Hunk, LineKind::Added);
        assert_eq!(kinds, [head, head, head, head, hunk, added, head, head]);
    }
}
