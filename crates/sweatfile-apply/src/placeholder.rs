//! What stands between the braces of a template: a name, perhaps with a filter.

use shopfloor_core::hash::Digest;
use shopfloor_core::slug::ascii_slug;
use shopfloor_core::text::nearest;

/// The names that take a filter, and the filters.
pub const NAMES: [&str; 5] = ["worktree", "branch", "repo", "default_branch", "parent_branch"];
pub const FILTERS: [&str; 3] = ["slug", "db", "hash"];

/// The longest slug is what a part of a host's name may have, and the longest name of a database fits in all of them.
const LONGEST_SLUG: usize = 63;
const LONGEST_DB: usize = 48;

/// How many digits of a hash tell values apart.
const HASH: usize = 8;

/// A value through a filter; none if there is no such filter.
pub fn filtered(value: &str, filter: &str) -> Option<String> {
    let hash = || Digest::of(value.as_bytes()).to_string()[..HASH].to_owned();
    Some(match filter {
        "slug" => ascii_slug(value, LONGEST_SLUG, "x").unwrap_or_else(hash),
        "hash" => hash(),
        // `feat/a` and `feat-a` have one slug, and must not have one database.
        "db" => {
            let slug = ascii_slug(value, LONGEST_DB - HASH - 2, "x").unwrap_or_default().replace('-', "_");
            let is_started = slug.starts_with(|c: char| c.is_ascii_lowercase());
            format!("{}{slug}_{}", if is_started { "" } else { "x" }, hash())
        }
        _ => return None,
    })
}

/// What stands between braces in a text.
pub fn insides(text: &str) -> impl Iterator<Item = &str> {
    text.split('{').skip(1).filter_map(|part| part.split_once('}').map(|(inside, _)| inside))
}

/// The first filter in a text that there is not, in words.
pub fn unknown_filter(text: &str) -> Option<String> {
    insides(text).filter_map(|inside| inside.split_once('|')).find_map(|(name, filter)| {
        let takes_none = port_name(name).is_some();
        let is_known = !takes_none && (!NAMES.contains(&name) || FILTERS.contains(&filter));
        let near = nearest(filter, &FILTERS).filter(|_| !takes_none);
        let hint = near.map_or("slug, db or hash".to_owned(), |near| format!("did you mean `{near}`?"));
        let hint = if takes_none { "a port has no filters" } else { &hint };
        (!is_known).then(|| format!("`{{{name}|{filter}}}`: there is no such filter; {hint}"))
    })
}

/// Whether a placeholder of a command stands where the shell reads its value as more than one word: the value is quoted, and
/// within other quotes or behind a backslash it would not be. Whoever names a branch would run code there.
pub fn is_within_quotes(command: &str) -> bool {
    let is_placeholder = |rest: &str| {
        let inside = rest.split_once('}').map_or("", |(inside, _)| inside);
        let name = inside.split('|').next().unwrap_or_default();
        NAMES.contains(&name) || port_name(name).is_some()
    };
    let (mut quote, mut has_one, mut is_escaped) = (None, false, false);
    for (at, c) in command.char_indices() {
        match (c, quote) {
            ('{', _) if is_escaped && is_placeholder(&command[at + 1..]) => return true,
            _ if is_escaped => is_escaped = false,
            ('\\', None | Some('"' | '`')) => is_escaped = true,
            ('\'' | '"' | '`', None) => quote = Some(c),
            (_, Some(open)) if c == open => quote = None,
            ('{', open) if is_placeholder(&command[at + 1..]) => {
                has_one = true;
                if open.is_some() {
                    return true;
                }
            }
            _ => {}
        }
    }
    // There, and in arithmetic, the shell knows no quotes.
    has_one && (command.contains("<<") || command.contains("$((") || quote.is_some())
}

/// The name in `port:NAME`, or the empty name of a plain `port`.
pub fn port_name(inside: &str) -> Option<&str> {
    if inside == "port" {
        return Some("");
    }
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    inside.strip_prefix("port:").filter(|name| !name.is_empty() && name.chars().all(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placeholder_of_a_command_stands_outside_of_quotes() {
        for good in [
            "echo {branch}",
            "x 'a' {branch|slug} \"b\"",
            "echo '{x}' \\' {port}",
            "awk '{print}'",
            "a{branch}b",
            "\\\\{port}",
        ] {
            assert!(!is_within_quotes(good), "{good}");
        }
        for bad in [
            "echo 'x-{branch}'",
            "\"{branch}\"",
            "`echo {repo}`",
            "cat <<E\n{branch}\nE",
            "$(({port}))",
            "'{branch}",
            "\\{branch}",
        ] {
            assert!(is_within_quotes(bad), "{bad}");
        }
    }

    #[test]
    fn a_filter_makes_a_value_fit_and_an_unknown_one_is_named() {
        let long = "x/".repeat(100);
        assert!(filtered(&long, "slug").unwrap().len() <= 63);
        for branch in ["feat/a", "feat-a", "9", "日本", long.as_str(), "/"] {
            let db = filtered(branch, "db").unwrap();
            let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            assert!(
                db.len() <= 48 && db.starts_with(|c: char| c.is_ascii_lowercase()) && db.chars().all(is_word),
                "{db}"
            );
        }
        assert_ne!(filtered("feat/a", "db"), filtered("feat-a", "db"));
        assert_eq!(filtered("b", "hash").unwrap(), "3e23e816");
        assert_eq!(unknown_filter("{branch|slug} {x|y}"), None);
        assert!(unknown_filter("{branch|slg}").unwrap().contains("did you mean `slug`?"));
        assert!(unknown_filter("{port|slug}").unwrap().contains("a port has no filters"));
    }
}
