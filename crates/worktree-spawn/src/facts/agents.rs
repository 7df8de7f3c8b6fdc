//! The agents of a repository. The records in its git directories are the only registry.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::proc;
use shopfloor_core::sandbox;
use shopfloor_core::text::shell_word;
use shopfloor_core::written_files::Listed;

use super::repository;
use crate::agent_in_worktree::KnownAgent;
use crate::failure;
use crate::identity::{Agent, AgentKind, ROOT, way_out};
use crate::layout;
use crate::repository_view::{Place, Worktree};
use crate::slug::slug;
use crate::spool::Spool;

/// Every agent of the repository; a worktree's own agent comes before the seats in it.
pub fn all(place: &Place) -> Result<Vec<KnownAgent>> {
    let recorded = recorded_ids(place);
    let trees = repository::worktrees(place)?;
    let found = proc::map_parallel(&trees, |worktree| in_tree_among(place, worktree, &recorded));
    Ok(found.into_iter().flatten().collect())
}

/// The agents of one worktree, its own agent first.
pub fn in_tree(place: &Place, worktree: &Worktree) -> Vec<KnownAgent> {
    in_tree_among(place, worktree, &recorded_ids(place))
}

/// As [`in_tree`], with the ids in the records of all worktrees.
fn in_tree_among(place: &Place, worktree: &Worktree, recorded: &RecordedIds) -> Vec<KnownAgent> {
    let unreadable = |slug: &str, file: &Path, failure: &Failure| KnownAgent {
        agent: Agent::root(slug, worktree.branch.as_deref(), place.env.now),
        worktree: worktree.clone(),
        is_managed: false,
        error: Some(failure.to_string()),
        cure: match failure.is_write_refused() {
            true => format!("make it readable: `chmod u+r {}`", shell_word(file)),
            false => failure.hints.join("; "),
        },
    };
    let own = own(place, worktree, recorded);
    let record = layout::identity_file(&worktree.git_dir);
    let own = own.unwrap_or_else(|failure| unreadable(&entry_name(worktree), &record, &failure));
    let seats = fs::list(&layout::seats_dir(&worktree.git_dir)).unwrap_or_default();
    let seated = seats.iter().filter_map(|slug| {
        let slug = slug.to_string_lossy();
        let file = layout::seat_file(&worktree.git_dir, &slug);
        let read = fs::read_no_follow(&file)
            .and_then(|bytes| bytes.map(|bytes| Ok((Agent::parse(&file, &bytes)?, bytes))).transpose());
        match read {
            Ok(seat) => {
                let seat = seat.filter(|(seat, _)| seat.kind == AgentKind::Worker && seat.slug == slug);
                seat.map(|(seat, bytes)| KnownAgent {
                    is_managed: recorded.listed.has(&file, &bytes),
                    ..KnownAgent::spawned(seat, worktree.clone())
                })
            }
            Err(failure) => Some(unreadable(&format!("{}/{slug}", own.agent.id), &file, &failure)),
        }
    });
    let seated: Vec<KnownAgent> = seated.collect();
    std::iter::once(own).chain(seated).collect()
}

/// A worktree's own agent.
fn own(place: &Place, worktree: &Worktree, recorded: &RecordedIds) -> Result<KnownAgent> {
    let known = |agent: Agent, is_managed| KnownAgent { is_managed, ..KnownAgent::spawned(agent, worktree.clone()) };
    let root = |id: &str| Agent::root(id, worktree.branch.as_deref(), place.env.now);
    if worktree.is_main {
        return Ok(known(root(ROOT), true));
    }
    let record = layout::identity_file(&worktree.git_dir);
    if let Some(bytes) = fs::read_no_follow(&record)? {
        let agent = Agent::parse(&record, &bytes)?;
        return match agent.kind {
            AgentKind::Worker => {
                Err(Failure::malformed(format!("{} has the record of a seat", worktree.path.display()))
                    .hint(way_out(&record)))
            }
            kind => {
                let is_ours = agent.is_ours((&record, &bytes), &worktree.path, &recorded.listed);
                Ok(known(agent, kind != AgentKind::Root && is_ours))
            }
        };
    }
    if !worktree.git_dir.join("HEAD").exists() {
        return Err(Failure::not_found(format!("the worktree {} is gone", worktree.path.display()))
            .hint(format!("look at git's record of it: `ls {}`", shell_word(&worktree.git_dir))));
    }
    // A worktree made by hand, in a bare layout or by another tool is a root of its own, with its branch as id if that
    // is free.
    let branch = worktree.branch.clone().unwrap_or_default();
    let is_taken = recorded.ids.get(&branch).is_some_and(|dirs| dirs.iter().any(|dir| *dir != worktree.git_dir));
    let is_free = !branch.is_empty() && branch != ROOT && !is_taken;
    let id = if is_free { branch } else { format!("{branch}@{}", entry_name(worktree)) };
    Ok(known(root(&id), false))
}

/// The ids in the records of all worktrees, each with the git directories whose records have it, and the user's list of the
/// records that are ours.
struct RecordedIds {
    ids: HashMap<String, Vec<PathBuf>>,
    listed: Listed,
}

fn recorded_ids(place: &Place) -> RecordedIds {
    let admin = place.common_dir.join("worktrees");
    let mut ids = HashMap::<String, Vec<PathBuf>>::new();
    for dir in fs::list(&admin).unwrap_or_default().into_iter().map(|name| admin.join(name)) {
        if let Ok(Some(agent)) = Agent::load(&layout::identity_file(&dir)) {
            ids.entry(agent.id).or_default().push(dir);
        }
    }
    RecordedIds { ids, listed: Listed::read(&place.env) }
}

/// Git's name for a linked worktree.
fn entry_name(worktree: &Worktree) -> String {
    worktree.git_dir.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The agent of the current worktree. The first use of a worktree that was not spawned writes a record, so that its
/// agent keeps its id whatever is checked out there later. In a dry run the id holds for this command only.
pub fn here(place: &Place) -> Result<KnownAgent> {
    let worktree = place.require_here()?;
    let own = own(place, worktree, &recorded_ids(place))?;
    let record = layout::identity_file(&worktree.git_dir);
    if !worktree.is_main && !place.env.is_dry && !record.exists() {
        // If the record cannot be written, the id holds for this command only.
        let _ = own.agent.save(&place.env, &record);
    }
    Ok(own)
}

/// The agent of the sandbox that this runs in, unless another one is named. Its record is outside, and its environment has
/// a copy.
pub fn contained(place: &Place, named: Option<&str>) -> Option<KnownAgent> {
    let copy = place.env.var("SHOPFLOOR_RECORD").filter(|_| sandbox::is_inside(&place.env))?;
    let agent = Agent::parse(Path::new("SHOPFLOOR_RECORD"), copy.as_encoded_bytes()).ok()?;
    let worktree = place.here.clone()?;
    let is_named = named.is_none_or(|name| name == agent.id || name == agent.slug);
    // It can make other repositories and worktrees inside.
    let is_here = place.env.var("SHOPFLOOR_REPOSITORY") == Some(place.common_dir.as_os_str())
        && agent.directory.as_ref().is_none_or(|own| fs::dir_id(&worktree.path).as_ref() == Some(own));
    (is_named && is_here).then(|| KnownAgent::spawned(agent, worktree))
}

/// The calling agent: the one that is named, else the environment's, else that of the current worktree. An environment
/// that names an agent of another worktree is refused, because a guess might report in the wrong agent's name.
pub fn caller(place: &Place, named: Option<&str>) -> Result<KnownAgent> {
    if let Some(name) = named {
        return require(place, name);
    }
    let variable = place.env.var("SHOPFLOOR_AGENT_ID").map(|id| id.to_string_lossy().into_owned());
    let Some(id) = variable else { return here(place) };
    let worktree = place.require_here()?;
    let own = here(place)?;
    if own.agent.id == id {
        return Ok(own);
    }
    if let Some(seated) = in_tree(place, worktree).into_iter().skip(1).find(|known| known.agent.id == id) {
        return Ok(seated);
    }
    if all(place)?.iter().all(|known| known.agent.id != id) {
        let message = format!("SHOPFLOOR_AGENT_ID is {id}, but there is no such agent");
        return Err(failure::IDENTITY.with(Exit::Bad, message).hint(format!(
            "it may have been removed; `unset SHOPFLOOR_AGENT_ID`, or name the calling agent: `--as {}`",
            own.agent.id
        )));
    }
    let message = format!("SHOPFLOOR_AGENT_ID is {id}, but this is the worktree of {}", own.agent.id);
    Err(failure::IDENTITY
        .with(Exit::Bad, message)
        .hint(format!("name the calling agent: `--as {id}` or `--as {}`", own.agent.id))
        .hint(format!("or change to its worktree: `cd \"$(worktree-spawn path {id})\"`")))
}

/// The reporting agent: as [`caller`], but it may have been removed. Then the record in its environment or its
/// session's tombstone still tells who it is.
pub fn speaker(place: &Place, named: Option<&str>) -> Result<KnownAgent> {
    let variable = |name| place.env.var(name).map(|text| text.to_string_lossy().into_owned());
    let id = named.map(str::to_owned).or_else(|| variable("SHOPFLOOR_AGENT_ID"));
    let failure = match (caller(place, named), &id) {
        (Err(failure), Some(_)) => failure,
        (done, _) => return done,
    };
    // The failure may only mean that the caller is elsewhere, or no longer exists.
    let about_place = [failure::NOT_FOUND, failure::IDENTITY, failure::NO_WORKTREE];
    let Some(id) = id.filter(|_| about_place.iter().any(|kind| kind.is_kind_of(&failure))) else {
        return Err(failure);
    };
    let record =
        variable("SHOPFLOOR_RECORD").and_then(|text| Agent::parse(Path::new("SHOPFLOOR_RECORD"), text.as_bytes()).ok());
    let own = record.filter(|agent| named.is_none() && agent.id == id);
    if let Some(known) = all(place)?.into_iter().find(|known| known.agent.id == id) {
        let is_later = own.as_ref().is_some_and(|own| own.incarnation != known.agent.incarnation);
        // The agent exists, but this process is in another worktree or in none. A removed agent must not report in the
        // name of a later one with the same id.
        if !is_later {
            return if place.here.is_none() { Ok(known) } else { Err(failure) };
        }
    }
    let agent = match own {
        Some(own) => Some(own),
        None => Spool::new(&place.shared(), &id).buried()?,
    };
    let gone = |agent: Agent| {
        let (path, git_dir) = (place.common_dir.clone(), place.common_dir.clone());
        let worktree = Worktree { path, git_dir, branch: None, is_main: false, is_lost: true };
        KnownAgent { is_managed: false, ..KnownAgent::spawned(agent, worktree) }
    };
    agent.map(gone).ok_or(failure)
}

/// The agent with this id, or with this slug if only one agent has it; otherwise exit 1.
pub fn require(place: &Place, name: &str) -> Result<KnownAgent> {
    // An agent of the current worktree counts, whoever has copied its record.
    if let Some(worktree) = &place.here
        && let Some(known) = in_tree(place, worktree).into_iter().find(|known| known.agent.id == name)
    {
        return Ok(known);
    }
    let all = all(place)?;
    let mut named = all.iter().filter(|known| known.agent.id == name);
    if let Some(known) = named.next() {
        if let Some(other) = named.next() {
            return Err(copied(known, other));
        }
        return match &known.error {
            None => Ok(known.clone()),
            Some(why) => Err(Failure::malformed(format!("the record of {name} cannot be read"))
                .details([why.clone()])
                .hint(known.cure.clone())),
        };
    }
    let with_slug = |slug: &str| -> Vec<_> {
        all.iter().filter(|known| known.agent.slug == slug && known.error.is_none()).collect()
    };
    let mut named = with_slug(name);
    if named.is_empty() && !name.is_ascii() {
        // As it was typed: another form of the same letters, or symbols that the slug has only a hash of.
        named = slug(name).map(|slug| with_slug(&slug)).unwrap_or_default();
    }
    match named.as_slice() {
        [known] => Ok((*known).clone()),
        [] => Err(Failure::not_found(format!("there is no agent `{name}`"))
            .hint("run `worktree-spawn list` to see all agents")),
        [one, other, ..] if one.agent.id == other.agent.id => Err(copied(one, other)),
        several => {
            let ids: Vec<&str> = several.iter().map(|known| known.agent.id.as_str()).collect();
            Err(failure::AMBIGUOUS
                .failure(format!("`{name}` is the slug of {}", ids.join(" and ")))
                .hint("use the whole id"))
        }
    }
}

/// The failure where two worktrees have one record.
pub fn copied(one: &KnownAgent, other: &KnownAgent) -> Failure {
    let (id, first, second) = (&one.agent.id, one.worktree.path.display(), other.worktree.path.display());
    // Ours is the one that is about its directory.
    let copy = if one.is_managed { other } else { one };
    failure::AMBIGUOUS
        .failure(format!("{first} and {second} both have the record of {id}"))
        .hint(format!("one of the agents has copied it; {}", way_out(&layout::identity_file(&copy.worktree.git_dir))))
}
