//! What a spawn makes: the name, the branch, the place; or why there is nothing to make.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::path::RelPath;

use crate::facts::agents::Known;
use crate::identity::{Agent, Kind};
use crate::slug::{LONGEST_BRANCH, numbered, slug};

/// What was asked for.
#[derive(Clone, Debug, Default)]
pub struct Request {
    pub name: String,
    pub role: Option<String>,
    pub agent: String,
    /// Give back the one that is there.
    pub returns_existing: bool,
    pub is_unique: bool,
    pub reuses_branch: bool,
    /// A commit to start from was named.
    pub names_start: bool,
    /// What stands for the branch of a detached root.
    pub base_name: Option<String>,
    pub max_depth: u64,
    /// Where worktrees go: relative to the spawner's worktree, or absolute.
    pub base: PathBuf,
}

/// What is known before anything is made.
#[derive(Debug)]
pub struct Facts<'a> {
    pub caller: &'a Known,
    pub all: &'a [Known],
    pub base_sha: String,
    /// Local branches that could be in the way, with what they point at.
    pub branches: Vec<(String, String)>,
    /// Paths that hold something.
    pub occupied: BTreeSet<PathBuf>,
    pub now: Timestamp,
}

/// What will be made.
#[derive(Clone, Debug)]
pub struct Plan {
    pub agent: Agent,
    /// What whoever asked should hear.
    pub warning: Option<String>,
    pub branch: String,
    pub makes_branch: bool,
    pub base_sha: String,
    pub path: PathBuf,
    /// A line that keeps the children out of the spawner's status, where the usual ones do not.
    pub exclude: Option<String>,
}

/// Make it, or it is there.
#[derive(Debug)]
pub enum Decision {
    Make(Box<Plan>),
    Return(Box<Known>),
}

/// The slugs a name may get, in order: one, or with `--unique` as many as it takes.
pub fn candidates(name: &str, is_unique: bool) -> Result<Vec<String>> {
    let first = slug(name)?;
    let more = (2..if is_unique { 1000 } else { 2 }).map(|n| numbered(&first, n));
    Ok(std::iter::once(first.clone()).chain(more).collect())
}

/// What the branches of children begin with. Exit 2 on a detached root that nobody named.
pub fn branch_prefix(caller: &Agent, today: Option<&str>, base_name: Option<&str>) -> Result<String> {
    let own = if caller.kind == Kind::Root { today.map(str::to_owned) } else { caller.birth_branch.clone() };
    // A root that nobody spawned keeps the name it was born with.
    let own = if caller.kind == Kind::Root && caller.birth_branch.is_some() && caller.id != "root" {
        caller.birth_branch.clone()
    } else {
        own
    };
    if base_name.is_some_and(|name| !is_branch_name(name)) {
        return Err(Failure::usage("--base-name must be what a branch could be called").hint("such as `main`"));
    }
    base_name.map(str::to_owned).or(own).ok_or_else(|| {
        Failure::new(Exit::Bad, "detached", "HEAD is detached, so the new branch has nothing to be named after")
            .hint("name it: `--base-name main`, or switch to a branch first")
    })
}

/// Decides.
pub fn plan(facts: &Facts<'_>, request: &Request) -> Result<Decision> {
    let caller = &facts.caller.agent;
    let prefix = branch_prefix(caller, facts.caller.tree.branch.as_deref(), request.base_name.as_deref())?;
    if caller.level >= request.max_depth {
        return Err(Failure::new(
            Exit::No,
            "depth",
            format!("{} is at level {}, and `max_depth` is {}", caller.id, caller.level, request.max_depth),
        )
        .hint("spawn a worker instead: `worktree-spawn worker NAME`"));
    }
    let mut refused = None;
    for slug in candidates(&request.name, request.is_unique)? {
        match with_slug(facts, request, &prefix, &slug) {
            Err(failure) if failure.kind == "exists" && request.is_unique => refused = Some(failure),
            decided => return decided,
        }
    }
    Err(refused.unwrap_or_else(|| Failure::failed("no name is free")))
}

fn with_slug(facts: &Facts<'_>, request: &Request, prefix: &str, slug: &str) -> Result<Decision> {
    let caller = &facts.caller.agent;
    let branch = format!("{prefix}.{slug}");
    if branch.len() > LONGEST_BRANCH {
        return Err(Failure::usage(format!(
            "the branch would have {} bytes, and {LONGEST_BRANCH} are the most: {branch}",
            branch.len()
        ))
        .hint("choose a shorter name"));
    }
    if !is_branch_name(&branch) {
        return Err(Failure::usage(format!("git takes no branch of the name `{branch}`")).hint("choose another name"));
    }
    let exists = |message: String| Failure::new(Exit::No, "exists", message);
    if let Some(known) = facts.all.iter().find(|known| known.agent.id == branch && known.agent.kind == Kind::Subtree) {
        let requested = &known.agent.requested;
        if *requested != request.name && request.returns_existing {
            return Err(exists(format!("`{}` and `{requested}` both come to {branch}", request.name))
                .hint("choose another name, or let `--unique` number it"));
        }
        if request.returns_existing && known.tree.is_lost {
            return Err(exists(format!("{branch} should be at {}, and is not there", known.tree.path.display()))
                .hint("where it was moved, `worktree-spawn repair` finds it; else take it away with `worktree-spawn remove --force`"));
        }
        if request.returns_existing {
            return Ok(Decision::Return(Box::new(known.clone())));
        }
        let place = known.tree.path.display();
        return Err(if *requested == request.name {
            exists(format!("{branch} is there already, at {place}"))
                .hint("take it as it is with `--if-exists return`, or number a new one with `--unique`")
        } else {
            exists(format!("`{}` and `{requested}` both come to {branch}, which is at {place}", request.name))
                .hint("choose another name, or let `--unique` number it")
        });
    }
    if let Some(known) = facts.all.iter().find(|known| known.agent.id == branch) {
        return Err(exists(format!("{branch} is the id of another agent, at {}", known.tree.path.display()))
            .hint("choose another name, or let `--unique` number it"));
    }
    let path = place_of(facts, request, slug);
    let found = facts.branches.iter().find(|(name, _)| *name == branch);
    let below = format!("{branch}/");
    if let Some((name, _)) = facts.branches.iter().find(|(name, _)| name.starts_with(&below)) {
        return Err(exists(format!("the branch {branch} cannot be made beside {name}")).hint("choose another name"));
    }
    if let Some(known) = facts.all.iter().find(|known| known.tree.branch.as_deref() == Some(&branch)) {
        return Err(exists(format!("the branch {branch} is checked out at {}", known.tree.path.display()))
            .hint("choose another name, or let `--unique` number it"));
    }
    if found.is_some() && !request.reuses_branch {
        return Err(exists(format!("the branch {branch} is there already"))
            .hint("check it out with `--reuse-branch`, choose another name, or let `--unique` number it"));
    }
    if facts.occupied.contains(&path) {
        let whose = facts.all.iter().find(|known| known.tree.path == path);
        let whose = whose.map(|known| format!(", the worktree of {}", known.agent.id)).unwrap_or_default();
        return Err(exists(format!("{} is there already{whose}", path.display()))
            .hint("move it away, choose another name, or let `--unique` number it"));
    }
    let mut agent = caller.child(Kind::Subtree, branch.clone(), slug, &request.name, facts.now);
    let base_sha = found.map_or(&facts.base_sha, |(_, sha)| sha).clone();
    agent.birth_branch = Some(branch.clone());
    agent.role = Some(request.role.clone().unwrap_or_else(|| "tl".into()));
    agent.agent = Some(request.agent.clone());
    agent.base_sha = Some(base_sha.clone());
    let exclude = exclude(facts.all, &path);
    let makes_branch = found.is_none();
    let is_elsewhere = request.names_start && found.is_some_and(|(_, sha)| *sha != facts.base_sha);
    let warning = is_elsewhere.then(|| format!("the branch {branch} is there, at {base_sha}; it is taken as it is"));
    Ok(Decision::Make(Box::new(Plan { agent, warning, branch, makes_branch, base_sha, path, exclude })))
}

/// Whether git takes it as the name of a branch (git-check-ref-format(1)).
pub fn is_branch_name(name: &str) -> bool {
    let is_part =
        |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with('.') && !part.ends_with(".lock");
    let is_bad = |c: char| c.is_ascii_control() || " ~^:?*[\\".contains(c);
    !name.starts_with('-')
        && !name.contains("..")
        && !name.contains("@{")
        && !name.contains(is_bad)
        && name.split('/').all(is_part)
}

/// Where a slug's worktree goes.
pub fn place_of(facts: &Facts<'_>, request: &Request, slug: &str) -> PathBuf {
    if !request.base.is_absolute() {
        return facts.caller.tree.path.join(&request.base).join(slug);
    }
    match facts.caller.agent.kind {
        Kind::Root => request.base.join(slug),
        _ => request.base.join(format!("{}.{slug}", facts.caller.agent.dotted())),
    }
}

/// The line that hides a worktree from the one it lies in, where it is not below `.shopfloor`.
pub fn exclude(all: &[Known], path: &Path) -> Option<String> {
    let trees = all.iter().map(|known| &known.tree.path).filter(|tree| path.starts_with(tree) && path != *tree);
    let tree = trees.max_by_key(|tree| tree.as_os_str().len())?;
    let rel = RelPath::parse_os(path.strip_prefix(tree).ok()?.as_os_str()).ok()?;
    if rel.components().next().is_some_and(|first| first == ".shopfloor") {
        return None;
    }
    // Itself alone: what lies beside it is somebody's.
    let escaped: String = rel.to_string().chars().fold(String::new(), |mut out, c| {
        if "*?[\\ ".contains(c) {
            out.push('\\');
        }
        out.push(c);
        out
    });
    Some(format!("/{escaped}/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::place::Tree;

    fn known(agent: Agent, path: &str, branch: &str) -> Known {
        let tree = Tree {
            path: path.into(),
            git_dir: "/p/.git".into(),
            branch: Some(branch.into()),
            is_main: agent.kind == Kind::Root,
            is_lost: false,
        };
        Known { agent, tree, is_managed: true, error: None }
    }

    fn decide(all: &[Known], caller: usize, request: &Request, branches: &[&str]) -> Result<Decision> {
        let facts = Facts {
            caller: &all[caller],
            all,
            base_sha: "abc".into(),
            branches: branches.iter().map(|name| ((*name).to_owned(), "def".to_owned())).collect(),
            occupied: BTreeSet::new(),
            now: Timestamp::UNIX_EPOCH,
        };
        plan(&facts, request)
    }

    fn request(name: &str) -> Request {
        Request {
            name: name.into(),
            agent: "claude".into(),
            max_depth: 2,
            base: ".shopfloor/worktrees".into(),
            ..Request::default()
        }
    }

    fn made(decision: Result<Decision>) -> Plan {
        match decision.unwrap() {
            Decision::Make(plan) => *plan,
            Decision::Return(known) => panic!("{known:?}"),
        }
    }

    fn root(branch: &str) -> Known {
        known(Agent::root("root", Some(branch), Timestamp::UNIX_EPOCH), "/p", branch)
    }

    #[test]
    fn a_child_is_named_after_its_spawner() {
        let all = [root("feature/x.1")];
        let plan = made(decide(&all, 0, &request("Feature A"), &[]));
        assert_eq!(plan.branch, "feature/x.1.feature-a");
        assert_eq!(plan.path, Path::new("/p/.shopfloor/worktrees/feature-a"));
        assert_eq!((plan.agent.level, plan.agent.parents.as_slice()), (2, ["root".to_owned()].as_slice()));
        assert_eq!(plan.exclude, None);
    }

    #[test]
    fn depth_is_counted_in_records_and_not_in_dots() {
        let child = made(decide(&[root("a.b.c.d")], 0, &request("x"), &[])).agent;
        let all = [root("a.b.c.d"), known(child, "/p/.shopfloor/worktrees/x", "a.b.c.d.x")];
        assert_eq!(decide(&all, 1, &request("y"), &[]).unwrap_err().kind, "depth");
        let deeper = Request { max_depth: 3, base: "/wt".into(), ..request("y") };
        let plan = made(decide(&all, 1, &deeper, &[]));
        assert_eq!((plan.agent.id.as_str(), plan.path.to_str()), ("a.b.c.d.x.y", Some("/wt/x.y")));
    }

    #[test]
    fn what_is_there_is_never_taken() {
        let child = made(decide(&[root("main")], 0, &request("feature/auth"), &[])).agent;
        let all = [root("main"), known(child, "/p/.shopfloor/worktrees/feature-auth", "main.feature-auth")];
        let twice = decide(&all, 0, &request("feature-auth"), &[]).unwrap_err();
        assert!(twice.message.contains("`feature-auth` and `feature/auth`"), "{twice}");
        let unique = Request { is_unique: true, ..request("feature-auth") };
        assert_eq!(made(decide(&all, 0, &unique, &["main.feature-auth-2"])).branch, "main.feature-auth-3");
        assert_eq!(decide(&all, 0, &request("x"), &["main.x"]).unwrap_err().kind, "exists");
        assert_eq!(decide(&all, 0, &request("x"), &["main.x/y"]).unwrap_err().kind, "exists");
        let reuse = Request { reuses_branch: true, ..request("x") };
        let plan = made(decide(&all, 0, &reuse, &["main.x"]));
        assert_eq!((plan.makes_branch, plan.base_sha.as_str()), (false, "def"));
    }

    #[test]
    fn names_that_git_refuses_are_bad_input() {
        assert_eq!(decide(&[root("main")], 0, &request("lock"), &[]).unwrap_err().exit.code(), 2);
        for bad in ["a..b", "-x", "a b", "x.lock/y", "a/", "", ".a", "a@{1}", "a\u{1}"] {
            let named = Request { base_name: Some(bad.into()), ..request("x") };
            assert_eq!(decide(&[root("main")], 0, &named, &[]).unwrap_err().exit.code(), 2, "{bad}");
        }
    }

    #[test]
    fn a_base_beside_ours_is_hidden_too() {
        let within = Request { base: "trees/all of them".into(), ..request("x") };
        assert_eq!(
            made(decide(&[root("main")], 0, &within, &[])).exclude.as_deref(),
            Some("/trees/all\\ of\\ them/x/")
        );
        let outside = Request { base: "/elsewhere".into(), ..request("x") };
        assert_eq!(made(decide(&[root("main")], 0, &outside, &[])).exclude, None);
    }

    #[test]
    fn a_detached_root_needs_a_name_and_a_long_branch_is_refused() {
        let mut all = [root("main")];
        all[0].tree.branch = None;
        all[0].agent.birth_branch = None;
        assert_eq!(decide(&all, 0, &request("x"), &[]).unwrap_err().exit.code(), 2);
        let named = Request { base_name: Some("v1".into()), ..request("x") };
        assert_eq!(made(decide(&all, 0, &named, &[])).branch, "v1.x");
        let long = Request { base_name: Some("b".repeat(243)), ..request("x") };
        assert!(decide(&all, 0, &long, &[]).unwrap_err().message.contains("245 bytes"));
    }
}
