//! Decides the id, the branch and the path of a new subtree, or why it is refused.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use jiff::Timestamp;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::path::RelPath;

use crate::agent_in_worktree::KnownAgent;
use crate::failure;
use crate::identity::{Agent, AgentKind, ROOT};
use crate::plan::removal::require_spawned;
use crate::slug::{LONGEST_BRANCH, is_branch_name, numbered, slug};

// What the caller asked for, and what the settings say about it.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct SpawnRequest {
    /// The name of the agent; its slug names the branch and the directory
    pub name: String,
    /// Start at this commit instead of HEAD
    #[arg(long, value_name = "REF")]
    pub from: Option<String>,
    /// The name that stands for the branch if HEAD is detached
    #[arg(long, value_name = "NAME")]
    pub base_name: Option<String>,
    /// The branch: a new one, or one that exists here or at a remote [default: the spawner's with the name]
    #[arg(long, value_name = "BRANCH", conflicts_with_all = ["unique", "reuse_branch"])]
    pub branch: Option<String>,
    /// The role of the agent, which its environment names [default: tl]
    #[arg(long)]
    pub role: Option<String>,
    /// What to do if the subtree exists
    #[arg(long, value_name = "WHAT", default_value = "error")]
    pub if_exists: IfExists,
    /// Append a number to the name if it is taken
    #[arg(long)]
    pub unique: bool,
    /// Check out an existing branch of that name if it is free
    #[arg(long)]
    pub reuse_branch: bool,
    // The agent program.
    #[arg(skip)]
    pub agent: String,
    #[arg(skip)]
    pub max_depth: u64,
    // The directory for worktrees, absolute or relative to the spawner's worktree.
    #[arg(skip)]
    pub base: PathBuf,
}

/// What to do about a subtree that exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum IfExists {
    /// Refuse with exit 1
    #[default]
    Error,
    /// Print the existing one and leave it unchanged
    Return,
}

/// What is known before anything is made.
#[derive(Debug)]
pub struct SpawnFacts<'a> {
    pub caller: &'a KnownAgent,
    pub all: &'a [KnownAgent],
    pub base_sha: String,
    /// The local branches that could be in the way, with the commits they point at.
    pub branches: Vec<(String, String)>,
    /// The paths that are taken.
    pub occupied: BTreeSet<PathBuf>,
    pub now: Timestamp,
}

/// What will be made.
#[derive(Clone, Debug)]
pub struct Plan {
    pub agent: Agent,
    pub warning: Option<String>,
    pub branch: String,
    pub makes_branch: bool,
    pub base_sha: String,
    pub path: PathBuf,
    /// A line for `info/exclude` that hides the worktree from the spawner's `git status`, if the usual lines do not.
    pub exclude: Option<String>,
}

/// What to do about a request.
#[derive(Debug)]
pub enum SpawnDecision {
    Make(Box<Plan>),
    /// Give back an existing subtree.
    Return(Box<KnownAgent>),
}

/// The slugs that a name may get, in order: one, or with `--unique` as many as are needed.
pub fn candidates(request: &SpawnRequest) -> Result<Vec<String>> {
    let first = slug(&request.name)?;
    // What commands call the main checkout, and git what is checked out.
    if ["root", "head"].contains(&first.as_str()) {
        return Err(Failure::usage(format!("`{}` is no name for an agent", request.name))
            .hint("choose another name, such as `feature-a`"));
    }
    let more = (2..if request.unique { 1000 } else { 2 }).map(|n| numbered(&first, n));
    Ok(std::iter::once(first.clone()).chain(more).collect())
}

/// The prefix of the ids of an agent's children, and of their branches. Exit 2 if the root's HEAD is detached and there is no
/// `base_name`. Where the branch is named, the prefix is only that of the id.
pub fn branch_prefix(caller: &KnownAgent, request: &SpawnRequest) -> Result<String> {
    let base_name = request.base_name.as_deref();
    let own = match caller.agent.kind {
        AgentKind::Subtree => Some(caller.agent.id.clone()),
        _ => own_branch(caller),
    };
    if base_name.is_some_and(|name| !is_branch_name(name)) {
        return Err(
            Failure::usage("--base-name must be a name that a branch can have").hint("pass a name such as `main`")
        );
    }
    let spawner = request.branch.as_ref().map(|_| caller.agent.id.clone());
    base_name.map(str::to_owned).or(own).or(spawner).ok_or_else(|| {
        failure::DETACHED
            .with(Exit::Bad, "HEAD is detached, so the new branch has no prefix")
            .hint("switch to a branch first, or name the prefix: `worktree-spawn subtree NAME --base-name main`")
    })
}

/// The branch of an agent: in the main checkout the one that is checked out, else the one that it was made with.
fn own_branch(caller: &KnownAgent) -> Option<String> {
    let agent = &caller.agent;
    let follows = agent.kind == AgentKind::Root && (agent.birth_branch.is_none() || agent.id == ROOT);
    if follows { caller.worktree.branch.clone() } else { agent.birth_branch.clone() }
}

/// Decides what to make.
pub fn plan(facts: &SpawnFacts<'_>, request: &SpawnRequest) -> Result<SpawnDecision> {
    let caller = &facts.caller.agent;
    let prefix = branch_prefix(facts.caller, request)?;
    if caller.level >= request.max_depth {
        let message = format!("{} is at level {}, and `max_depth` is {}", caller.id, caller.level, request.max_depth);
        return Err(failure::DEPTH
            .failure(message)
            .hint("run it in the main checkout, raise `max_depth` of worktree-spawn in a config.toml, or make a seat: `worktree-spawn worker NAME`"));
    }
    let mut refused = None;
    for slug in candidates(request)? {
        match with_slug(facts, request, (&format!("{prefix}.{slug}"), &slug)) {
            Err(failure) if failure::EXISTS.is_kind_of(&failure) && request.unique => refused = Some(failure),
            decided => return decided,
        }
    }
    Err(refused.unwrap_or_else(|| Failure::failed("no name is free")))
}

fn with_slug(facts: &SpawnFacts<'_>, request: &SpawnRequest, (id, slug): (&str, &str)) -> Result<SpawnDecision> {
    let branch = request.branch.as_deref().unwrap_or(id);
    if branch.len() > LONGEST_BRANCH {
        let length = branch.len();
        return Err(Failure::usage(format!(
            "the name of the branch has {length} bytes, and {LONGEST_BRANCH} is the limit: {branch}"
        ))
        .hint("choose a shorter name"));
    }
    if !is_branch_name(branch) {
        return Err(Failure::usage(format!("git does not accept `{branch}` as the name of a branch"))
            .hint("choose another name"));
    }
    let taken = facts.all.iter().filter(|known| known.agent.id == id);
    if let Some(known) = taken.min_by_key(|known| known.agent.kind != AgentKind::Subtree) {
        return match known.agent.kind {
            AgentKind::Subtree => existing(known, request),
            _ => Err(exists(format!("{id} is the id of another agent, at {}", known.worktree.path.display()))
                .hint("choose another name, or let `--unique` number it")),
        };
    }
    let path = path_of(facts.caller, request, slug);
    refuse_taken(facts, request, branch, &path)?;
    let found = facts.branches.iter().find(|(name, _)| name == branch);
    let mut agent = facts.caller.agent.child(AgentKind::Subtree, id, slug, &request.name, facts.now);
    let base_sha = found.map_or(&facts.base_sha, |(_, sha)| sha).clone();
    agent.birth_branch = Some(branch.to_owned());
    agent.target = own_branch(facts.caller);
    agent.role = Some(request.role.clone().unwrap_or_else(|| "tl".into()));
    agent.agent = Some(request.agent.clone());
    agent.base_sha = Some(base_sha.clone());
    let exclude = exclude(facts.all, &path);
    if exclude.is_some() && path.to_str().is_none_or(|path| path.contains('\n')) {
        return Err(Failure::usage(format!("{} is a path that no line of info/exclude can hold", path.display()))
            .hint("name a directory without line ends and in UTF-8 with `--base-dir`"));
    }
    let makes_branch = found.is_none();
    let is_elsewhere = request.from.is_some() && found.is_some_and(|(_, sha)| *sha != facts.base_sha);
    let warning = is_elsewhere
        .then(|| format!("the branch {branch} exists, at {base_sha}, and is used instead of the start that you named"));
    let branch = branch.to_owned();
    Ok(SpawnDecision::Make(Box::new(Plan { agent, warning, branch, makes_branch, base_sha, path, exclude })))
}

fn exists(message: String) -> Failure {
    failure::EXISTS.failure(message)
}

/// Gives back a subtree that exists, or refuses.
fn existing(known: &KnownAgent, request: &SpawnRequest) -> Result<SpawnDecision> {
    let (id, path, requested) = (&known.agent.id, known.worktree.path.display(), &known.agent.requested);
    let is_same = *requested == request.name;
    let other = request.branch.as_ref().filter(|branch| known.agent.birth_branch.as_ref() != Some(branch));
    if let (IfExists::Return, Some(branch)) = (request.if_exists, other) {
        return Err(exists(format!("{id} exists, at {path}, and was not made on {branch}")).hint("choose another name"));
    }
    match request.if_exists {
        IfExists::Return if !is_same => {
            Err(exists(format!("`{}` and `{requested}` both get the id {id}", request.name))
                .hint("choose another name, or let `--unique` number it"))
        }
        // An agent can give any worktree the name that scripts go to.
        IfExists::Return if !known.is_managed => {
            require_spawned(known).map(|()| SpawnDecision::Return(Box::new(known.clone())))
        }
        _ if known.worktree.is_lost => {
            Err(exists(format!("{id} should be at {path}, but is not there")).hint(format!(
                "if it was moved, `worktree-spawn repair` finds it or says how it comes back; if you deleted it: `worktree-spawn remove {id}`"
            )))
        }
        IfExists::Return => Ok(SpawnDecision::Return(Box::new(known.clone()))),
        IfExists::Error if is_same => Err(exists(format!("{id} already exists, at {path}"))
            .hint("use it with `--if-exists return`, or let `--unique` number a new one")),
        IfExists::Error => {
            Err(exists(format!("`{}` and `{requested}` both get the id {id}, which is at {path}", request.name))
                .hint("choose another name, or let `--unique` number it"))
        }
    }
}

/// Refuses a branch or a path that is taken.
fn refuse_taken(facts: &SpawnFacts<'_>, request: &SpawnRequest, branch: &str, path: &Path) -> Result<()> {
    let is_below = |name: &str, dir: &str| name.strip_prefix(dir).is_some_and(|rest| rest.starts_with('/'));
    let blocks = |name: &str| is_below(name, branch) || is_below(branch, name);
    if let Some((name, _)) = facts.branches.iter().find(|(name, _)| blocks(name)) {
        return Err(exists(format!("the branch {branch} cannot exist beside {name}")).hint("choose another name"));
    }
    if let Some(known) = facts.all.iter().find(|known| known.worktree.branch.as_deref() == Some(branch)) {
        return Err(exists(format!("the branch {branch} is checked out at {}", known.worktree.path.display())).hint(
            match request.branch {
                Some(_) => "name another branch",
                None => "choose another name, or let `--unique` number it",
            },
        ));
    }
    if !request.reuse_branch && request.branch.is_none() && facts.branches.iter().any(|(name, _)| name == branch) {
        return Err(exists(format!("the branch {branch} already exists"))
            .hint("check it out with `--reuse-branch`, choose another name, or let `--unique` number it"));
    }
    if facts.occupied.contains(path) {
        let whose = facts.all.iter().find(|known| known.worktree.path == path);
        let whose = whose.map(|known| format!(", the worktree of {}", known.agent.id)).unwrap_or_default();
        return Err(exists(format!("{} already exists{whose}", path.display()))
            .hint("move it away, choose another name, or let `--unique` number it"));
    }
    Ok(())
}

/// The path of the worktree with this slug.
pub fn path_of(caller: &KnownAgent, request: &SpawnRequest, slug: &str) -> PathBuf {
    if !request.base.is_absolute() {
        return caller.worktree.path.join(&request.base).join(slug);
    }
    match caller.agent.kind {
        AgentKind::Root => request.base.join(slug),
        _ => request.base.join(format!("{}.{slug}", caller.agent.dotted())),
    }
}

/// The exclude line that hides a worktree from the worktree that contains it; `None` below `.shopfloor`, which is
/// hidden already.
pub fn exclude(all: &[KnownAgent], path: &Path) -> Option<String> {
    let trees =
        all.iter().map(|known| &known.worktree.path).filter(|worktree| path.starts_with(worktree) && path != *worktree);
    let worktree = trees.max_by_key(|worktree| worktree.as_os_str().len())?;
    let rel = RelPath::parse_os(path.strip_prefix(worktree).ok()?.as_os_str()).ok()?;
    if rel.components().next().is_some_and(|first| first == ".shopfloor") {
        return None;
    }
    // The line hides only this directory, because the directories beside it belong to the user.
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
    use crate::repository_view::Worktree;

    fn known(agent: Agent, path: &str, branch: &str) -> KnownAgent {
        let worktree = Worktree {
            path: path.into(),
            git_dir: "/p/.git".into(),
            branch: Some(branch.into()),
            is_main: agent.kind == AgentKind::Root,
            is_lost: false,
        };
        KnownAgent::spawned(agent, worktree)
    }

    fn decide(all: &[KnownAgent], caller: usize, request: &SpawnRequest, branches: &[&str]) -> Result<SpawnDecision> {
        let facts = SpawnFacts {
            caller: &all[caller],
            all,
            base_sha: "abc".into(),
            branches: branches.iter().map(|name| ((*name).to_owned(), "def".to_owned())).collect(),
            occupied: BTreeSet::new(),
            now: Timestamp::UNIX_EPOCH,
        };
        plan(&facts, request)
    }

    fn request(name: &str) -> SpawnRequest {
        SpawnRequest {
            name: name.into(),
            agent: "claude".into(),
            max_depth: 2,
            base: ".shopfloor/worktrees".into(),
            ..SpawnRequest::default()
        }
    }

    fn made(decision: Result<SpawnDecision>) -> Plan {
        match decision.unwrap() {
            SpawnDecision::Make(plan) => *plan,
            SpawnDecision::Return(known) => panic!("{known:?}"),
        }
    }

    fn root(branch: &str) -> KnownAgent {
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
    fn depth_comes_from_records_and_not_from_dots() {
        let child = made(decide(&[root("a.b.c.d")], 0, &request("x"), &[])).agent;
        let all = [root("a.b.c.d"), known(child, "/p/.shopfloor/worktrees/x", "a.b.c.d.x")];
        assert_eq!(decide(&all, 1, &request("y"), &[]).unwrap_err().kind, "depth");
        let deeper = SpawnRequest { max_depth: 3, base: "/wt".into(), ..request("y") };
        let plan = made(decide(&all, 1, &deeper, &[]));
        assert_eq!((plan.agent.id.as_str(), plan.path.to_str()), ("a.b.c.d.x.y", Some("/wt/x.y")));
    }

    #[test]
    fn existing_names_and_branches_are_refused() {
        let child = made(decide(&[root("main")], 0, &request("feature/auth"), &[])).agent;
        let all = [root("main"), known(child, "/p/.shopfloor/worktrees/feature-auth", "main.feature-auth")];
        let twice = decide(&all, 0, &request("feature-auth"), &[]).unwrap_err();
        assert!(twice.message.contains("`feature-auth` and `feature/auth`"), "{twice}");
        let unique = SpawnRequest { unique: true, ..request("feature-auth") };
        assert_eq!(made(decide(&all, 0, &unique, &["main.feature-auth-2"])).branch, "main.feature-auth-3");
        assert_eq!(decide(&all, 0, &request("x"), &["main.x"]).unwrap_err().kind, "exists");
        assert_eq!(decide(&all, 0, &request("x"), &["main.x/y"]).unwrap_err().kind, "exists");
        let reuse = SpawnRequest { reuse_branch: true, ..request("x") };
        let plan = made(decide(&all, 0, &reuse, &["main.x"]));
        assert_eq!((plan.makes_branch, plan.base_sha.as_str()), (false, "def"));
    }

    #[test]
    fn branch_names_that_git_refuses_are_bad_input() {
        assert_eq!(decide(&[root("main")], 0, &request("lock"), &[]).unwrap_err().exit.code(), 2);
        for bad in ["a..b", "-x", "a b", "x.lock/y", "a/", "", ".a", "a@{1}", "a\u{1}"] {
            let named = SpawnRequest { base_name: Some(bad.into()), ..request("x") };
            assert_eq!(decide(&[root("main")], 0, &named, &[]).unwrap_err().exit.code(), 2, "{bad}");
        }
    }

    #[test]
    fn a_base_outside_shopfloor_gets_an_exclude_line() {
        let within = SpawnRequest { base: "trees/all of them".into(), ..request("x") };
        assert_eq!(
            made(decide(&[root("main")], 0, &within, &[])).exclude.as_deref(),
            Some("/trees/all\\ of\\ them/x/")
        );
        let outside = SpawnRequest { base: "/elsewhere".into(), ..request("x") };
        assert_eq!(made(decide(&[root("main")], 0, &outside, &[])).exclude, None);
    }

    #[test]
    fn a_detached_root_needs_a_name_and_a_long_branch_is_refused() {
        let mut all = [root("main")];
        all[0].worktree.branch = None;
        all[0].agent.birth_branch = None;
        assert_eq!(decide(&all, 0, &request("x"), &[]).unwrap_err().exit.code(), 2);
        let named = SpawnRequest { base_name: Some("v1".into()), ..request("x") };
        assert_eq!(made(decide(&all, 0, &named, &[])).branch, "v1.x");
        let on_branch = SpawnRequest { branch: Some("topic".into()), ..request("x") };
        let plan = made(decide(&all, 0, &on_branch, &[]));
        assert_eq!((plan.branch.as_str(), plan.agent.id.as_str()), ("topic", "root.x"));
        let long = SpawnRequest { base_name: Some("b".repeat(243)), ..request("x") };
        assert!(decide(&all, 0, &long, &[]).unwrap_err().message.contains("245 bytes"));
    }
}
