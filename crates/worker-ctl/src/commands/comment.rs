//! `comment`: keeps comments at lines of the work that is reviewed, for `reject --comments`.

use std::path::Path;

use clap::Args as ClapArgs;
use serde_json::{Value, json};
use shopfloor_core::diff::{self, DiffLine};
use shopfloor_core::editor;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::time::render;
use shopfloor_core::ui::printable;

use crate::commands::{self, about};
use crate::comments::{Comment, Comments, Side, is_commit};
use crate::context::Context;
use crate::failure;
use crate::layout;
use crate::plan::accept::require_review;
use crate::plan::comments::{MARK, at_line, edited, find, follow, is_sent, message, place, shown};
use crate::worker::Worker;
use crate::worker_notes::Note;

#[derive(Debug, ClapArgs)]
pub struct Args {
    /// The worker
    pub worker: String,
    /// The line: `FILE:12`, or `FILE:-12` for a line of the old file; after `--` it may begin with a dash [default: print
    /// the comments]
    #[arg(value_name = "PLACE", requires = "change")]
    pub place: Option<String>,
    /// The comment, which replaces another one there; `-` reads it from stdin
    #[arg(allow_hyphen_values = true, group = "change")]
    pub text: Option<String>,
    /// The commit whose lines are meant; if the work is another one by now, the comment goes to where its line is
    /// [default: the one that is reviewed]
    #[arg(long, value_name = "SHA", requires = "text")]
    pub commit: Option<String>,
    /// Delete the comment there
    #[arg(long, group = "change", requires = "place")]
    pub delete: bool,
}

pub fn run(ctx: &Context<'_>, args: &Args) -> Result<Exit> {
    let worker = ctx.worker(&args.worker)?;
    let ctx = &ctx.of(&worker)?;
    let text = args.text.as_deref().map(|text| commands::read_text(ctx, text)).transpose()?;
    let Some(named) = &args.place else {
        return print(ctx, &worker, &Kept::read(ctx, &worker)?.comments);
    };
    let (path, side, line) = parse(named)?;
    if args.delete {
        let has = |kept: &mut Comments| {
            let is_there = |comment: &&Comment| comment.path == path && comment.side == side && comment.line == line;
            // One whose line is there comes before one that is stale.
            let there = kept.comments.iter().filter(is_there).min_by_key(|comment| comment.stale.is_some()).cloned();
            let there = there.ok_or_else(|| Failure::not_found(format!("{} has no comment there", worker.name)))?;
            kept.comments.retain(|comment| *comment != there);
            Ok(())
        };
        return print(ctx, &worker, &change(ctx, &worker, has)?);
    }
    let reviewed = require_review(&worker)?;
    let commit = match &args.commit {
        Some(named) => require_commit(ctx, named)?,
        None => reviewed.to_owned(),
    };
    let lines = diff::lines(&commands::diff(ctx, &commit)?);
    let mut written = Comment { path, side, line, text: text.unwrap_or_default(), ..Comment::default() };
    let at = find(&lines, &written).ok_or_else(|| lacking(&worker, &written))?;
    at_line(&mut written, &lines[at]);
    written.at = render(ctx.env.later().now);
    let written = Comments { v: 1, commit, comments: vec![written] };
    let written = Kept::of(ctx, &worker, written)?.comments.comments.remove(0);
    let add = |kept: &mut Comments| {
        let is_other = |other: &Comment| {
            other.stale.is_some() || (&other.path, other.side, other.line) != (&written.path, side, written.line)
        };
        kept.comments.retain(is_other);
        kept.comments.push(written.clone());
        Ok(())
    };
    print(ctx, &worker, &change(ctx, &worker, add)?)
}

/// The whole name of the commit that a person means. Exit 2 if there is none.
fn require_commit(ctx: &Context<'_>, named: &str) -> Result<String> {
    let found = if is_commit(named) { ctx.repo.commit(&ctx.repo.top, named)? } else { None };
    found.ok_or_else(|| {
        Failure::usage(format!("`{}` is no commit", printable(named)))
            .hint("give the whole name of one that was reviewed, or leave `--commit` out")
    })
}

/// Changes the kept comments, as they stand in the work that is reviewed. A dry run only shows how they would be.
fn change(ctx: &Context<'_>, worker: &Worker, change: impl FnOnce(&mut Comments) -> Result<()>) -> Result<Comments> {
    let root = &ctx.root.path;
    let make = |kept: &mut Comments| {
        *kept = Kept::of(ctx, worker, std::mem::take(kept))?.comments;
        change(kept)
    };
    if ctx.is_dry {
        let mut kept = Comments::load(root, &worker.name)?;
        return make(&mut kept).map(|()| kept);
    }
    Comments::update(root, &worker.name, make)
}

fn print(ctx: &Context<'_>, worker: &Worker, kept: &Comments) -> Result<Exit> {
    if ctx.ui.is_json() {
        let keys = json!({ "commit": kept.commit, "comments": kept.comments });
        ctx.ui.json(&about(&worker.name, keys));
        return Ok(Exit::Done);
    }
    for comment in &kept.comments {
        let text = comment.text.lines().collect::<Vec<_>>().join(" / ");
        let sent = if comment.sent { " (was sent)" } else { "" };
        ctx.ui.line(printable(&format!("{}{sent}: {text}", place(comment))));
    }
    Ok(Exit::Done)
}

/// A path and a number, which is negative for a line of the old file.
fn parse(place: &str) -> Result<(String, Side, usize)> {
    let wrong = || {
        Failure::usage(format!("`{}` is no line of a file", printable(place)))
            .hint("name it as `FILE:12`, or as `FILE:-12` for a line of the old file")
    };
    let (path, number) = place.rsplit_once(':').ok_or_else(wrong)?;
    let (side, number) = number.strip_prefix('-').map_or((Side::New, number), |number| (Side::Old, number));
    Ok((path.to_owned(), side, number.parse().ok().filter(|_| !path.is_empty()).ok_or_else(wrong)?))
}

/// Exit 2: the work that is reviewed does not have this line.
fn lacking(worker: &Worker, comment: &Comment) -> Failure {
    Failure::malformed(format!("the diff of {} has no line {}", worker.name, printable(&place(comment))))
        .hint(format!("look at it: `worker-ctl review {}`", worker.name))
}

/// Comments, and the diff of the work that is reviewed, empty if there is none.
pub struct Kept {
    pub comments: Comments,
    pub lines: Vec<DiffLine>,
}

impl Kept {
    fn read(ctx: &Context<'_>, worker: &Worker) -> Result<Kept> {
        Kept::of(ctx, worker, Comments::load(&ctx.root.path, &worker.name)?)
    }

    /// These comments as they stand now. Those that were sent by a command that could not say so any more are marked.
    fn of(ctx: &Context<'_>, worker: &Worker, mut comments: Comments) -> Result<Kept> {
        let is_settled = worker.pending_send.is_none() && !worker.notes.iter().any(Note::is_doubt);
        let work = &worker.work;
        if let (Some(changes), true) =
            (&work.changes, is_settled && work.baseline_sha.as_ref() == Some(&comments.commit))
        {
            let lines = diff::lines(&commands::diff(ctx, &comments.commit).unwrap_or_default());
            comments.comments.iter_mut().for_each(|comment| comment.sent |= is_sent(comment, &lines, changes));
        }
        let Ok(sha) = require_review(worker) else { return Ok(Kept { comments, lines: Vec::new() }) };
        let lines = diff::lines(&commands::diff(ctx, sha)?);
        if comments.comments.is_empty() {
            sha.clone_into(&mut comments.commit);
        }
        let is_older = !comments.commit.is_empty() && comments.commit != sha;
        // It may be gone.
        let old = if is_older { commands::diff(ctx, &comments.commit).unwrap_or_default() } else { String::new() };
        Ok(Kept { comments: follow(comments, sha, &lines, &diff::lines(&old)), lines })
    }
}

/// The comments in a file, or on stdin for `-`. Exit 2 if it holds none.
pub fn read_file(ctx: &Context<'_>, file: &Path) -> Result<Comments> {
    let shown = printable(&file.to_string_lossy());
    let bytes = commands::bytes_of(ctx, file)?;
    let wrong = |why: String| {
        Failure::malformed(format!("{shown}: {why}"))
            .hint("a comment is `{\"path\": \"a.rs\", \"line\": 12, \"text\": \"...\"}`; give a list of them")
    };
    let comments = Comments::parse(&bytes).map_err(|why| wrong(printable(&why)))?;
    if comments.comments.is_empty() {
        return Err(wrong("it holds no comment".into()));
    }
    match comments.comments.iter().position(|comment| comment.text.trim().is_empty()) {
        Some(at) => Err(wrong(format!("comment {} has no text", at + 1))),
        None => Ok(comments),
    }
}

/// The comments that a person adds to the diff of the work in an editor.
pub fn ask(ctx: &Context<'_>, worker: &Worker) -> Result<Comments> {
    let sha = require_review(worker)?;
    let lines = diff::lines(&commands::diff(ctx, sha)?);
    let head = format!("# Add lines that begin with `{MARK}` below a line: comments about it.\n");
    let text: String = lines.iter().map(|line| shown(line) + "\n").collect();
    let text = editor::edit(ctx.env, &(head + &text))?;
    let said = match edited(&text, &lines) {
        Ok(said) => said,
        Err((at, why)) => {
            let aside = layout::comments(&ctx.root.path, &worker.name).with_extension("edited");
            fs::create_private_dir(aside.parent().unwrap_or(&ctx.root.path))?;
            fs::replace(&aside, text.as_bytes(), Some(fs::PRIVATE))?;
            return Err(Failure::malformed(format!("line {at} of what was edited: {why}"))
                .hint(format!("change nothing else; nothing was sent, and what you wrote is in {}", aside.display())));
        }
    };
    if said.is_empty() {
        return Err(failure::WRONG_STATE
            .failure("no comment was written, so nothing was sent")
            .hint(format!("begin lines with `{MARK}` below the lines that they are about")));
    }
    // What cannot be sent is kept.
    let now = render(ctx.env.later().now);
    let said: Vec<Comment> = said.into_iter().map(|comment| Comment { at: now.clone(), ..comment }).collect();
    if !ctx.is_dry {
        change(ctx, worker, |kept| {
            kept.comments.extend(said.clone());
            Ok(())
        })?;
    }
    Ok(Comments { v: 1, commit: sha.to_owned(), comments: said })
}

/// The text that is sent for these comments. Exit 2 if the work lacks the line of one that was written on it.
pub fn text(ctx: &Context<'_>, worker: &Worker, mut given: Comments) -> Result<String> {
    let sha = require_review(worker)?.to_owned();
    if given.commit.is_empty() {
        given.commit.clone_from(&sha);
    }
    let Kept { mut comments, lines } = Kept::of(ctx, worker, given)?;
    comments.comments.retain(|comment| !comment.sent);
    if comments.comments.is_empty() {
        return Err(failure::WRONG_STATE
            .failure("all these comments were sent already")
            .hint(format!("`worker-ctl comment {}` lists them; `--delete` takes one out", worker.name)));
    }
    let is_lost = |comment: &&Comment| comment.stale.is_none() && find(&lines, comment).is_none();
    match comments.comments.iter().find(is_lost) {
        Some(lost) => Err(lacking(worker, lost)),
        None => Ok(message(&comments, &lines)),
    }
}

/// Takes comments that were sent out of those that are kept.
pub fn forget(ctx: &Context<'_>, worker: &str, sent: &[Comment]) -> Result<()> {
    let is_sent = |kept: &Comment| {
        sent.iter().any(|sent| (&sent.path, &sent.text, &sent.at) == (&kept.path, &kept.text, &kept.at))
    };
    let forget = |kept: &mut Comments| {
        kept.comments.retain(|comment| !comment.sent && !is_sent(comment));
        Ok(())
    };
    Comments::update(&ctx.root.path, worker, forget).map(drop)
}

/// The comments as an answer has them, for whoever shows them beside the diff.
pub fn answer(ctx: &Context<'_>, worker: &Worker) -> Result<Value> {
    let kept = Comments::load(&ctx.root.path, &worker.name)?;
    let kept = if kept.comments.is_empty() { kept } else { Kept::of(ctx, worker, kept)?.comments };
    Ok(serde_json::to_value(kept.comments).unwrap_or_default())
}
