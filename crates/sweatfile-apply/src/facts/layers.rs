//! Finds, reads and checks the layers of a worktree.

use std::path::{Path, PathBuf};

use shopfloor_core::approval::{Approvals, Status};
use shopfloor_core::config::{self, Config, Kind, Setting, Source, Trust};
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::git::{Home, Repo};

use crate::TOOL;
use crate::cli::Places;
use crate::layer::{self, FILE, Layer, Merged, Name, NoArea, Text};
use crate::sweatfile;

/// The settings of this tool.
pub const SETTINGS: &[Setting] = &[
    Setting::new("area", "SWEATFILE_AREA", Kind::Path, Trust::Approved),
    // Others that the variable may choose: agents inherit it, so it grants no trust of its own.
    Setting::new("areas", "", Kind::List, Trust::User),
];

/// The layers of a worktree, outermost first, and what there is to say about finding them.
pub struct Layers {
    pub layers: Vec<Layer>,
    pub config: Config,
    pub notices: Vec<String>,
}

/// Reads all layers and checks each whole, approved or not. Every problem of every layer is reported
/// together (exit 2); `strict` counts misplaced arrays among them. Whether they contradict each other is
/// seen when they are merged.
pub fn load(env: &Env, repo: &Repo, places: &Places, trust_repository: bool, strict: bool) -> Result<Layers> {
    let flags = [("area", places.area.as_deref())];
    let config = config::load(env, &repo.home, TOOL, SETTINGS, &flags, trust_repository)?;
    let mut notices = config.warnings.clone();
    let mut layers = Vec::new();
    if let Some(dir) = area_dir(env, repo, &config, &mut notices)? {
        let path = dir.join(FILE);
        let text = read(&path)?;
        layers.push(Layer { name: Name::Area, path, text, approval: Status::None });
    }
    let root = match &places.repo_root {
        Some(dir) => env.cwd.join(dir),
        None => repo.home.checkout.clone(),
    };
    let path = root.join(FILE);
    refuse_leaving_link(&root, &path)?;
    let text = read(&path)?;
    let approval = match &text {
        None => Status::None,
        Some(_) if trust_repository => Status::Approved,
        Some(text) => Approvals::load(env)?.status(&repo.home.common_dir, FILE, &text.bytes)?,
    };
    layers.push(Layer { name: Name::Repo, path, text, approval });
    check(&layers, strict)?;
    Ok(Layers { layers, config, notices })
}

impl Layers {
    /// The layers that count, and what they say together; exit 2 when that contradicts itself.
    pub fn counting(&self) -> Result<(Vec<Layer>, Merged)> {
        let counting: Vec<Layer> = self.layers.iter().filter(|l| l.counts()).cloned().collect();
        let mut merged = merged(&counting)?;
        merged.left_out = self.layers.iter().any(|l| l.text.is_some() && !l.counts());
        Ok((counting, merged))
    }

    /// What all layers say together, approved or not.
    pub fn merged(&self) -> Result<Merged> {
        merged(&self.layers)
    }

    /// The repository's layer.
    pub fn repo(&self) -> Option<&Layer> {
        self.layers.iter().find(|l| l.name == Name::Repo)
    }

    /// What to warn of: `FILE:LINE:COLUMN: what`.
    pub fn warnings(&self) -> Vec<String> {
        let said = self.layers.iter().filter_map(|l| Some((l, &l.text.as_ref()?.parsed)));
        let remarks = said.flat_map(|(l, parsed)| {
            parsed.hoisted.iter().chain(&parsed.warnings).map(|r| format!("{}:{}: {}", l.path.display(), r.at, r.text))
        });
        self.notices.iter().cloned().chain(remarks).collect()
    }
}

fn read(path: &Path) -> Result<Option<Text>> {
    let bytes = fs::read(path)?;
    Ok(bytes.map(|bytes| Text { parsed: sweatfile::parse(&bytes), bytes }))
}

fn check(layers: &[Layer], strict: bool) -> Result<()> {
    let mut problems = Vec::new();
    for layer in layers {
        let Some(parsed) = layer.text.as_ref().map(|t| &t.parsed) else { continue };
        let hoisted = parsed.hoisted.iter().filter(|_| strict);
        let mut remarks: Vec<_> = parsed.problems.iter().chain(hoisted).collect();
        remarks.sort_by_key(|r| r.at);
        problems.extend(remarks.iter().map(|r| format!("{}:{}: {}", layer.path.display(), r.at, r.text)));
    }
    refuse(problems)
}

fn merged(layers: &[Layer]) -> Result<Merged> {
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
        .hint("mend the lines named and run `sweatfile-apply show` to see the result"))
}

/// The directory of the area layer: named, or the first directory below home on the way to the main
/// checkout.
fn area_dir(env: &Env, repo: &Repo, config: &Config, notices: &mut Vec<String>) -> Result<Option<PathBuf>> {
    let checkout = real(&repo.home.checkout);
    let home = env.home().map(real);
    let natural = home.as_deref().map(|home| layer::area(home, &checkout, is_work_tree));
    if let Some(named) = config.value("area") {
        let dir = PathBuf::from(&named.text);
        let natural = natural.and_then(Result::ok);
        if matches!(named.source, Source::Variable(_)) && natural.map(|dir| real(&dir)) != Some(real(&dir)) {
            require_users(env, config, &dir)?;
        }
        let inside = real(&dir)
            .ancestors()
            .find(|top| belongs_to(top, &repo.common_dir) || belongs_to(top, &repo.home.common_dir))
            .map(Path::to_path_buf);
        return match inside {
            Some(top) => {
                let place = format!("the area {} ({}) lies in {}", dir.display(), named.source, top.display());
                Err(Failure::usage(place).hint(
                    "name a directory outside the repository: the area's sweatfile is trusted, a repository's is not",
                ))
            }
            None => Ok(Some(dir)),
        };
    }
    match natural {
        Some(Ok(dir)) => Ok(Some(dir)),
        Some(Err(NoArea::InWorkTree(area, top))) => {
            let file = area.join(FILE);
            if top != checkout && file.exists() {
                let (file, top) = (file.display(), top.display());
                let way = format!("to trust it, set `area = {:?}` in {}", area.display().to_string(), users_file(env));
                notices.push(format!("{file} is left out: it lies in the git work tree {top}; {way}"));
            }
            Ok(None)
        }
        _ => Ok(None),
    }
}

/// Exit 2 unless the user's own configuration names this area: a variable only chooses among those.
fn require_users(env: &Env, config: &Config, dir: &Path) -> Result<()> {
    let base = env.config_home().unwrap_or_default();
    let further = config.users("areas").into_iter().flat_map(|areas| &areas.items);
    let further = further.map(|area| base.join(config::expand_home(env, area)));
    let mut named = config.users("area").map(|area| PathBuf::from(&area.text)).into_iter().chain(further);
    if named.any(|area| real(&area) == real(dir)) {
        return Ok(());
    }
    let (shown, file) = (dir.display(), users_file(env));
    Err(Failure::usage(format!("SWEATFILE_AREA names {shown}, which your own configuration does not name"))
        .hint(format!("to trust it, set `area = {:?}`, or list it in `areas`, in {file}", shown.to_string()))
        .hint("for one run, pass `--area DIR`"))
}

fn users_file(env: &Env) -> String {
    let dir = env.config_home().map(|dir| dir.join("config.toml").display().to_string());
    format!("`[sweatfile-apply]` of {}", dir.unwrap_or_else(|| "your config.toml".into()))
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf())
}

/// Whether git would take this directory for the top of a work tree.
fn is_work_tree(dir: &Path) -> bool {
    let git = dir.join(".git");
    git.is_file() || git.join("HEAD").symlink_metadata().is_ok()
}

/// Whether this directory is the top of a worktree of the repository, the main checkout or a linked one.
fn belongs_to(dir: &Path, common_dir: &Path) -> bool {
    let git = dir.join(".git");
    let git_dir = match git.is_file().then(|| fs::read(&git)) {
        Some(Ok(Some(text))) => {
            let text = String::from_utf8_lossy(&text).into_owned();
            dir.join(text.trim_end().strip_prefix("gitdir: ").unwrap_or_default())
        }
        _ => git,
    };
    git_dir.exists() && real(&git_dir).starts_with(real(common_dir))
}

/// The repository's sweatfile may be a link, but not to somewhere else: a branch could make it lead
/// to a file that was never meant to be read.
fn refuse_leaving_link(root: &Path, path: &Path) -> Result<()> {
    if !path.is_symlink() || real(path).starts_with(real(root)) {
        return Ok(());
    }
    Err(Failure::new(Exit::Bad, "symlink", format!("{} is a link that leaves the repository", path.display()))
        .hint("replace it by the file itself, or pass `--repo-root DIR`"))
}

/// A file that approval is about.
pub struct Approvable {
    /// What it is called among approvals.
    pub file: String,
    pub path: PathBuf,
    /// What a person approves; none where there is no such file.
    pub bytes: Option<Vec<u8>>,
}

/// The files of a repository that approval is about.
pub fn approvable(home: &Home, layers: &Layers) -> Vec<Approvable> {
    let repo = layers.repo();
    let sweatfile = repo.and_then(|l| l.text.as_ref()).map(|t| t.bytes.clone());
    let path = repo.map_or_else(|| home.checkout.join(FILE), |l| l.path.clone());
    let sweatfile = Approvable { file: FILE.to_owned(), path, bytes: sweatfile };
    let settings = layers.config.guarded_text.as_ref().map(|text| Approvable {
        file: config::REPOSITORY_FILE.to_owned(),
        path: home.checkout.join(config::REPOSITORY_FILE),
        bytes: Some(text.clone().into_bytes()),
    });
    [sweatfile].into_iter().chain(settings).collect()
}
