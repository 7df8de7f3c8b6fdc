//! `new pr:12` and `new issue:34`: what stands on the forge becomes an agent's branch or task.

use shopfloor_core::args::Common;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::forge::{FORGE, Forge, Named, Request, cleaned, fenced};
use shopfloor_core::git::{answer, require_plain_ref};
use shopfloor_core::slug::{cut, slug};
use shopfloor_core::text::{printable, shell_word};
use shopfloor_core::ui::Ui;

use crate::commands::new::Args;
use crate::commands::worker_commands::here;
use crate::facts::repository::Repository;
use crate::plan::rows::named;

/// What `new` does for a request or an issue, which its name names. None in a dry run, which says it.
pub fn prepare(
    ui: &Ui,
    env: &Env,
    common: &Common,
    (args, task): (&Args, Option<String>),
    repository: &Repository,
) -> Result<Option<(Args, Option<String>)>> {
    let Some(wanted) = Named::parse(&args.name) else { return Ok(Some((args.clone(), task))) };
    if args.clone || args.from.is_some() || args.branch.is_some() || args.unique || args.reuse_branch || args.launch {
        return Err(Failure::usage(format!("the branch of {} is known already", printable(&args.name)))
            .hint("leave out `--from`, `--branch`, `--clone`, `--unique`, `--reuse-branch` and `--launch`"));
    }
    let forge = Forge::find(env, &repository.git, &repository.main, Some(&wanted))?;
    let args = Args { if_exists: Some("return".to_owned()), ..args.clone() };
    let prepared = match wanted.is_issue {
        true => issue(ui, env, common, (args, task), &forge, wanted.number)?,
        false => request(ui, env, common, args, repository, (&forge, wanted.number))?.map(|args| (args, task)),
    };
    let Some((args, task)) = prepared else { return Ok(None) };
    if args.is_untrusted && args.yolo && !args.sandbox {
        return Err(Failure::usage("what others wrote runs in a sandbox, or with a program that asks")
            .hint("use `--sandbox`, or leave `--yolo` out"));
    }
    let asks = args.is_untrusted && !args.sandbox;
    Ok(Some((Args { ask: args.ask || asks, ..args }, task)))
}

/// The branch of a request, fetched.
fn request(
    ui: &Ui,
    env: &Env,
    common: &Common,
    args: Args,
    repository: &Repository,
    (forge, number): (&Forge, u64),
) -> Result<Option<Args>> {
    let Repository { git, repo, main } = repository;
    let found = Request { number, ..forge.view(number)? };
    if !found.state.is_empty() && found.state != "open" {
        let (state, url) = (printable(&found.state), printable(&found.url));
        return Err(FORGE.failure(format!("request {number} is {state}")).hint(format!("see it at {url}")));
    }
    let own = git.common(&repo.common_dir)?;
    let ask = |args: &[&str]| Ok(own.cmd(&repo.common_dir).args(args.iter().copied()).capture()?.text());
    let default = ask(&["rev-parse", "--abbrev-ref", &format!("{}/HEAD", forge.remote)])?;
    let default = default.strip_prefix(&format!("{}/", forge.remote)).unwrap_or_default().to_owned();
    let is_usual = [&found.base, &default, "HEAD", "main", "master"].contains(&found.head.as_str())
        || git.branch(repo)?.as_ref() == Some(&found.head)
        || ask(&["check-ref-format", "--branch", &found.head])? != found.head;
    let branch = if is_usual { format!("pr-{number}") } else { found.head.clone() };
    let name = slug(&branch).unwrap_or_else(|| format!("pr-{number}"));
    let base = format!("refs/heads/{}", found.base);
    if ask(&["rev-parse", "--verify", "--quiet", &base])?.is_empty() {
        let (base, remote) = (printable(&found.base), shell_word(forge.remote.as_ref()));
        return Err(FORGE
            .failure(format!("request {number} goes to {base}, and there is no such branch here"))
            .hint(format!("make it: `git fetch {remote} {base}:{base}`")));
    }
    let is_there = named(&here(env)?, &name).iter().any(|row| row.branch.as_ref() == Some(&branch));
    let made = Args {
        name,
        branch: Some(branch.clone()),
        target: Some(found.base.clone()),
        is_untrusted: found.is_cross,
        ..args
    };
    if is_there {
        return Ok(Some(made));
    }
    if common.dry_run {
        ui.line(format!(
            "would fetch request {number}, and make a worktree for it on the branch {}",
            printable(&branch)
        ));
        return Ok(None);
    }
    let kept = forge.fetch(git, main, number)?;
    let oid = ask(&["rev-parse", "--verify", &kept])?;
    if !found.oid.is_empty() && found.oid != oid {
        return Err(FORGE.failure(format!("request {number} moved meanwhile")).hint("run the same command again"));
    }
    // Before anything is made, a person sees what of it would run here.
    if made.setup && made.is_untrusted {
        let stat =
            ask(&["diff", "--no-color", "--no-ext-diff", "--no-textconv", "--stat=80", &format!("{base}...{kept}")])?;
        let lines = stat.lines().map(|line| line.trim().to_owned());
        let title = format!("request {number} of {} changes, against {}:", found.owner, found.base);
        ui.show(&std::iter::once(title).chain(lines).collect::<Vec<_>>());
        ui.require_yes(made.yes, "Run the set-up commands with that?", "nothing was made")?;
    }
    make_branch(repository, (forge, &found), &branch, (&oid, &kept))?;
    if found.is_cross && found.can_push_to.is_none() {
        ui.note(format!("request {number} comes from {}, where you cannot push", printable(&found.owner)));
    }
    Ok(Some(made))
}

/// Makes the branch of a request, from nothing. Exit 1 if it is there, and at another commit.
fn make_branch(
    repository: &Repository,
    (forge, found): (&Forge, &Request),
    branch: &str,
    (oid, kept): (&str, &str),
) -> Result<()> {
    let Repository { git, repo, .. } = repository;
    let (own, name) = (git.common(&repo.common_dir)?, format!("refs/heads/{branch}"));
    let own = || own.cmd(&repo.common_dir);
    let before = own().args(["rev-parse", "--verify", "--quiet", &name]).capture()?.text();
    if before.is_empty() {
        require_plain_ref(&repo.common_dir, &name)?;
        let none = "0".repeat(oid.len());
        let made = own().args(["update-ref", "--no-deref", "-m", "shopfloor: new", &name, oid, &none]).capture()?;
        answer("update-ref", &made)?;
        return follow(repository, forge, found, branch);
    }
    if before == oid {
        return Ok(());
    }
    let (shown, number) = (printable(branch), found.number);
    Err(FORGE
        .failure(format!("the branch {shown} exists, and is not at the last commit of request {number}"))
        .hint(format!("compare them: `git log --oneline --left-right {shown}...{kept}`")))
}

/// Records where the branch comes from, as git knows it, and where it can be pushed to.
fn follow(repository: &Repository, forge: &Forge, found: &Request, branch: &str) -> Result<()> {
    let (Repository { git, main, .. }, number) = (repository, found.number);
    let config = |key: &str, value: &str| {
        answer("config", &git.cmd(main).args(["config", &format!("branch.{branch}.{key}"), value]).capture()?).map(drop)
    };
    config("remote", &forge.remote)?;
    if !found.is_cross {
        return config("merge", &format!("refs/heads/{branch}"));
    }
    config("merge", &forge.head_ref(number))?;
    let url = git.cmd(main).args(["remote", "get-url", "--push", "--", &forge.remote]).capture()?.text();
    match &found.can_push_to {
        Some(path) => config("pushRemote", &url.replace(&forge.place.path, path)),
        // A push without a word would make a branch in a repository that is not its own.
        None => config("pushRemote", &format!("/dev/null/the-fork-of-request-{number}-cannot-be-pushed-to")),
    }
}

/// The task of an issue: a stranger's text, which a person sees first.
fn issue(
    ui: &Ui,
    env: &Env,
    common: &Common,
    (args, task): (Args, Option<String>),
    forge: &Forge,
    number: u64,
) -> Result<Option<(Args, Option<String>)>> {
    let (title, text) = forge.issue(number)?;
    let slug = slug(&format!("{number}-{title}")).unwrap_or_else(|| format!("issue-{number}"));
    let name = cut(&slug, 40).to_owned();
    let rows = here(env)?;
    let known = named(&rows, &name).into_iter().find(|row| row.branch.as_deref() == Some(&name));
    let args = Args { name: name.clone(), branch: Some(name), is_untrusted: true, ..args };
    // It has its task already.
    if known.is_some_and(|row| row.task.as_deref().is_some_and(|task| task != "idle")) {
        return Ok(Some((args, None)));
    }
    if common.dry_run {
        ui.line(format!("would make a worktree for issue {number} on the branch {}", args.name));
        return Ok(None);
    }
    let text = cleaned(format!("{title}\n\n{text}"));
    ui.show(
        &std::iter::once(format!("issue {number} says:")).chain(text.lines().map(str::to_owned)).collect::<Vec<_>>(),
    );
    ui.require_yes(args.yes, "Give that to an agent?", "nothing was made")?;
    let first = task.unwrap_or_else(|| format!("Resolve issue {number} of {}.", forge.place.path));
    Ok(Some((args, Some(format!("{first}\n\n{}", fenced("What the issue says", text.trim()))))))
}
