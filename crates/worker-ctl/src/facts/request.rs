//! What is known before work is pushed: where to, what lies there, and which request there is.

use std::path::PathBuf;

use shopfloor_core::error::Result;
use shopfloor_core::forge::{FORGE, Forge, Place, Request, fetch};
use shopfloor_core::git::{Git, answer};
use shopfloor_core::text::{printable, shell_word};

use crate::context::Context;
use crate::requests::Requests;
use crate::worker::Worker;

/// A remote of the person's repository, as git is told it: a name or an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote {
    pub name: String,
    /// Where a push goes, and from where a fetch comes.
    pub push_urls: Vec<String>,
    pub fetch_url: String,
}

/// git in the person's own checkout, by their own configuration.
pub struct Own {
    pub git: Git,
    pub source: PathBuf,
}

impl Own {
    pub fn of(ctx: &Context<'_>) -> Result<Own> {
        let source = ctx.source();
        Ok(Own { git: ctx.repo.git_in_source(&source, &source, false)?, source })
    }

    fn ask(&self, args: &[&str]) -> Result<String> {
        Ok(self.git.cmd(&self.source).args(args.iter().copied()).capture()?.text())
    }

    /// The forge of the repository.
    pub fn forge(&self, ctx: &Context<'_>) -> Result<Forge> {
        Forge::find(ctx.env, &self.git, &self.source, None)
    }

    /// Where a branch is pushed to.
    pub fn remote(&self, branch: &str) -> Result<Remote> {
        let keys = [format!("branch.{branch}.pushRemote"), "remote.pushDefault".to_owned()];
        let mut name = "origin".to_owned();
        for key in keys.iter().rev() {
            let value = self.ask(&["config", "--get", key])?;
            name = if value.is_empty() { name } else { value };
        }
        let urls = self.ask(&["remote", "get-url", "--push", "--all", "--", &name])?;
        // An address has no name.
        let (push_urls, fetch_url) = match urls.is_empty() {
            true => (vec![name.clone()], name.clone()),
            false => (urls.lines().map(str::to_owned).collect(), self.ask(&["remote", "get-url", "--", &name])?),
        };
        Ok(Remote { name, push_urls, fetch_url })
    }

    /// Whose repository a branch is pushed to, if that is on a forge.
    pub fn owner(&self, branch: &str) -> Result<String> {
        let place = self.remote(branch)?.push_urls.first().and_then(|url| Place::of(url));
        Ok(place.map(|place| place.owner().to_owned()).unwrap_or_default())
    }

    /// The commit of a branch at a remote.
    pub fn tip_at(&self, remote: &str, branch: &str) -> Result<Option<String>> {
        let name = format!("refs/heads/{branch}");
        let cmd = self.git.fetching(&self.source).args(["ls-remote", "--", remote, &name]);
        let said = answer("ls-remote", &cmd.capture()?).map_err(|failure| {
            let hint = format!("`git ls-remote {}` shows whether it can be reached", shell_word(remote.as_ref()));
            FORGE.failure(format!("cannot reach {}", printable(remote))).because(failure).hint(hint)
        })?;
        Ok(said.split_once('\t').map(|(sha, _)| sha.to_owned()))
    }

    /// Whether a commit is another one, or in its history.
    pub fn has(&self, sha: &str, older: &str) -> Result<bool> {
        let cmd = self.git.cmd(&self.source).args(["merge-base", "--is-ancestor", older, sha]);
        Ok(sha == older || cmd.capture()?.status.success())
    }

    /// How many commits `sha` has that `base` lacks.
    pub fn count(&self, base: &str, sha: &str) -> Result<usize> {
        Ok(self.ask(&["rev-list", "--count", sha, "--not", base])?.parse().unwrap_or(usize::MAX))
    }

    /// The commits of `tip` that `sha` lacks, for a person.
    pub fn beyond(&self, tip: &str, sha: &str) -> Result<Vec<String>> {
        let cmd = self.git.cmd(&self.source).args(["log", "-n", "20", "--no-show-signature", "--format=%h %an: %s"]);
        Ok(cmd
            .args([tip, "--not", sha])
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
    pub branch: String,
    pub target: String,
    pub remote: Remote,
    /// The repository that is pushed to, and the one that gets the request.
    pub to: Place,
    pub into: Place,
    /// The commit of the branch there, whether the work has it, and whether it was pushed from here or the work began at it.
    pub there: Option<String>,
    pub is_forward: bool,
    pub is_known: bool,
    /// Commits there that the work lacks.
    pub others: Vec<String>,
    /// The request of the branch that is not of earlier work.
    pub request: Option<Request>,
}

impl Outgoing {
    pub fn read(ctx: &Context<'_>, own: &Own, forge: &Forge, worker: &Worker, sha: &str) -> Result<Outgoing> {
        let branch = worker.branch.clone();
        let remote = own.remote(&branch)?;
        let to = remote.push_urls.first().and_then(|url| Place::of(url)).ok_or_else(|| {
            FORGE
                .failure(format!("{} leads to no forge", printable(&remote.name)))
                .hint("name the remote: `git config remote.pushDefault NAME`")
        })?;
        let there = own.tip_at(&remote.push_urls[0], &branch)?;
        let (mut is_forward, mut is_known, mut others) = (true, true, Vec::new());
        if let Some(tip) = &there {
            is_forward = own.has(sha, tip)?;
            let began = worker.adopted.as_ref().map(|adopted| &adopted.began);
            is_known = worker.pushed.as_ref() == Some(tip) || began == Some(tip);
            // A dry run brings nothing here.
            if !is_forward && !is_known && !ctx.is_dry {
                fetch(&own.git, &own.source, &remote.push_urls[0], &format!("refs/heads/{branch}"))?;
                others = own.beyond(tip, sha)?;
            }
        }
        let asked = Requests::ask((&ctx.root.path, ctx.now(), true), forge, std::slice::from_ref(&branch), &|_| {
            Ok(to.owner().to_owned())
        })?;
        // One that is over and whose commits the work goes on from is of earlier work.
        let is_now = |request: &&Request| {
            Ok(request.state == "open"
                || request.oid == sha
                || !own.has(sha, &request.oid)? && own.has(&request.oid, sha)?)
        };
        let request = asked.of(&branch).map(|request| Ok((is_now(&request)?, request))).transpose()?;
        let request = request.filter(|(is_now, _)| *is_now).map(|(_, request): (bool, &Request)| request.clone());
        let (name, target) = (worker.name.clone(), ctx.repo.branch.clone());
        let (sha, into) = (sha.to_owned(), forge.place.clone());
        Ok(Outgoing { name, sha, branch, target, remote, to, into, there, is_forward, is_known, others, request })
    }
}
