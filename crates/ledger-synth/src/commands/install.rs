//! `install`: sets up git, and agent programs if asked to, for a ledger.

use serde_json::json;
use shopfloor_core::config::{self, REPOSITORY_FILE};
use shopfloor_core::env::Env;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs::{Found, Root};
use shopfloor_core::git::Git;
use shopfloor_core::hook_subcommand::{self, HookCommand};
use shopfloor_core::path::RelPath;
use shopfloor_core::text::printable;
use shopfloor_core::ui::Ui;

use crate::agent_hooks::{BANNER, HookProgram, SetupFile};
use crate::apply::files;
use crate::facts::Ledger;
use crate::facts::git_setup::{self, attribute_line, driver, git_setting, is_ours};
use crate::settings::{LedgerArgs, Tracked};
use crate::tool::TOOL;

/// Set up git in this repository: merge driver, attributes, hooks
///
/// Hosts such as GitHub merge without drivers, so pull requests conflict in a tracked `current.md`. With `--tracked
/// events` only the events are in git, and `current.md` is made where it is read. On a terminal, `install` asks which
/// of the two it shall be.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example:\n  ledger-synth install --claude\n  ledger-synth install --tracked events")]
pub struct Args {
    /// Also set up Claude Code: hooks in .claude/settings.json and the skill `synthesize-ledgers`
    #[arg(long)]
    claude: bool,
    /// Also set up Codex: hooks in .codex/hooks.json and the skill in .agents/skills
    #[arg(long)]
    codex: bool,
    /// Also set up Gemini CLI: hooks in .gemini/settings.json and the skill in .agents/skills
    #[arg(long)]
    gemini: bool,
    /// What is in git: `page` (events and `current.md`) or `events` alone
    #[arg(long, value_name = "WHAT", value_parser = Tracked::WORDS)]
    tracked: Option<String>,
    /// Take out again what `install` wrote and nobody has edited; `ledger-synth hook uninstall` takes out the git hooks
    #[arg(long, conflicts_with = "tracked")]
    undo: bool,
    /// With --undo: leave this file as it is; may be given several times
    #[arg(long, value_name = "FILE", requires = "undo")]
    keep: Vec<String>,
}

impl Args {
    fn programs(&self) -> Vec<HookProgram> {
        let all =
            [(self.claude, HookProgram::Claude), (self.codex, HookProgram::Codex), (self.gemini, HookProgram::Gemini)];
        all.into_iter().filter_map(|(is_wanted, program)| is_wanted.then_some(program)).collect()
    }
}

const ATTRIBUTES: &str = ".gitattributes";
const IGNORE: &str = ".gitignore";

const QUESTION: &str = "GitHub and other hosts merge without drivers, so pull requests conflict in a tracked current.md. \
                        Keep only the events in git, and make current.md where it is read?";

pub fn run(ui: &Ui, env: &Env, ledger_args: &LedgerArgs, args: &Args) -> Result<Exit> {
    let is_dry = ui.is_dry();
    if args.undo {
        // Also where a link leads to the ledger by now.
        let (git, repo) = Git::here(env)?;
        return undo(ui, &Ledger::in_repo(ui, env, ledger_args, git, repo)?, is_dry, args);
    }
    let ledger = Ledger::find(ui, env, ledger_args)?;
    let before = ledger.page.tracked;
    let tracked = match args.tracked.as_deref().and_then(Tracked::of) {
        Some(tracked) => tracked,
        // A repository that has a page in git, or says that it has none, has decided.
        None if ui.can_ask() && !is_dry && before == Tracked::Page && !git_setup::is_current_tracked(&ledger)? => {
            if ui.confirm(QUESTION) { Tracked::Events } else { before }
        }
        None => before,
    };
    let Configured { files, settings } = configure(&ledger, is_dry, tracked, &args.programs())?;
    for (name, is_left) in &files {
        match *is_left {
            true => tell(ui, "wrote", ["would write", "wrote"], name),
            false => tell(ui, "removed", ["would remove", "removed"], name),
        }
    }
    settings.into_iter().for_each(|name| tell(ui, "wrote", ["would set", "set"], name));
    hook_subcommand::run(ui, env, TOOL, HookCommand::Install, |_| Ok(None))?;
    if tracked == Tracked::Events && git_setup::is_current_tracked(&ledger)? && !is_dry {
        files::untrack_current(&ledger)?;
        ui.note("current.md is no longer in git's index: commit its removal; a branch that still changes it conflicts once when it is merged, and keeps it removed");
    }
    if !files.is_empty() {
        let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
        ui.note(format!("commit {}, and run `ledger-synth install` once in each clone", names.join(", ")));
    }
    Ok(Exit::Done)
}

/// Says that something was done to a file or a setting, or would be: in JSON under a key, otherwise in a word.
fn tell(ui: &Ui, key: &str, [would, did]: [&str; 2], name: &str) {
    match ui.is_json() {
        true => ui.json(&json!({ key: name, "done": !ui.is_dry() })),
        false => ui.line(format!("{} {}", if ui.is_dry() { would } else { did }, printable(name))),
    }
}

/// The files and settings that were written.
pub struct Configured {
    /// Their names, and whether they are there: one that is empty then is removed.
    pub files: Vec<(String, bool)>,
    settings: Vec<&'static str>,
}

/// Sets up git in this clone, but for the hooks, and these programs.
pub fn configure(ledger: &Ledger, is_dry: bool, tracked: Tracked, programs: &[HookProgram]) -> Result<Configured> {
    let worktree = Root::open(ledger.repo.require_worktree()?)?;
    // A file that cannot be edited is found before anything is written.
    let mut edits = page_edits(ledger, &worktree, tracked)?;
    edits.extend(program_edits(&worktree, programs, |_| Ok(false), SetupFile::set_up)?);
    edits.retain(FileEdit::is_change);
    for FileEdit { name, before, after } in &edits {
        if !is_dry {
            files::edit(ledger, &worktree, name, before, after)?;
        }
    }
    let files = edits.into_iter().map(|edit| (edit.name, !edit.after.is_empty())).collect();
    let settings = if tracked == Tracked::Page { set_driver(ledger, is_dry)? } else { Vec::new() };
    Ok(Configured { files, settings })
}

/// Takes out what [`configure`] writes, but from the files that are to be kept. A skill that somebody has edited stays.
fn undo(ui: &Ui, ledger: &Ledger, is_dry: bool, args: &Args) -> Result<Exit> {
    let worktree = Root::open(ledger.repo.require_worktree()?)?;
    let is_left = |name: &str| -> Result<bool> {
        if args.keep.iter().any(|kept| kept == name) {
            return Ok(true);
        }
        let is_other = !matches!(worktree.look(&rel(name)?)?, Found::Missing | Found::File(_));
        if is_other {
            ui.warn(format!("{name} stays as it is: a link, or no file, is there, and `install` writes through none"));
        }
        Ok(is_other)
    };
    let mut edits = program_edits(&worktree, &args.programs(), is_left, SetupFile::take_out)?;
    let stays = |edit: &&FileEdit| edit.name.ends_with("/SKILL.md") && !edit.before.is_empty() && !edit.is_change();
    let edited: Vec<String> = edits.iter().filter(stays).map(|edit| edit.name.clone()).collect();
    let set_up = |name: &str, text: &str| {
        let mut files = args.programs().into_iter().flat_map(SetupFile::all);
        files.find(|file| file.name() == name).and_then(|file| file.set_up(text).ok())
    };
    for edit in edits.iter_mut().filter(|edit| edit.is_change() && edit.before.contains(BANNER)) {
        match in_git_before(ledger, &edit.name)? {
            // Nobody has changed anything since, so every byte is as it was.
            Some(text) if !text.is_empty() && set_up(&edit.name, &text).as_ref() == Some(&edit.before) => {
                edit.after = text;
            }
            Some(_) if edit.after.is_empty() => edit.after = "{}\n".to_owned(),
            _ => {}
        }
    }
    for (name, line) in [(ATTRIBUTES, attribute_line(ledger)?), (IGNORE, git_setup::ignore_line(ledger)?)] {
        if !is_left(name)? {
            edits.push(FileEdit::new(&worktree, name.to_owned(), |text| Ok(without_line(text, &line)))?);
        }
    }
    edits.retain(FileEdit::is_change);
    for FileEdit { name, before, after } in &edits {
        if !is_dry {
            files::edit(ledger, &worktree, name, before, after)?;
        }
        let words = if after.is_empty() { ["would remove", "removed"] } else { ["would edit", "edited"] };
        tell(ui, "removed", words, name);
    }
    // The order in which they were set, backwards.
    for (name, _) in driver().into_iter().rev() {
        let is_ours = git_setting(ledger, name)?.is_some_and(|value| is_ours(name, &value));
        if is_ours && (is_dry || files::unset_git_setting(ledger, name)?) {
            tell(ui, "removed", ["would unset", "unset"], name);
        }
    }
    edited.iter().for_each(|name| ui.warn(format!("{name} is not as `install` wrote it, and stays")));
    Ok(if edited.is_empty() { Exit::Done } else { Exit::No })
}

/// A file of hooks without ours: as HEAD has it, or as git had it before the commit that brought ours.
fn in_git_before(ledger: &Ledger, name: &str) -> Result<Option<String>> {
    let git = |args: &[&str]| ledger.git.cmd(ledger.repo.require_worktree()?).args(args.iter().copied()).capture();
    let text_in = |commit: &str| -> Result<Option<String>> {
        let text = git(&["cat-file", "blob", &format!("{commit}:{name}")])?;
        Ok(text.status.success().then(|| String::from_utf8_lossy(&text.stdout).into_owned()))
    };
    let head = text_in("HEAD")?;
    if head.as_ref().is_none_or(|text| !text.contains(BANNER)) {
        return Ok(head);
    }
    let brought = git(&["log", "-1", "--format=%H", "--no-textconv", "-S", BANNER, "--", name])?;
    let before = text_in(&format!("{}^", String::from_utf8_lossy(&brought.stdout).trim()))?;
    Ok(before.filter(|text| !text.contains(BANNER)))
}

fn rel(name: &str) -> Result<RelPath> {
    RelPath::parse(name).map_err(|why| Failure::failed(why.to_string()))
}

/// What `edit` makes of the files of these programs, but for those that are left as they are.
fn program_edits(
    worktree: &Root,
    programs: &[HookProgram],
    is_left: impl Fn(&str) -> Result<bool>,
    edit: impl Fn(&SetupFile, &str) -> Result<String, String>,
) -> Result<Vec<FileEdit>> {
    let mut edits: Vec<FileEdit> = Vec::new();
    for file in programs.iter().flat_map(|program| SetupFile::all(*program)) {
        let name = file.name();
        if edits.iter().any(|edit| edit.name == name) || is_left(&name)? {
            continue;
        }
        edits.push(FileEdit::new(worktree, name.clone(), |before| {
            edit(&file, before).map_err(|why| {
                Failure::malformed(format!("{}:{why}", worktree.path().join(&name).display()))
                    .hint("fix the file and run the same command again")
            })
        })?);
    }
    Ok(edits)
}

/// A file of the work tree, as it is and as it is to be.
struct FileEdit {
    name: String,
    before: String,
    after: String,
}

impl FileEdit {
    fn new(worktree: &Root, name: String, edit: impl FnOnce(&str) -> Result<String>) -> Result<FileEdit> {
        let rel = rel(&name)?;
        let bytes = worktree.read(&rel)?.unwrap_or_default();
        let before = String::from_utf8(bytes)
            .map_err(|_| Failure::malformed(format!("{} is not UTF-8", worktree.join(&rel).display())))?;
        let after = edit(&before)?;
        Ok(FileEdit { name, before, after })
    }

    fn is_change(&self) -> bool {
        self.after != self.before
    }
}

/// The files that say what of the ledger is in git, and how it is merged.
fn page_edits(ledger: &Ledger, worktree: &Root, tracked: Tracked) -> Result<Vec<FileEdit>> {
    let (attribute, ignore) = (attribute_line(ledger)?, git_setup::ignore_line(ledger)?);
    let mut edits = Vec::new();
    if tracked == Tracked::Page {
        edits.push(FileEdit::new(worktree, ATTRIBUTES.to_owned(), |text| Ok(with_line(text, &attribute)))?);
    }
    if tracked == Tracked::Events || ledger.page.tracked == Tracked::Events {
        edits.push(FileEdit::new(worktree, IGNORE.to_owned(), |text| {
            let is_undone = text.lines().skip_while(|own| own.trim() != ignore).any(|own| own.starts_with('!'));
            let bare =
                if is_undone || tracked == Tracked::Page { without_line(text, &ignore) } else { text.to_owned() };
            Ok(if tracked == Tracked::Events { with_line(&bare, &ignore) } else { bare })
        })?);
    }
    if tracked != ledger.page.tracked {
        let path = worktree.path().join(REPOSITORY_FILE);
        edits.push(FileEdit::new(worktree, REPOSITORY_FILE.to_owned(), |text| {
            config::with_text(&path, text, TOOL, "tracked", tracked.word())
        })?);
    }
    Ok(edits)
}

fn with_line(text: &str, line: &str) -> String {
    if text.lines().any(|own| own.trim() == line) {
        return text.to_owned();
    }
    // A text without a last line end stays one: so it can be seen how it was.
    let (gap, end) = if text.is_empty() || text.ends_with('\n') { ("", "\n") } else { ("\n", "") };
    format!("{text}{gap}{line}{end}")
}

fn without_line(text: &str, line: &str) -> String {
    let mut rest: String = text.split_inclusive('\n').filter(|own| own.trim() != line).collect();
    if !text.ends_with('\n') && rest.ends_with('\n') {
        rest.pop();
    }
    rest
}

/// Sets the merge driver, and returns the settings that were not set so before.
fn set_driver(ledger: &Ledger, is_dry: bool) -> Result<Vec<&'static str>> {
    let mut names = Vec::new();
    for (name, value) in driver() {
        if git_setting(ledger, name)?.as_deref() != Some(&*value) {
            if !is_dry {
                files::set_git_setting(ledger, name, &value)?;
            }
            names.push(name);
        }
    }
    Ok(names)
}
