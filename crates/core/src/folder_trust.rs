//! Whether a person trusts a folder, by the list of an agent program. A project's settings count only in folders of
//! that list.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::agents::ProjectSettings;
use crate::env::Env;
use crate::fs;
use crate::path::real;

/// The levels of trust that trust a folder. The second one is for the folder above the one it names.
const TRUSTED: [&str; 2] = ["TRUST_FOLDER", "TRUST_PARENT"];
const PARENT: &str = TRUSTED[1];

/// Whether a program takes its settings from `folder`. A list that is missing, or that cannot be read, trusts nothing.
///
/// The rule with the longest path decides, as in gemini 0.61.0.
pub fn is_trusted(env: &Env, settings: &ProjectSettings, folder: &Path) -> bool {
    let home = env.var(settings.home_variable).map(PathBuf::from).or_else(|| env.home().map(Path::to_owned));
    let Some(home) = home.filter(|home| home.is_absolute()) else { return false };
    let Ok(Some(bytes)) = fs::read_own(&home.join(settings.trusted_folders)) else { return false };
    let Ok(rules) = serde_json::from_slice::<BTreeMap<PathBuf, Value>>(&bytes) else { return false };
    let folder = real(folder);
    let applies = |(path, level): &(&PathBuf, &Value)| {
        let place = if level.as_str() == Some(PARENT) { path.parent().unwrap_or(path) } else { path };
        folder.starts_with(real(place))
    };
    let longest = rules.iter().filter(applies).max_by_key(|(path, _)| path.as_os_str().len());
    longest.and_then(|(_, level)| level.as_str()).is_some_and(|level| TRUSTED.contains(&level))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::GEMINI_PROJECT;

    fn trusts(list: &str, folder: &str) -> bool {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join(GEMINI_PROJECT.trusted_folders);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, list).unwrap();
        let (mut env, _) = Env::from_process();
        env.vars.insert(GEMINI_PROJECT.home_variable.into(), home.path().into());
        is_trusted(&env, &GEMINI_PROJECT, Path::new(folder))
    }

    #[test]
    fn the_rule_with_the_longest_path_decides() {
        let list =
            r#"{"/a": "TRUST_FOLDER", "/a/b": "DO_NOT_TRUST", "/a/b/c": "TRUST_FOLDER", "/x/y": "TRUST_PARENT"}"#;
        for (folder, expected) in [
            ("/a", true),
            ("/a/z", true),
            ("/ab", false),
            ("/a/b", false),
            ("/a/b/z", false),
            ("/a/b/c/d", true),
            ("/x", true),
            ("/x/z", true),
            ("/", false),
        ] {
            assert_eq!(trusts(list, folder), expected, "{folder}");
        }
    }

    #[test]
    fn a_list_that_cannot_be_read_trusts_nothing() {
        for list in ["", "[]", "{\"/a\": true}", "{\"/a\": \"PERHAPS\"}", "\u{0}"] {
            assert!(!trusts(list, "/a"), "{list}");
        }
    }
}
