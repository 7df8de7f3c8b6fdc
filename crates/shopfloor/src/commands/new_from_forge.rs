//! `new pr:12` and `new issue:34`: what stands on the forge becomes an agent's branch or task.

use std::path::Path;

use serde_json::json;
use shopfloor_core::agents;
use shopfloor_core::args::Common;
use shopfloor_core::diff::WHOLE_STAT;
use shopfloor_core::env::Env;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::forge::{FORGE, Forge, Named, Request, cleaned, fenced};
use shopfloor_core::git::{self, answer, require_plain_ref, when_unlocked};
use shopfloor_core::slug::{cut, slug};
use shopfloor_core::text::{printable, shell_word};
use shopfloor_core::ui::Ui;

use crate::commands::is_main_name;
use crate::commands::new_args::Args;
use crate::commands::worker_commands::here;
use crate::facts::repository::Repository;
use crate::facts::run_tool::agent_if_none_is_named;
use crate::plan::names::named;
use crate::plan::rows::Row;

/// Reads it from the forge, and fetches the branch of a request. Returns the arguments for what is to be made of it, and
/// its task; none in a dry run, which says it.
pub fn prepare(
    ui: &Ui,
    env: &Env,
    common: &Common,
    (args, task, named): (&Args, Option<String>, &Named),
    repository: &Repository,
) -> Result<Option<(Args, Option<String>)>> {
    let forge = Forge::find(env, &repository.git, &repository.main, Some(named))?;
    let asked = (args, task, named.number);
    match named.is_issue {
        true => issue(ui, env, common, asked, &forge),
        false => request(ui, env, common, asked, repository, &forge),
    }
}

/// Exit 2 if what others wrote would get a program that asks nobody.
fn refuse_open(env: &Env, args: &Args) -> Result<()> {
    let rule = "what others wrote runs in a sandbox, or with a program that asks";
    if args.sandbox {
        return Ok(());
    }
    if args.yolo {
        return Err(Failure::usage(rule).hint("use `--sandbox`, or leave `--yolo` out"));
    }
    // A command is a person's own choice.
    if !args.cmd.is_empty() {
        return Ok(());
    }
    let agent = args.agent.clone().map_or_else(|| agent_if_none_is_named(env), |agent| Ok(Some(agent)))?;
    match agent.and_then(|agent| agents::find(&agent)).filter(|program| program.skip_permissions.is_empty()) {
        None => Ok(()),
        Some(program) => Err(Failure::usage(format!("{} asks nobody; {rule}", program.name))
            .hint("use `--sandbox`, with a task, or another agent: `--agent NAME`")),
    }
}

/// The branch of a request, fetched.
fn request(
    ui: &Ui,
    env: &Env,
    common: &Common,
    (args, task, number): (&Args, Option<String>, u64),
    repository: &Repository,
    forge: &Forge,
) -> Result<Option<(Args, Option<String>)>> {
    let Repository { git, repo, main } = repository;
    let found = open_request(forge, number)?;
    if found.is_cross {
        refuse_open(env, args)?;
    }
    let (branch, base) = (branch_of(repository, forge, &found)?, format!("refs/heads/{}", found.base));
    let own = git.common(&repo.common_dir)?;
    let is_mains = is_main_name(repository, &branch)?;
    let name = slug(&branch).filter(|_| !is_mains).unwrap_or_else(|| format!("pr-{number}"));
    let (target, request) = (Some(found.base.clone()), Some(forge.place.to_string()));
    let is_untrusted = found.is_cross;
    let made = Args { name, branch: Some(branch.clone()), target, request, is_untrusted, ..args.clone() };
    if let Some(taken) = taken(repository, (forge, &found), &here(env)?, &made, common.dry_run)? {
        if let Some(id) = taken.taken.as_ref().filter(|_| common.dry_run) {
            ui.would(&json!({ "name": taken.name, "branch": branch }), &[format!("take the worktree of {id}")]);
            return Ok(None);
        }
        return Ok(Some((taken, task)));
    }
    ui.note(format!("request {number} is in {}, where {} leads", forge.place, printable(&forge.remote)));
    if common.dry_run {
        let would = format!("fetch request {number}, and make a worktree for it on the branch {branch}");
        ui.would(&json!({ "name": made.name, "branch": branch }), &[would]);
        return Ok(None);
    }
    let kept = forge.fetch(git, main, number)?;
    let oid = own.text(&repo.common_dir, &["rev-parse", "--verify", &kept])?;
    if !found.oid.is_empty() && found.oid != oid {
        return Err(FORGE.failure(format!("request {number} moved meanwhile")).hint("run the same command again"));
    }
    if is_untrusted && !args.sandbox {
        let changed = ["diff", "--name-only", "--no-renames", "-z", &format!("{base}...{kept}")];
        let changed = answer("diff", &own.cmd(&repo.common_dir).args(changed).capture()?)?;
        refuse_programs(&changed, number, &kept)?;
    }
    if args.setup && is_untrusted {
        // Before anything is made, a person sees what of it would run here.
        let stat = ["diff", "--no-color", "--no-ext-diff", "--no-textconv"];
        let stat = own.text(&repo.common_dir, &[&stat[..], &WHOLE_STAT, &[&format!("{base}...{kept}")]].concat())?;
        let title = format!("request {number} of {} changes, against {}:", found.owner, found.base);
        ui.show(
            &std::iter::once(title.as_str()).chain(stat.lines()).map(|line| line.trim().to_owned()).collect::<Vec<_>>(),
        );
        ui.require_yes(args.yes, "Run the set-up commands with that?", "nothing was made")?;
    }
    make_branch(repository, (forge, &found), &branch, (&oid, &kept))?;
    if found.is_cross && found.can_push_to.is_none() {
        ui.note(format!("request {number} comes from {}, where you cannot push", printable(&found.owner)));
    }
    Ok(Some((made, task)))
}

/// The arguments for a worktree that is on the branch of a request already: it was made for it, has it, or is at its last
/// commit. None if there is none. Exit 1 if another one is in the way.
fn taken(
    repository: &Repository,
    (forge, found): (&Forge, &Request),
    rows: &[Row],
    made: &Args,
    is_dry: bool,
) -> Result<Option<Args>> {
    let (Repository { git, repo, .. }, branch) = (repository, made.branch.as_deref().unwrap_or_default());
    let has_branch = |row: &Row| row.branch.as_deref() == Some(branch);
    let on_it = rows.iter().find(|row| ["subtree", "root"].contains(&row.kind.as_str()) && has_branch(row));
    let Some(other) = on_it.or_else(|| named(rows, &made.name).first().copied()) else { return Ok(None) };
    let tip = || -> Result<String> {
        let cmd = git.common(&repo.common_dir)?.cmd(&repo.common_dir);
        Ok(cmd.args(["rev-parse", "--verify", "--quiet", &format!("refs/heads/{branch}")]).capture()?.text())
    };
    let has_it = other.request.as_ref().is_some_and(|request| request["number"] == found.number);
    let is_known = has_it || is_followed(repository, branch, found.number)?;
    // Anybody can give a fork's branch a name and a commit of ours.
    let is_its = is_known || !found.is_cross && !found.oid.is_empty() && tip()? == found.oid;
    if on_it.is_none() || !is_its {
        return Err(FORGE
            .failure(format!("{} is at work, and not on request {}", printable(&other.name), found.number))
            .hint("rename its branch, or remove it, then run the same command again"));
    }
    if other.kind == "root" && !Path::new(&other.worktree).is_dir() {
        let (branch, at) = (printable(branch), printable(&other.worktree));
        return Err(FORGE
            .failure(format!("git has recorded {branch} at {at}, where nothing is"))
            .hint("if you moved it: `git worktree repair PLACE`; if you deleted it: `git worktree prune`"));
    }
    if !is_known && !is_dry {
        follow(repository, forge, found, (branch, true))?;
    }
    // One that a person made is there under no name that `new` gives.
    let taken = (other.kind == "root").then(|| other.id.clone());
    Ok(Some(Args { name: other.name.clone(), taken, ..made.clone() }))
}

/// A request as the forge tells it. Exit 1 if it is over.
fn open_request(forge: &Forge, number: u64) -> Result<Request> {
    let found = Request { number, ..forge.view(number)? };
    if found.state.is_empty() || found.state == "open" {
        return Ok(found);
    }
    let (state, url) = (printable(&found.state), printable(&found.url));
    Err(FORGE.failure(format!("request {number} is {state}")).hint(format!("see it at {url}")))
}

/// What the branch of a request is called here. Exit 1 if the branch that it goes to is not here.
fn branch_of(Repository { git, repo, .. }: &Repository, forge: &Forge, found: &Request) -> Result<String> {
    let own = git.common(&repo.common_dir)?;
    let ask = |args: &[&str]| own.text(&repo.common_dir, args);
    let base = format!("refs/heads/{}", found.base);
    if !own.cmd(&repo.common_dir).args(["show-ref", "--verify", "--quiet", &base]).capture()?.status.success() {
        let (number, refspec) = (found.number, shell_word(format!("{0}:{0}", found.base).as_ref()));
        return Err(FORGE
            .failure(format!("request {number} goes to {}, and there is no such branch here", printable(&found.base)))
            .hint(format!("make it: `git fetch {} {refspec}`", shell_word(forge.remote.as_ref()))));
    }
    let default = ask(&["rev-parse", "--abbrev-ref", &format!("{}/HEAD", forge.remote)])?;
    let default = default.strip_prefix(&format!("{}/", forge.remote)).unwrap_or_default().to_owned();
    // A branch stands in the way of one below it, and of one above.
    let above = found.head.match_indices('/').map(|(at, _)| format!("refs/heads/{}", &found.head[..at]));
    let tops = above.map(|name| own.cmd(&repo.common_dir).args(["show-ref", "--verify", "--quiet", &name]).capture());
    let is_in_way = !ask(&["for-each-ref", "--count=1", &format!("refs/heads/{}/", found.head)])?.is_empty()
        || tops.collect::<Result<Vec<_>>>()?.iter().any(|asked| asked.status.success());
    let is_usual = is_in_way
        || ["", &found.base, &default, "HEAD", "main", "master"].contains(&found.head.as_str())
        || git.branch(repo)?.as_ref() == Some(&found.head)
        || ask(&["check-ref-format", "--branch", &found.head])? != found.head;
    Ok(if is_usual { format!("pr-{}", found.number) } else { found.head.clone() })
}

/// Makes the branch of a request, from nothing. Exit 1 if it is there, and at another commit, or another request's.
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
    let (shown, number) = (printable(branch), found.number);
    if !before.is_empty() && before != oid {
        return Err(FORGE
            .failure(format!("the branch {shown} exists, and is not at the last commit of request {number}"))
            .hint(format!(
                "compare them: `git log --oneline --left-right {}`",
                shell_word(format!("{branch}...{kept}").as_ref())
            )));
    }
    // First, so that a kill leaves no branch of which nobody knows where it comes from.
    follow(repository, forge, found, (branch, !before.is_empty()))?;
    if before.is_empty() {
        require_plain_ref(&repo.common_dir, &name)?;
        let none = "0".repeat(oid.len());
        let made = own().args(["update-ref", "--no-deref", "-m", "shopfloor: new", &name, oid, &none]).capture()?;
        // The same command may have made it a moment before.
        if own().args(["rev-parse", "--verify", "--quiet", &name]).capture()?.text() != oid {
            answer("update-ref", &made)?;
        }
    }
    Ok(())
}

/// The key of a branch's section for the number of its request.
const REQUEST: &str = "shopfloorRequest";

/// The key for what the branch is called at the remote, if that is not its name; `worker-ctl request` reads it.
const REQUEST_HEAD: &str = "shopfloorRequestHead";

/// Exit 1 if a fork changes files by which an agent's program runs commands: worker-ctl answers for a person that the folder
/// is trusted.
fn refuse_programs(changed: &str, number: u64, kept: &str) -> Result<()> {
    const DIRS: [&str; 6] = [".claude", ".codex", ".gemini", ".opencode", ".cursor", ".agents"];
    // aider and gemini take settings from `.env`.
    const FILES: [&str; 6] =
        [".mcp.json", "opencode.json", "opencode.jsonc", ".aider.conf.yml", ".claude.json", ".env"];
    let is_program = |path: &&str| {
        // Some disks take `.Claude` for `.claude`.
        let path = path.to_lowercase();
        let last = path.rsplit('/').next().unwrap_or_default();
        FILES.contains(&last) || path.split('/').any(|part| DIRS.contains(&part))
    };
    let found: Vec<String> =
        changed.split('\0').filter(is_program).map(|path| format!("  {}", printable(path))).collect();
    match found.is_empty() {
        true => Ok(()),
        false => Err(FORGE
            .failure(format!("request {number} changes what an agent's program runs or trusts"))
            .details(found)
            .hint(format!("look at it: `git show {kept}`; `--sandbox`, with a task, runs the agent contained"))),
    }
}

/// Whether a branch is that of this request.
fn is_followed(Repository { git, main, .. }: &Repository, branch: &str, number: u64) -> Result<bool> {
    let known = git.cmd(main).args(["config", "--get", &format!("branch.{branch}.{REQUEST}")]).capture()?;
    Ok(known.text() == number.to_string())
}

/// Records where the branch comes from, as git knows it, and where it can be pushed to.
fn follow(repository: &Repository, forge: &Forge, found: &Request, (branch, is_there): (&str, bool)) -> Result<()> {
    let (Repository { git, main, .. }, number) = (repository, found.number);
    let key = |key: &str| format!("branch.{branch}.{key}");
    // Several requests may be fetched at once.
    let write = |args: &[&str]| when_unlocked(&git.cmd(main).arg("config").args(args.iter().copied()), main);
    let config = |name: &str, value: &str| answer("config", &write(&[&key(name), value])?).map(drop);
    git::require_own_config(&repository.repo.common_dir)?;
    config(REQUEST, &number.to_string())?;
    // A branch that was there already may have an upstream of the person's.
    let unset = |name: &str| write(&["--unset-all", &key(name)]).map(drop);
    let is_set = is_there && git.cmd(main).args(["config", "--get", &key("merge")]).capture()?.status.success();
    // Of an earlier branch of this name.
    ["pushRemote", REQUEST_HEAD].iter().filter(|_| !is_there).try_for_each(|name| unset(name))?;
    if found.head != branch {
        config(REQUEST_HEAD, &found.head)?;
    }
    let upstream = |remote: &str, merge: &str| match is_set {
        true => Ok(()),
        false => config("remote", remote).and_then(|()| config("merge", merge)),
    };
    if !found.is_cross {
        let has_own =
            is_there && git.cmd(main).args(["config", "--get", &key("pushRemote")]).capture()?.status.success();
        if !has_own {
            config("pushRemote", &forge.remote)?;
        }
        return upstream(&forge.remote, &format!("refs/heads/{}", found.head));
    }
    let url = git.cmd(main).args(["remote", "get-url", "--push", "--", &forge.remote]).capture()?.text();
    let url = if url.is_empty() { &forge.url } else { &url };
    let fork = found.can_push_to.as_ref().and_then(|path| forge.place.beside(url, path));
    match fork {
        Some(url) => {
            upstream(&url, &format!("refs/heads/{}", found.head))?;
            config("pushRemote", &url)
        }
        // A push without a word would make a branch in a repository that is not its own.
        None => {
            upstream(&forge.remote, &forge.head_ref(number))?;
            config("pushRemote", &format!("/dev/null/the-fork-of-request-{number}-cannot-be-pushed-to"))
        }
    }
}

/// The task of an issue: a stranger's text, which a person sees first.
fn issue(
    ui: &Ui,
    env: &Env,
    common: &Common,
    (args, task, number): (&Args, Option<String>, u64),
    forge: &Forge,
) -> Result<Option<(Args, Option<String>)>> {
    refuse_open(env, args)?;
    let (title, text) = forge.issue(number)?;
    let slug = slug(&format!("{number}-{title}")).unwrap_or_else(|| format!("issue-{number}"));
    let name = cut(&slug, 40).to_owned();
    let rows = here(env)?;
    let known = named(&rows, &name).into_iter().find(|row| row.branch.as_deref() == Some(&name));
    let made = Args { branch: Some(name.clone()), name, is_untrusted: true, ..args.clone() };
    // It has its task already, which goes on where a killed command has not typed it.
    if let Some(row) = known.filter(|row| row.task.as_deref().is_some_and(|task| task != "idle")) {
        let is_at_work = row.task.as_deref() == Some("working") && !common.dry_run;
        return Ok(Some((made, row.record["prompt"].as_str().filter(|_| is_at_work).map(str::to_owned))));
    }
    if common.dry_run {
        let would = format!("make a worktree for issue {number} on the branch {}", made.name);
        ui.would(&json!({ "name": made.name, "branch": made.branch }), &[would]);
        return Ok(None);
    }
    let text = cleaned(format!("{title}\n\n{text}"));
    let lines = std::iter::once(format!("issue {number} says:")).chain(text.lines().map(str::to_owned));
    ui.show(&lines.collect::<Vec<_>>());
    ui.require_yes(args.yes, "Give that to an agent?", "nothing was made")?;
    let first = task.unwrap_or_else(|| format!("Resolve issue {number} of {}.", forge.place.path));
    let task = format!("{first}\n\n{}", fenced("What the issue says", text.trim()));
    Ok(Some((made, Some(task))))
}
