//! `reject`: sends the reviewed work back to its worker.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use shopfloor_core::error::{Exit, Result};
use shopfloor_core::forge::{Remark, cleaned, fenced};

use crate::apply::push::{refuse_agent, require_person};
use crate::commands::start::{begun, note_begun};
use crate::commands::{self, comment, look};
use crate::comments::Comments;
use crate::context::Context;
use crate::facts::request::Own;
use crate::failure;
use crate::plan::machine::Input;
use crate::plan::prompt;
use crate::requests::Requests;
use crate::tmux::typing::DeliveryVerdict;

#[derive(Debug, ClapArgs)]
pub struct Args {
    /// The changes that you want, of the work that was reviewed last; `-` reads them from stdin. With a second argument, the
    /// worker
    #[arg(allow_hyphen_values = true, value_name = "MESSAGE", required_unless_present_any = ["from_request", "comments", "edit"])]
    pub first: Option<String>,
    /// The changes, if the first argument is the worker; after `--` they may begin with a dash
    #[arg(allow_hyphen_values = true, value_name = "MESSAGE")]
    pub second: Option<String>,
    /// Send even if a text may be in the worker's input line, somebody types in its
    /// terminal, or its program asks a question
    #[arg(long)]
    pub force: bool,
    /// Send the comments at lines that this file has, or stdin for `-`: a list of `{"path", "line", "text"}` in JSON, with
    /// `"side": "old"` for lines that are gone. The first argument is the worker, and a MESSAGE goes before them
    #[arg(long, value_name = "FILE", conflicts_with_all = ["from_request", "edit"])]
    pub comments: Option<PathBuf>,
    /// Open the diff in your editor, and send what you add in lines that begin with `#:`, each below the line that it is
    /// about
    #[arg(long, conflicts_with = "from_request")]
    pub edit: bool,
    /// Send what is said in the unresolved threads of the worker's request, by those who may write to the repository; the
    /// first argument is the worker, and a MESSAGE goes before it
    #[arg(long)]
    pub from_request: bool,
    /// Also what others say there
    #[arg(long, requires = "from_request")]
    pub all_authors: bool,
    /// Do not ask whether to send what is said there
    #[arg(long, requires = "from_request")]
    pub yes: bool,
    /// The id of a hub's command, which sends something once
    #[arg(long, hide = true)]
    pub op: Option<String>,
}

pub fn run(ctx: &Context<'_>, args: &Args) -> Result<Exit> {
    let (named, message) = match (&args.first, &args.second) {
        (Some(worker), message) if args.from_request || args.edit || args.comments.is_some() || message.is_some() => {
            (Some(worker), message.as_ref())
        }
        (message, _) => (None, message.as_ref()),
    };
    let message = message.map(|message| commands::read_text(ctx, message)).transpose()?.unwrap_or_default();
    commands::recover(ctx)?;
    look(ctx)?;
    let state = ctx.state()?;
    let name = match named {
        Some(name) => state.require(name)?.name.clone(),
        None => state.meant_by_text()?.to_owned(),
    };
    let message = match args.from_request {
        true => format!("{message}\n\n{}", remarks(ctx, &name, args)?).trim_start().to_owned(),
        false => message,
    };
    let comments = match &args.comments {
        Some(file) => Some(comment::read_file(ctx, file)?),
        None if args.edit => Some(edited(ctx, &name)?),
        None => None,
    };
    let (worker, _lock) = commands::locked(ctx, &name)?;
    // One that was reviewed since is sent back once more.
    let is_back = worker.work.changes.is_some() && worker.work.reviewed_patch.is_none();
    if is_back && begun(ctx, args.op.as_ref())?.is_some() {
        return commands::print_delivery(ctx, &name, Ok((worker, DeliveryVerdict::Delivered)));
    }
    let ctx = &ctx.of(&worker)?;
    let message = match &comments {
        Some(all) => format!("{message}\n\n{}", comment::text(ctx, &worker, all.clone())?).trim().to_owned(),
        None => message,
    };
    let sha = worker.work.commit_sha.clone().unwrap_or_default();
    let patch = if sha.is_empty() { String::new() } else { ctx.repo.work_digest(&sha)? };
    let text = prompt::changes(&message);
    let input = Input::Reject { base: sha.clone(), patch, text, is_conflict: false, force: args.force };
    if let Err(refused) = commands::permit(ctx, &worker, &input) {
        return commands::print_delivery(ctx, &name, Err(refused));
    }
    let would = match comments {
        Some(_) => format!("send {name} back to work, with this:\n\n{message}"),
        None => format!("send {name} back to work"),
    };
    // Comments quote what they are about.
    let text = || match comments {
        Some(_) => Ok(prompt::changes(&message)),
        None => Ok(prompt::rejection(&message, &commands::diff(ctx, &sha)?)),
    };
    let exit = commands::give(ctx, &worker, &input, would, text)?;
    if exit == Exit::Done && !ctx.is_dry {
        note_sent(ctx, &name, args.op.as_ref(), comments.as_ref());
    }
    Ok(exit)
}

/// Notes that a command of a hub has sent its text, and takes out the comments that were sent.
fn note_sent(ctx: &Context<'_>, name: &str, op: Option<&String>, comments: Option<&Comments>) {
    op.into_iter().for_each(|op| ctx.warn_on_failure(name, || note_begun(ctx, op, name)));
    if let Some(sent) = comments
        && let Err(failure) = comment::forget(ctx, name, &sent.comments)
    {
        // A failure would ask for the same command again.
        ctx.ui.warn(format!("the text was sent to {name}, but its comments could not be taken out: {failure}"));
    }
}

/// What a person adds to the diff in an editor.
fn edited(ctx: &Context<'_>, name: &str) -> Result<Comments> {
    let worker = ctx.worker(name)?;
    let ctx = &ctx.of(&worker)?;
    refuse_agent(ctx.env, "nothing was sent")?;
    comment::ask(ctx, &worker)
}

/// What is said in the unresolved threads of a worker's request, between two lines that it cannot contain. A person has seen
/// it.
fn remarks(ctx: &Context<'_>, name: &str, args: &Args) -> Result<String> {
    let worker = ctx.worker(name)?;
    let ctx = &ctx.of(&worker)?;
    let own = Own::of(ctx)?;
    let forge = own.forge(ctx)?;
    let asked = Requests::ask_now(&ctx.root.path, &forge, &own.named_one(&worker.branch)?)?;
    let sha = worker.work.commit_sha.as_deref().unwrap_or_default();
    let request = asked.of(&worker.branch).filter(|request| own.is_of(&worker, sha, request).unwrap_or(false));
    let request = request.ok_or_else(|| {
        failure::WRONG_STATE
            .failure(format!("{name} has no request"))
            .hint(format!("make one: `worker-ctl request {name}`"))
    })?;
    let all = forge.remarks(request.number)?;
    let said: Vec<&Remark> = all.iter().filter(|remark| args.all_authors || remark.is_trusted).collect();
    let left = all.len() - said.len();
    if left > 0 {
        ctx.ui.note(format!(
            "left out what {left} remarks say whose authors are not known to write here (`--all-authors`)"
        ));
    }
    if said.is_empty() {
        return Err(failure::WRONG_STATE
            .failure(format!("nothing is said in unresolved threads of request {}", request.number))
            .hint(format!("say it yourself: `worker-ctl reject {name} TEXT`")));
    }
    let place = |remark: &Remark| match remark.line {
        Some(line) => format!("{}:{line}", remark.path),
        None => remark.path.clone(),
    };
    // Quoted, so that none can look like another one's.
    let quoted = |text: &str| cleaned(text).lines().map(|line| format!("> {line}\n")).collect::<String>();
    let one = |remark: &&Remark| {
        let author = if remark.author.is_empty() { "somebody" } else { &remark.author };
        cleaned(format!("{}, {author} wrote:", place(remark))).replace('\n', " ") + "\n" + &quoted(&remark.text)
    };
    let text = said.iter().map(one).collect::<Vec<_>>().join("\n");
    ctx.ui.show(&text.lines().map(str::to_owned).collect::<Vec<_>>());
    if !ctx.is_dry {
        require_person(ctx, args.yes, &format!("Send that to {name}?"), "nothing was sent")?;
    }
    Ok(fenced("What reviewers of your request say", &text))
}
