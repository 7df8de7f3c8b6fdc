//! A cache: a directory of the main checkout that a fresh worktree gets a copy of, sharing its blocks where that is possible.

use shopfloor_core::text::did_you_mean;
use toml_edit::TableLike;

/// One `[caches.PATH]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    /// How large it may be, in bytes, if its files have to be copied.
    pub max: u64,
    /// Whether its files are hard links: only for what nothing writes in place.
    pub is_linked: bool,
    /// `from = ""`: clears an inherited entry, and what `.worktreeinclude` asks for.
    pub is_cleared: bool,
}

const KEYS: [&str; 3] = ["max", "from", "link"];

/// Without `max`.
const MAX: u64 = 2 << 30;

impl Cache {
    /// As `.worktreeinclude` means it.
    pub fn usual() -> Cache {
        Cache { max: MAX, is_linked: false, is_cleared: false }
    }

    /// Reads the table of one. An error names what is wrong.
    pub fn parse(table: &dyn TableLike) -> Result<Cache, String> {
        let mut cache = Cache::usual();
        for (key, item) in table.iter() {
            match (key, item.as_str()) {
                ("max", Some(text)) => {
                    cache.max = bytes(text).ok_or("`max`: write a number and a unit: 500MB, 2GiB")?;
                }
                ("from", Some("main")) => {}
                ("from", Some("")) => cache.is_cleared = true,
                ("from", _) => return Err("`from` must be \"main\", the main checkout".into()),
                ("link", Some("hard")) => cache.is_linked = true,
                ("link", _) => return Err("`link` must be \"hard\"".into()),
                ("max", None) => return Err(format!("`max` must be a string, not {}", item.type_name())),
                _ => return Err(format!("unknown key `{key}`{}", did_you_mean(key, &KEYS))),
            }
        }
        Ok(cache)
    }

    pub fn to_toml(&self) -> toml::Table {
        if self.is_cleared {
            return toml::Table::from_iter([("from".to_owned(), "".into())]);
        }
        let mut table = toml::Table::new();
        table.insert("max".into(), format!("{}B", self.max).into());
        table.extend(self.is_linked.then(|| ("link".into(), "hard".into())));
        table
    }
}

/// A size as people write it.
fn bytes(text: &str) -> Option<u64> {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let number: u64 = text[..text.len() - unit.len()].parse().ok()?;
    let scale: u64 = match unit.trim_start() {
        "B" => 1,
        "kB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "TB" => 1_000_000_000_000,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "TiB" => 1 << 40,
        _ => return None,
    };
    number.checked_mul(scale)
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn a_size_is_a_number_and_a_unit() {
        let good = [("1B", 1), ("2 kB", 2_000), ("3MiB", 3 << 20), ("2GiB", 2 << 30), ("1TB", 1_000_000_000_000)];
        assert!(good.into_iter().all(|(text, size)| bytes(text) == Some(size)));
        assert!(
            ["", "2", "GiB", "2gib", "-1B", "2.5GiB", "99999999999TiB"].into_iter().all(|text| bytes(text).is_none())
        );
    }
}
