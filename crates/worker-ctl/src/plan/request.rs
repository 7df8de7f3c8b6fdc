//! Decides how work is pushed, and whether a request is made for it.

use shopfloor_core::error::Result;
use shopfloor_core::forge::{FORGE, shown_url};
use shopfloor_core::text::{printable, shell_word};

use crate::facts::request::{Outgoing, Remote};
use crate::failure;

/// What is done with the branch at the remote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Push {
    /// It has the commit already.
    Nothing,
    /// It is made, or goes on to the commit.
    Forward,
    /// This commit of ours is replaced.
    Replace(String),
}

/// The address that a remote pushes to. Exit 1 if there are several.
pub fn require_one_place(remote: &Remote) -> Result<&str> {
    match &remote.push_urls[..] {
        [url] => Ok(url),
        urls => Err(FORGE
            .failure(format!("a push to {} goes to several places", printable(&remote.name)))
            .details(urls.iter().map(|url| format!("  {}", shown_url(url))))
            .hint("name a remote with one address: `git config remote.pushDefault NAME`")),
    }
}

/// Refuses what would overwrite or mislead somebody. Exit 1.
pub fn request(facts: &Outgoing) -> Result<Push> {
    let Outgoing { name, sha, branch, target, remote, to, into, is_forward, is_known, others, request, .. } = facts;
    let shown = printable(&remote.name);
    require_one_place(remote)?;
    if branch == target && to == into {
        return Err(FORGE
            .failure(format!("{name} works on {target}, which its work is to land on"))
            .hint("put the work on a branch of its own"));
    }
    match request.as_ref().map(|request| (request.state.as_str(), request)) {
        Some(("merged", request)) => {
            return Err(FORGE
                .failure(format!("request {} of {name} was merged", request.number))
                .hint(format!("take that in: `worker-ctl accept {name}`")));
        }
        Some(("closed", request)) => {
            return Err(FORGE
                .failure(format!("request {} of {name} was closed", request.number))
                .hint(format!("reopen it, at {}, then run the same command again", printable(&request.url))));
        }
        _ => {}
    }
    if to == into && !facts.heads.contains_key(target) {
        return Err(FORGE
            .failure(format!("there is no branch {target} at {shown}, where the work of {name} is to go"))
            .hint(format!(
                "push it first: `git push {} {}`",
                shell_word(remote.name.as_ref()),
                shell_word(target.as_ref())
            )));
    }
    match facts.there() {
        Some(tip) if tip == sha => Ok(Push::Nothing),
        Some(tip) if !is_forward && *is_known => Ok(Push::Replace(tip.clone())),
        Some(_) if !is_forward => {
            let fetch = format!("git fetch {} {}", shell_word(remote.name.as_ref()), shell_word(branch.as_ref()));
            Err(failure::PUSHED
                .failure(format!("{branch} at {shown} has commits that {name} never saw"))
                .details(others.clone())
                .hint(format!("look at them: `{fetch}`, and ask {name} to merge them")))
        }
        _ => Ok(Push::Forward),
    }
}

#[cfg(test)]
mod tests {
    use shopfloor_core::forge::{Place, Request};

    use super::*;

    fn facts() -> Outgoing {
        let place = Place { host: "github.com".into(), path: "o/r".into() };
        let remote = Remote { name: "origin".into(), push_urls: vec!["u".into()], fetch_url: "u".into() };
        let [name, sha, branch, target] = ["adam", "2", "b", "main"].map(str::to_owned);
        let (to, into) = (place.clone(), place);
        let (is_forward, is_known) = (true, true);
        let heads = [("main".to_owned(), "0".to_owned())].into();
        Outgoing {
            name,
            sha,
            branch,
            target,
            remote,
            to,
            into,
            heads,
            is_forward,
            is_known,
            others: vec![],
            request: None,
        }
    }

    #[test]
    fn nothing_that_others_pushed_is_replaced() {
        let decide = |there: Option<&str>, is_forward, is_known| {
            let mut heads = facts().heads;
            heads.extend(there.map(|tip| ("b".to_owned(), tip.to_owned())));
            request(&Outgoing { heads, is_forward, is_known, ..facts() }).map_err(|f| f.kind)
        };
        assert_eq!(decide(None, true, true), Ok(Push::Forward));
        assert_eq!(decide(Some("2"), true, true), Ok(Push::Nothing));
        assert_eq!(decide(Some("1"), true, false), Ok(Push::Forward));
        assert_eq!(decide(Some("1"), false, true), Ok(Push::Replace("1".into())));
        assert_eq!(decide(Some("1"), false, false), Err("pushed"));
    }

    #[test]
    fn what_is_over_or_leads_to_several_places_is_refused() {
        let with = |state: &str| Some(Request { state: state.into(), ..Request::default() });
        let kinds =
            ["open", "closed", "merged"].map(|state| request(&Outgoing { request: with(state), ..facts() }).is_ok());
        assert_eq!(kinds, [true, false, false]);
        let mut several = facts();
        several.remote.push_urls.push("v".into());
        assert!(request(&several).is_err() && request(&Outgoing { branch: "main".into(), ..facts() }).is_err());
    }
}
