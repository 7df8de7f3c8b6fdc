//! Finds, reads and checks the layers of a worktree.

use std::path::Path;

use shopfloor_core::approval::{ApprovalStatus, Approvals};
use shopfloor_core::config::{self, Config, Setting, SettingType, Trust};
use shopfloor_core::env::Env;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git::{Git, Home, Repo};
use shopfloor_core::path::real;
use shopfloor_core::text::shell_word;

use super::{area_layer, worktreeinclude};
use crate::approvable::Approvable;
use crate::failure;
use crate::flags::LayerFlags;
use crate::layer::{self, FILE, Layer, LayerName, LayerText, MergedLayers};
use crate::layout::TOOL;
use crate::sweatfile;

/// The settings of this tool.
pub const SETTINGS: &[Setting] = &[
    Setting::new("area", "SWEATFILE_AREA", SettingType::Path, Trust::Approved),
    // Further areas that the variable may choose. Agents inherit the variable, so it cannot grant trust by itself.
    Setting::new("areas", "", SettingType::List, Trust::User),
];

/// How layers are loaded.
#[derive(Clone, Copy, Debug, Default)]
pub struct LoadOptions {
    /// Treat the repository's files as approved for this run.
    pub trust_repository: bool,
    /// Treat a misplaced array as an error.
    pub strict: bool,
}

/// The layers of a worktree, outermost first.
pub struct Layers {
    pub layers: Vec<Layer>,
    pub config: Config,
    /// Warnings about settings, and about a sweatfile that was left out.
    pub notices: Vec<String>,
    /// Whether the area's sweatfile was left out because others can change it.
    pub is_area_open: bool,
}

/// Loads the settings in force.
pub fn load_settings(env: &Env, repo: &Repo, dirs: &LayerFlags, options: LoadOptions) -> Result<Config> {
    let flags = [("area", dirs.area.as_deref())];
    config::load(env, &repo.home, TOOL, SETTINGS, &flags, options.trust_repository)
}

/// Reads all layers and checks each one whole, approved or not. The problems of all layers are reported together
/// (exit 2). Whether layers contradict each other shows only when they are merged.
pub fn load(env: &Env, repo: &Repo, dirs: &LayerFlags, options: LoadOptions) -> Result<Layers> {
    let config = load_settings(env, repo, dirs, options)?;
    let mut notices = [&config.warnings[..], &config.left_out[..]].concat();
    let mut layers = Vec::new();
    let mut is_area_open = false;
    if let Some(dir) = area_layer::find(env, repo, &config, &mut notices)? {
        let path = dir.join(FILE);
        if let Some(why) = fs::open_to_others(&path, env.home()) {
            is_area_open = path.symlink_metadata().is_ok();
            notices.extend(is_area_open.then(|| format!("{} is left out: {why}", path.display())));
        } else {
            let text = read(&path)?;
            layers.push(Layer { name: LayerName::Area, path, text, approval: ApprovalStatus::None });
        }
    }
    let root = dirs.repo_root(env, repo);
    let path = root.join(FILE);
    refuse_leaving_link(&root, &path)?;
    let mut text = read(&path)?;
    if text.is_none() && root == repo.home.checkout {
        text = Git::find(env)?.sparse_file(&repo.home, FILE)?.map(parsed);
    }
    let approval = match &text {
        None => ApprovalStatus::None,
        Some(_) if options.trust_repository => ApprovalStatus::Approved,
        Some(text) => Approvals::load(env)?.status(&repo.home.common_dir, FILE, &text.bytes)?,
    };
    layers.push(Layer { name: LayerName::Repo, path, text, approval });
    check(&layers, options)?;
    Ok(Layers { layers, config, notices, is_area_open })
}

impl Layers {
    /// The layers that count, and what they amount to together; exit 2 when they contradict each other.
    pub fn counting(&self) -> Result<(Vec<Layer>, MergedLayers)> {
        let counting: Vec<Layer> = self.layers.iter().filter(|l| l.counts()).cloned().collect();
        let mut merged = merged(&counting)?;
        merged.left_out = self.is_area_open || self.layers.iter().any(|l| l.text.is_some() && !l.counts());
        Ok((counting, merged))
    }

    /// What all layers amount to together, approved or not. One that others can change is left out here as well.
    pub fn merged(&self) -> Result<MergedLayers> {
        Ok(MergedLayers { left_out: self.is_area_open, ..merged(&self.layers)? })
    }

    /// The files of the repository that need approval.
    pub fn approvable(&self, git: &Git, home: &Home) -> Result<Vec<Approvable>> {
        let repo = self.repo();
        let bytes = repo.text.as_ref().map(|t| t.bytes.clone());
        let is_open = repo.approval == ApprovalStatus::Required;
        let more = if is_open { worktreeinclude::told(git, home)? } else { Vec::new() };
        let sweatfile = Approvable { name: FILE.to_owned(), path: repo.path.clone(), bytes, more };
        let settings = self.config.guarded_text.as_ref().map(|text| Approvable {
            name: config::REPOSITORY_FILE.to_owned(),
            path: home.checkout.join(config::REPOSITORY_FILE),
            bytes: Some(text.clone().into_bytes()),
            more: Vec::new(),
        });
        Ok([sweatfile].into_iter().chain(settings).collect())
    }

    /// The repository's layer.
    pub fn repo(&self) -> &Layer {
        self.layers.last().expect("the repository's layer is always there, as the last one")
    }

    /// The warnings about the layers, each with `FILE:LINE:COLUMN`.
    pub fn warnings(&self) -> Vec<String> {
        let parsed = self.layers.iter().filter_map(|l| Some((l, &l.text.as_ref()?.parsed)));
        let remarks = parsed.flat_map(|(l, parsed)| {
            parsed.hoisted.iter().chain(&parsed.warnings).map(|r| format!("{}:{}: {}", l.path.display(), r.at, r.text))
        });
        self.notices.iter().cloned().chain(remarks).collect()
    }
}

/// Reads a sweatfile. One behind a link that leads to nothing was not deleted: it may be on a disk that is away.
fn read(path: &Path) -> Result<Option<LayerText>> {
    let bytes = fs::read(path)?;
    let dangling = path.ancestors().find(|at| bytes.is_none() && at.is_symlink() && !at.exists());
    if let Some((link, target)) = dangling.and_then(|link| Some((link, link.read_link().ok()?))) {
        return Err(failure::BAD_LINK
            .failure(format!("{} is a link to {}, which is not there", link.display(), target.display()))
            .hint(format!("bring back what it leads to, or `rm {}`", shell_word(link))));
    }
    Ok(bytes.map(parsed))
}

fn parsed(bytes: Vec<u8>) -> LayerText {
    LayerText { parsed: sweatfile::parse(&bytes), bytes }
}

fn check(layers: &[Layer], options: LoadOptions) -> Result<()> {
    let mut problems = Vec::new();
    for layer in layers {
        let Some(parsed) = layer.text.as_ref().map(|t| &t.parsed) else { continue };
        let hoisted = parsed.hoisted.iter().filter(|_| options.strict);
        let mut remarks: Vec<_> = parsed.problems.iter().chain(hoisted).collect();
        remarks.sort_by_key(|r| r.at);
        problems.extend(remarks.iter().map(|r| format!("{}:{}: {}", layer.path.display(), r.at, r.text)));
    }
    refuse(problems)
}

fn merged(layers: &[Layer]) -> Result<MergedLayers> {
    let merged = layer::merge(layers.iter());
    refuse(merged.problems())?;
    Ok(merged)
}

fn refuse(problems: Vec<String>) -> Result<()> {
    if problems.is_empty() {
        return Ok(());
    }
    let count = match problems.len() {
        1 => "a problem".to_owned(),
        n => format!("{n} problems"),
    };
    Err(Failure::malformed(format!("{count} in the sweatfiles; nothing was changed"))
        .details(problems)
        .hint("fix the lines named, then run `sweatfile-apply show` to see the result"))
}

/// Refuses a sweatfile that is a link out of the repository: a branch could point it at a file that must not be read.
fn refuse_leaving_link(root: &Path, path: &Path) -> Result<()> {
    if !path.is_symlink() || real(path).starts_with(real(root)) {
        return Ok(());
    }
    Err(failure::BAD_LINK
        .failure(format!("{} is a link that leaves the repository", path.display()))
        .hint("replace it with the file itself, or pass `--repo-root DIR`"))
}
