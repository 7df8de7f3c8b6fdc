//! What is known before work is pushed: where to, what lies there, and which request there is.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use shopfloor_core::diff::WHOLE_STAT;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::forge::{FORGE, Forge, Place, Request, fetch, network, require_final, shown_url};
use shopfloor_core::git::{Git, LOOK_LIMIT, answer, as_alternate};
use shopfloor_core::proc::Cmd;
use shopfloor_core::text::{printable, shell_word};

use crate::context::Context;
use crate::requests::{Named, Requests};
use crate::worker::Worker;

/// A remote of the person's repository, as git is told it: a name or an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote {
    pub name: String,
    /// Where a push goes, and from where a fetch comes.
    pub push_urls: Vec<String>,
    pub fetch_url: String,
}

/// The settings that say where branches are pushed to, each with its value.
struct PushNames(BTreeMap<String, String>);

impl PushNames {
    fn setting(&self, branch: &str, key: &str) -> Option<&str> {
        self.0.get(&format!("branch.{branch}.{key}")).map(String::as_str)
    }

    /// The remote of a branch, as git chooses it for a push.
    fn of(&self, branch: &str) -> String {
        let usual = self.0.get("remote.pushdefault").map_or("origin", String::as_str);
        self.setting(branch, "pushremote").unwrap_or(usual).to_owned()
    }
}

/// The key of a branch's section for the request that `shopfloor new` has made it for.
const REQUEST: &str = "shopfloorRequest";

/// The key of a branch's section for what it is called at the remote, if that is not its name.
pub const REQUEST_HEAD: &str = "shopfloorRequestHead";

/// git in the person's own checkout, by their own configuration.
pub struct Own {
    pub git: Git,
    pub source: PathBuf,
    /// Where the objects of the root's clone are, in a dry run for a worker there.
    clone: Option<PathBuf>,
    /// The branches of workers in the root's clone.
    clone_branches: BTreeSet<String>,
}

impl Own {
    pub fn of(ctx: &Context<'_>) -> Result<Own> {
        let source = ctx.source();
        let clone = (!ctx.repo.is_own && ctx.is_dry).then(|| ctx.repo.common.join("objects"));
        let state = ctx.state()?;
        let in_clone = state.workers.values().filter(|worker| worker.adopted.is_none());
        let clone_branches = in_clone.map(|worker| worker.branch.clone()).collect();
        Ok(Own { git: ctx.repo.git_in_source(&source, &source, false)?, source, clone, clone_branches })
    }

    /// git that asks. In a dry run, which brings nothing over, it also reads what the clone alone has.
    fn cmd(&self) -> Cmd {
        let named = self.clone.as_deref().map(as_alternate).into_iter();
        named.fold(self.git.cmd(&self.source), |cmd, objects| cmd.var("GIT_ALTERNATE_OBJECT_DIRECTORIES", objects))
    }

    fn ask(&self, args: &[&str]) -> Result<String> {
        Ok(self.cmd().args(args.iter().copied()).capture()?.text())
    }

    /// The forge of the repository.
    pub fn forge(&self, ctx: &Context<'_>) -> Result<Forge> {
        Forge::find(ctx.env, &self.git, &self.source, None)
    }

    /// Where a branch is pushed to.
    pub fn remote(&self, branch: &str) -> Result<Remote> {
        self.remote_called(&self.push_names()?.of(branch))
    }

    fn remote_called(&self, name: &str) -> Result<Remote> {
        let urls = self.ask(&["remote", "get-url", "--push", "--all", "--", name])?;
        // An address has no name.
        let (push_urls, fetch_url) = match urls.is_empty() {
            true => (vec![name.to_owned()], name.to_owned()),
            false => (urls.lines().map(str::to_owned).collect(), self.ask(&["remote", "get-url", "--", name])?),
        };
        require_final(&self.git, &self.source, &fetch_url, false)?;
        let is_address = urls.is_empty();
        push_urls.iter().try_for_each(|url| require_final(&self.git, &self.source, url, is_address))?;
        Ok(Remote { name: name.to_owned(), push_urls, fetch_url })
    }

    fn push_names(&self) -> Result<PushNames> {
        let request = REQUEST.to_lowercase();
        let keys = format!("^(branch\\..*\\.(pushremote|{request}(head)?)|remote\\.pushdefault)$");
        let listed = self.cmd().args(["config", "-z", "--get-regexp", &keys]).capture()?;
        let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
        let settings = listed.split('\0').filter_map(|setting| setting.split_once('\n'));
        let mut names: BTreeMap<_, _> = settings.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        // Somebody's request can have a head of the same name. Its branch is another one, and may lead to a stranger's fork.
        for branch in &self.clone_branches {
            if names.contains_key(&format!("branch.{branch}.{request}")) {
                names.retain(|key, _| !key.starts_with(&format!("branch.{branch}.")));
            }
        }
        Ok(PushNames(names))
    }

    /// What each of these branches is called at the remote, where `shopfloor new` has given it another name here, and whose
    /// repository that is.
    pub fn named(&self, branches: &[String]) -> Result<Vec<Named>> {
        let (names, mut owners) = (self.push_names()?, BTreeMap::new());
        let mut all = Vec::new();
        for branch in branches {
            let remote = names.of(branch);
            if !owners.contains_key(&remote) {
                // One that cannot be used stands in nobody else's way.
                let place = self.remote_called(&remote).ok().and_then(|remote| Place::of(remote.push_urls.first()?));
                owners.insert(remote.clone(), place.map(|place| place.owner().to_owned()).unwrap_or_default());
            }
            let head = names.setting(branch, &REQUEST_HEAD.to_lowercase()).unwrap_or(branch).to_owned();
            all.push(Named { branch: branch.clone(), head, owner: owners[&remote].clone() });
        }
        Ok(all)
    }

    /// The same of one branch.
    pub fn named_one(&self, branch: &str) -> Result<Named> {
        let mut named = self.named(&[branch.to_owned()])?;
        named.pop().ok_or_else(|| Failure::failed("a branch has no name"))
    }

    /// The branches at a remote, with their commits.
    pub fn heads(&self, url: &str) -> Result<BTreeMap<String, String>> {
        let cmd = network(&self.git, &self.source)?.args(["ls-remote", "--heads", "--", url]);
        let said = answer("ls-remote", &cmd.capture()?).map_err(|failure| {
            let hint =
                format!("`git ls-remote {}` shows whether it can be reached", shell_word(shown_url(url).as_ref()));
            FORGE.failure(format!("cannot reach {}", shown_url(url))).because(failure).hint(hint)
        })?;
        let head = |line: &str| {
            let (sha, name) = line.split_once('\t')?;
            Some((name.strip_prefix("refs/heads/")?.to_owned(), sha.to_owned()))
        };
        Ok(said.lines().filter_map(head).collect())
    }

    /// What a push of `sha` takes along, for a person: the commits that none of these branches at the address of the push has,
    /// the newest first, with their messages and files. What a ref here says of the remote does not count, because an agent
    /// can write it.
    pub fn lacking(&self, sha: &str, heads: &BTreeMap<String, String>) -> Result<Vec<String>> {
        let asked: String = heads.values().map(|tip| format!("{tip}\n")).collect();
        let known = answer(
            "cat-file",
            &self.cmd().args(["cat-file", "--batch-check=%(objectname)"]).input(asked.into_bytes()).capture()?,
        )?;
        let known = known.lines().filter(|line| !line.contains(' ')).map(|tip| format!("^{tip}\n"));
        let input: String = std::iter::once(format!("{sha}\n")).chain(known).collect();
        let how = ["log", "--no-show-signature", "--no-notes", "--encoding=UTF-8", "--no-renames"];
        let plain =
            ["--diff-merges=first-parent", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=none"];
        let format = ["--format=commit %h %an <%ae>%n%w(0,2,2)%B", "--stdin"];
        let cmd = self.cmd().args(how).args(plain).args(WHOLE_STAT).args(format);
        let listed = answer("log", &cmd.input(input.into_bytes()).within(LOOK_LIMIT).capture()?)?;
        Ok(listed.lines().map(str::trim_end).filter(|line| !line.is_empty()).map(str::to_owned).collect())
    }

    /// Whether a commit is here.
    pub fn knows(&self, sha: &str) -> bool {
        self.cmd().args(["cat-file", "-e", sha]).capture().is_ok_and(|asked| asked.status.success())
    }

    /// Whether a commit is another one, or in its history.
    pub fn has(&self, sha: &str, older: &str) -> Result<bool> {
        let cmd = self.cmd().args(["merge-base", "--is-ancestor", older, sha]);
        Ok(sha == older || cmd.capture()?.status.success())
    }

    /// How many commits `sha` has that `base` lacks.
    pub fn count(&self, base: &str, sha: &str) -> Result<usize> {
        Ok(self.ask(&["rev-list", "--count", sha, "--not", base])?.parse().unwrap_or(usize::MAX))
    }

    /// The commits of `tip` that none of these have, for a person. These may be gone from here.
    pub fn beyond<'s>(&self, tip: &str, known: impl IntoIterator<Item = &'s String>) -> Result<Vec<String>> {
        let cmd = self.cmd().args(["log", "-n", "20", "--no-show-signature", "--format=%h %an: %s"]);
        Ok(cmd
            .args(["--ignore-missing", tip, "--not"])
            .args(known)
            .capture()?
            .text()
            .lines()
            .map(|line| format!("  {}", printable(line)))
            .collect())
    }
}

/// What would be pushed, and what is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    pub name: String,
    pub sha: String,
    /// The branch at the remote.
    pub branch: String,
    pub target: String,
    pub remote: Remote,
    /// The repository that is pushed to, and the one that gets the request.
    pub to: Place,
    pub into: Place,
    /// The branches of the repository that is pushed to.
    pub heads: BTreeMap<String, String>,
    /// Whether the work has the branch's commit there, and whether that one was pushed from here, the work began at it, or
    /// it was merged.
    pub is_forward: bool,
    pub is_known: bool,
    /// Commits there that the work lacks.
    pub others: Vec<String>,
    /// The request of the branch that is not of earlier work.
    pub request: Option<Request>,
}

impl Outgoing {
    pub fn read(ctx: &Context<'_>, own: &Own, forge: &Forge, worker: &Worker, sha: &str) -> Result<Outgoing> {
        let remote = own.remote(&worker.branch)?;
        let to = remote.push_urls.first().and_then(|url| Place::of(url)).ok_or_else(|| {
            FORGE
                .failure(format!("{} leads to no forge, so nothing can be pushed there", printable(&remote.name)))
                .hint(format!(
                    "name another: `git config {} REMOTE`",
                    shell_word(format!("branch.{}.pushRemote", worker.branch).as_ref())
                ))
        })?;
        let named = own.named_one(&worker.branch)?;
        let (branch, heads) = (named.head.clone(), own.heads(&remote.push_urls[0])?);
        // Else all that others have pushed meanwhile would look like what goes along.
        if heads.get(&ctx.repo.branch).is_some_and(|tip| !own.knows(tip)) && !ctx.is_dry {
            fetch(&own.git, &own.source, &remote.push_urls[0], &format!("refs/heads/{}", ctx.repo.branch))?;
        }
        let asked = Requests::ask_now(&ctx.root.path, forge, &named)?;
        let (mut is_forward, mut is_known, mut others) = (true, true, Vec::new());
        if let Some(tip) = heads.get(&branch) {
            is_forward = own.has(sha, tip)?;
            let began = worker.adopted.as_ref().map(|adopted| own.has(&adopted.began, tip)).transpose()?;
            is_known = worker.is_pushed(Some(tip)) || began == Some(true) || asked.was_merged(&branch, tip);
            // A dry run brings nothing here.
            if !is_forward && !is_known && !ctx.is_dry {
                fetch(&own.git, &own.source, &remote.push_urls[0], &format!("refs/heads/{branch}"))?;
                let seen = worker.pushed.iter().flat_map(|pushed| &pushed.tips);
                let began = worker.adopted.iter().map(|adopted| &adopted.began);
                others = own.beyond(tip, seen.chain(began).chain([&sha.to_owned()]))?;
            }
        }
        let request = asked.of(&worker.branch).cloned();
        let request = request.map(|request| Ok((own.is_of(worker, sha, &request)?, request))).transpose()?;
        let request = request.filter(|(is_its, _)| *is_its).map(|(_, request)| request);
        let (name, target) = (worker.name.clone(), ctx.repo.branch.clone());
        let (sha, into) = (sha.to_owned(), forge.place.clone());
        Ok(Outgoing { name, sha, branch, target, remote, to, into, heads, is_forward, is_known, others, request })
    }

    /// The commit of the branch at the remote.
    pub fn there(&self) -> Option<&String> {
        self.heads.get(&self.branch)
    }
}

impl Own {
    /// Whether a request is of this work, and not of earlier work on a branch of the same name.
    pub fn is_of(&self, worker: &Worker, sha: &str, request: &Request) -> Result<bool> {
        Ok(match request.state.as_str() {
            "open" => true,
            "closed" => worker.is_pushed(Some(&request.oid)) || self.has(&request.oid, sha)?,
            _ => !is_landed(worker, &request.oid) && self.has(&request.oid, sha)?,
        })
    }

    /// The requests without those that are over and of former workers, whose branches had the same names.
    pub fn without_former<'w>(
        &self,
        mut asked: Requests,
        workers: impl IntoIterator<Item = &'w Worker>,
    ) -> Result<Requests> {
        for worker in workers {
            let Some(request) = asked.of(&worker.branch).filter(|request| request.state != "open") else { continue };
            let is_its = worker.pushed.is_some() || is_landed(worker, &request.oid);
            let has_it = |sha: &String| self.has(&request.oid, sha);
            if !is_its && !worker.work.commit_sha.as_ref().map_or(Ok(false), has_it)? {
                asked.forget(&worker.branch);
            }
        }
        Ok(asked)
    }
}

/// Whether this commit of the worker's branch has landed as another one.
pub fn is_landed(worker: &Worker, oid: &str) -> bool {
    worker.adopted.as_ref().and_then(|adopted| adopted.landed.as_ref()).is_some_and(|landed| landed.tip == oid)
}
