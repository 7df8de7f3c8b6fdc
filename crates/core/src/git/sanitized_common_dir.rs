//! A stand-in for a common git directory: links to everything in the real one, beside a configuration of our own.
//!
//! git reads `config` by itself, and each worktree's `config.worktree` if `extensions.worktreeConfig` is set. A filter
//! or transport that these name runs. An agent may write both, also between our look and git's. So git gets this
//! directory as `GIT_COMMON_DIR`: its `config` has what we read once and found to run nothing, without that extension.
//! It lies where no agent's sandbox lets it write: in a root of ours beside the clone, else in the user's own state.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::discovery_cache::configuration_print;
use super::integrity::{links_below, odd, require_plain, special_objects, tampered};
use super::{Git, git_said, nul_fields};
use crate::env::Env;
use crate::error::Result;
use crate::fs;
use crate::hash::Digest;
use crate::path::{file_url, real};
use crate::text::is_like;

/// What the stand-in has links to.
const LINKED: [&str; 9] = ["HEAD", "lfs", "logs", "modules", "objects", "packed-refs", "refs", "reftable", "shallow"];

/// Those of them that are files.
const FILES: [&str; 3] = ["HEAD", "packed-refs", "shallow"];

/// Keys that decide what files look like, and run nothing. `git sparse-checkout` writes some of them. Not what decides
/// how things are merged or committed: `branch.X.mergeOptions` reads any file, `pull.twohead` drops work.
const HARMLESS: &str = "advice.* color.* index.* status.* branch.*.description \
    core.autocrlf core.bare core.commentchar core.compression core.eol core.filemode \
    core.logallrefupdates core.longpaths core.precomposeunicode core.quotepath core.repositoryformatversion \
    core.safecrlf core.sparsecheckout core.sparsecheckoutcone core.symlinks core.untrackedcache \
    diff.algorithm diff.colormoved diff.renames extensions.compatobjectformat extensions.noop extensions.objectformat \
    extensions.preciousobjects extensions.refstorage gc.auto i18n.commitencoding merge.conflictstyle merge.renames \
    submodule.recurse";

/// What `git lfs install` writes: it names the program and no other.
pub const LFS: [(&str, &str); 4] = [
    ("filter.lfs.clean", "git-lfs clean -- %f"),
    ("filter.lfs.smudge", "git-lfs smudge -- %f"),
    ("filter.lfs.process", "git-lfs filter-process"),
    ("filter.lfs.required", "true"),
];

/// Whose configuration the real `config` is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// The person's: all of it counts.
    Person,
    /// A clone of ours in which agents work: of what runs or redirects something, only what the person's own
    /// configuration says too, as git reads it in the directory `theirs`. The stand-in is `dir`.
    Agents { dir: PathBuf, theirs: PathBuf },
}

impl Owner {
    /// Whether it is the clone of a root, which `worker-ctl init` has made.
    fn is_clone(&self) -> bool {
        matches!(self, Owner::Agents { theirs, .. } if theirs != Path::new("/"))
    }
}

/// A setting as git lists it; without a value it is true.
pub type Setting = (String, Option<OsString>);

impl Git {
    /// Makes the stand-in for a common directory, or brings it up to date.
    pub(super) fn stand_in(&self, common_dir: &Path, owner: &Owner) -> Result<PathBuf> {
        let real = real(common_dir);
        let dir = match owner {
            Owner::Agents { dir, .. } => dir.clone(),
            Owner::Person => self.own_place(common_dir)?,
        };
        fs::create_private_dir(&dir)?;
        // Attributes there could hide a change from a review.
        let info = dir.join("info");
        if info.is_symlink() {
            fs::remove(&info)?;
        }
        fs::create_private_dir(&info)?;
        if matches!(owner, Owner::Agents { .. }) {
            // From then on only what we add ourselves hides a file: see [`trust_excludes`].
            let own = excludes(&dir);
            if !own.symlink_metadata().is_ok_and(|meta| meta.is_file()) {
                let text = fs::read_no_follow(&real.join("info/exclude"))?.unwrap_or_default();
                fs::replace(&own, &text, Some(fs::PRIVATE))?;
            }
        } else {
            fs::point(&info.join("exclude"), &real.join("info/exclude"))?;
        }
        // A clone of ours has files for refs, whatever its configuration says.
        let is_linked = |name: &&&str| {
            (FILES.contains(*name) || real.join(name).exists()) && !(owner.is_clone() && **name == "reftable")
        };
        for name in LINKED.iter().filter(is_linked) {
            let link = dir.join(name);
            // What a program has made here before the directory was there stays.
            if link.is_symlink() || !link.is_dir() {
                fs::point(&link, &real.join(name))?;
            }
        }
        link_worktrees(&real, &dir)?;
        let file = dir.join("config");
        let before = fs::read_no_follow(&file)?.unwrap_or_default();
        // Read once: an agent may write it at any time.
        let own = fs::read_no_follow(&real.join("config"))?.unwrap_or_default();
        let made_for = self.made_for(&own, owner);
        if made_for.as_ref().is_some_and(|made_for| before.starts_with(made_for)) {
            return Ok(dir);
        }
        let text = match owner {
            Owner::Person => own_config(&self.parsed(own, &real.join("config"))?, &real),
            Owner::Agents { theirs, .. } => {
                let mut known: BTreeSet<Setting> = self.settings_in(theirs)?.into_iter().collect();
                // The clone is one of that directory: git-lfs fetches from there.
                for key in ["remote.origin.url", "shopfloor.source"] {
                    known.insert((key.into(), Some(theirs.clone().into_os_string())));
                }
                let mut settings = self.parsed(own, &real.join("config"))?;
                settings.retain(|setting| is_harmless(setting) || known.contains(setting));
                // Also where the person's own repository has it: then git would read what an agent writes.
                settings.retain(|(key, _)| key != "extensions.worktreeconfig");
                settings.retain(|(key, _)| !(owner.is_clone() && key == "extensions.refstorage"));
                // git-lfs obeys the file `.lfsconfig` of a commit where git's own settings are silent.
                settings.push(("lfs.url".into(), Some(file_url(theirs).into())));
                written(&settings)
            }
        };
        let text = [made_for.unwrap_or_default(), text].concat();
        if before != text {
            fs::replace(&file, &text, Some(fs::PRIVATE))?;
        }
        Ok(dir)
    }

    /// The line that says what a stand-in's configuration is made for: the digest of the clone's, and a fingerprint of the
    /// person's. It stands in that configuration, where no agent can write. None if it does not cover everything, so that
    /// git must be asked.
    fn made_for(&self, own: &[u8], owner: &Owner) -> Option<Vec<u8>> {
        let Owner::Agents { theirs, .. } = owner else { return None };
        let print = configuration_print(&self.env.at(theirs).ok()?, &self.program)?;
        Some(format!("# made for {} {print}\n", Digest::of(own)).into_bytes())
    }

    /// Where a stand-in lies in the user's own state.
    pub(super) fn own_place(&self, common_dir: &Path) -> Result<PathBuf> {
        let home = self.env.state_home().ok_or_else(|| Env::no_state_home("state"))?;
        Ok(home.join("git").join(Digest::of(real(common_dir).as_os_str().as_bytes()).to_string()))
    }

    /// The harmless settings of a worktree's own configuration, from one read.
    pub(super) fn own_settings(&self, git_dir: &Path) -> Result<Vec<OsString>> {
        let mut settings = self.settings(&git_dir.join("config.worktree"))?;
        settings.retain(is_harmless);
        Ok(settings.into_iter().map(|(key, value)| pair(&key, value.as_deref())).collect())
    }

    /// Who commits, as a file of configuration says.
    pub(super) fn identity(&self, file: &Path) -> Result<Vec<OsString>> {
        let mut settings = self.settings(file)?;
        settings.retain(|(key, _)| key == "user.name" || key == "user.email");
        Ok(settings.into_iter().map(|(key, value)| pair(&key, value.as_deref())).collect())
    }

    /// Refuses a worktree's own configuration that could run something. Exit 4, kind `tampered`.
    pub(super) fn refuse_own_programs(&self, git_dir: &Path) -> Result<()> {
        self.refuse_own_settings(git_dir, |setting| !runs_nothing(setting))
    }

    /// The same for settings of this kind.
    pub(super) fn refuse_own_settings(&self, git_dir: &Path, is_odd: impl Fn(&Setting) -> bool) -> Result<()> {
        let file = git_dir.join("config.worktree");
        let odd = self.settings(&file)?.into_iter().filter(is_odd);
        let odd: Vec<String> = odd.map(|(key, _)| format!("`{key}`")).collect();
        match odd.first() {
            None => Ok(()),
            Some(key) => Err(tampered(format!("{} sets {}, not known to run nothing", file.display(), odd.join(", ")))
                .hint(format!(
                    "take it out, if you did not set it: `git config --file {} --unset-all {}`",
                    crate::text::shell_word(&file),
                    key.trim_matches('`')
                ))),
        }
    }

    /// What a file of configuration says, read once. Files that it includes do not count.
    pub(super) fn settings(&self, file: &Path) -> Result<Vec<Setting>> {
        self.parsed(fs::read_no_follow(file)?.unwrap_or_default(), file)
    }

    /// The settings in the files `config` and `config.worktree` of a common directory by which git runs or reaches
    /// something. Those of branches are left out: git writes them all the time.
    pub fn settings_that_run(&self, common_dir: &Path) -> Result<Vec<Setting>> {
        let mut settings = self.settings(&common_dir.join("config"))?;
        settings.extend(self.settings(&common_dir.join("config.worktree"))?);
        settings.retain(|setting| !runs_nothing(setting) && !setting.0.starts_with("branch."));
        Ok(settings)
    }

    /// The settings in the text of a file.
    fn parsed(&self, text: Vec<u8>, file: &Path) -> Result<Vec<Setting>> {
        if text.trim_ascii().is_empty() {
            return Ok(Vec::new());
        }
        let cmd = self.cmd(Path::new("/")).args(["config", "--file", "-", "--no-includes", "-z", "--list"]);
        let output = cmd.input(text).capture()?;
        match output.status.success() {
            true => Ok(parse(&output.stdout)),
            false => Err(tampered(format!("{} cannot be read", file.display()))
                .because(anyhow::anyhow!(git_said(&output)))
                .hint(format!("look at the file: `cat {}`", crate::text::shell_word(file)))),
        }
    }

    /// What git's configuration says in this directory, all files together.
    pub fn settings_in(&self, dir: &Path) -> Result<Vec<Setting>> {
        Ok(parse(&self.cmd(dir).args(["config", "-z", "--list"]).capture()?.stdout))
    }
}

/// Fails with the kind `tampered` if a link is among a clone's refs, their logs or the objects of git-lfs, through which
/// git would write or read elsewhere, or if something other than a file lies where git reads one. (git finds refs through the file `commondir`,
/// so the stand-in cannot have its own.)
pub(super) fn require_no_way_out(real: &Path) -> Result<()> {
    let files =
        ["HEAD", "packed-refs", "shallow", "info/exclude", "objects/info/alternates"].map(|name| real.join(name));
    let file = files.into_iter().find(|file| file.symlink_metadata().is_ok_and(|meta| !meta.is_file()));
    let link = links_below(&["refs", "logs", "lfs"], real).or(file);
    match link.or_else(|| special_objects(real).next()) {
        None => Ok(()),
        Some(path) => odd(&path, "is not a file"),
    }
}

/// The patterns for files that our git leaves out in a clone in which agents work, in its stand-in.
fn excludes(stand_in: &Path) -> PathBuf {
    stand_in.join("info/exclude")
}

/// Adds lines to these patterns, which are not there yet. Those in the clone's own file are an agent's to write: one
/// would hide another one's work from a removal.
pub fn trust_excludes<'l>(stand_in: &Path, lines: impl IntoIterator<Item = &'l [u8]>) -> Result<()> {
    let before = fs::read_no_follow(&excludes(stand_in))?.unwrap_or_default();
    let mut after = before.clone();
    for line in lines {
        if !after.split(|byte| *byte == b'\n').any(|known| known == line) {
            after.extend([line, b"\n"].concat());
        }
    }
    if after == before { Ok(()) } else { fs::replace(&excludes(stand_in), &after, Some(fs::PRIVATE)) }
}

/// Links to the records of those worktrees that git can read without waiting for ever.
pub(super) fn link_worktrees(real: &Path, dir: &Path) -> Result<()> {
    let (records, links) = (real.join("worktrees"), dir.join("worktrees"));
    fs::create_private_dir(&links)?;
    // First the links: one that is made meanwhile stays.
    let linked = fs::list(&links)?;
    let is_sound = |name: &OsString| require_plain(&records.join(name)).is_ok();
    let sound: Vec<OsString> = fs::list(&records)?.into_iter().filter(is_sound).collect();
    for name in linked.iter().filter(|name| !sound.contains(name)) {
        fs::remove(&links.join(name))?;
    }
    sound.iter().try_for_each(|name| fs::point(&links.join(name), &records.join(name)))
}

fn parse(listed: &[u8]) -> Vec<Setting> {
    let setting = |field: &[u8]| {
        let mut parts = field.splitn(2, |b| *b == b'\n');
        let key = String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
        (key, parts.next().map(|value| OsString::from_vec(value.to_vec())))
    };
    nul_fields(listed).map(setting).collect()
}

/// Whether a setting in a worktree's own configuration runs nothing. A person's name does not, and git leaves the work
/// tree out when it copies.
pub(super) fn runs_nothing(setting: &Setting) -> bool {
    is_harmless(setting) || setting.0 == "core.worktree" || setting.0.starts_with("user.")
}

fn is_harmless((key, value): &Setting) -> bool {
    is_like(key, HARMLESS) || LFS.iter().any(|(known, text)| known == key && value.as_deref() == Some(OsStr::new(text)))
}

pub(super) fn pair(key: &str, value: Option<&OsStr>) -> OsString {
    let mut text = OsString::from(key);
    if let Some(value) = value {
        text.push("=");
        text.push(value);
    }
    text
}

/// A person's configuration without the one extension. git looks for extensions in the file itself, not in one that it
/// includes.
fn own_config(settings: &[Setting], real: &Path) -> Vec<u8> {
    let is_format = |(key, _): &&Setting| {
        key == "core.repositoryformatversion" || (key.starts_with("extensions.") && key != "extensions.worktreeconfig")
    };
    let format: Vec<Setting> = settings.iter().filter(is_format).cloned().collect();
    let include = ("include.path".to_owned(), Some(real.join("config").into_os_string()));
    written(&[&format[..], &[include]].concat())
}

/// Settings as a file of configuration.
pub fn written(settings: &[Setting]) -> Vec<u8> {
    let mut text = Vec::new();
    for (key, value) in settings {
        let (Some((section, _)), Some((rest, name))) = (key.split_once('.'), key.rsplit_once('.')) else { continue };
        let subsection = rest.strip_prefix(section).and_then(|rest| rest.strip_prefix('.'));
        let subsection = subsection.map(|name| [&b" "[..], &quoted(name.as_bytes())].concat()).unwrap_or_default();
        text.extend([&b"["[..], section.as_bytes(), &subsection, b"]\n\t", name.as_bytes()].concat());
        if let Some(value) = value {
            text.extend([&b" = "[..], &quoted(value.as_bytes())].concat());
        }
        text.push(b'\n');
    }
    text
}

/// A directory of objects as `GIT_ALTERNATE_OBJECT_DIRECTORIES` names it, where a colon stands between two.
pub fn as_alternate(objects: &Path) -> OsString {
    OsString::from_vec(quoted(objects.as_os_str().as_bytes()))
}

fn quoted(text: &[u8]) -> Vec<u8> {
    let escaped = text.iter().flat_map(|byte| match byte {
        b'\n' => b"\\n".to_vec(),
        b'"' | b'\\' => vec![b'\\', *byte],
        byte => vec![*byte],
    });
    std::iter::once(b'"').chain(escaped).chain([b'"']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_written_as_git_reads_them() {
        let listed = b"core.bare\nfalse\0branch.a.b \"c\\.merge\nx\ny \0user.name\0";
        let text = String::from_utf8(written(&parse(listed))).unwrap();
        let wanted = "[core]\n\tbare = \"false\"\n[branch \"a.b \\\"c\\\\\"]\n\tmerge = \"x\\ny \"\n[user]\n\tname\n";
        assert_eq!(text, wanted);
    }

    #[test]
    fn a_filter_counts_only_as_git_lfs_writes_it() {
        let is = |key: &str, value: &str| is_harmless(&(key.into(), Some(value.into())));
        assert!(is("filter.lfs.clean", "git-lfs clean -- %f") && is("core.eol", "lf"));
        assert!(!is("filter.lfs.clean", "git-lfs clean -- %f; evil") && !is("filter.x.clean", "git-lfs clean -- %f"));
        assert!(
            !is("branch.main.remote", "x") && !is("branch.main.mergeoptions", "-s ours") && !is("pull.twohead", "ours")
        );
        assert!(!is("extensions.worktreeconfig", "true") && !is("remote.origin.uploadpack", "evil"));
    }
}
