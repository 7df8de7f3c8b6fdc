//! The message with which work lands, who wrote it, and what a review shows above its diff.

use std::collections::HashSet;

use shopfloor_core::diff::WHOLE_STAT;
use shopfloor_core::error::Result;
use shopfloor_core::git::{LOOK_LIMIT, answer};

use crate::context::Context;
use crate::failure;
use crate::hosts;
use crate::program_config::regex;
use crate::work_identity::NO_ATTRIBUTES;
use crate::work_repo::WorkRepo;
use crate::worker::Worker;

/// Who wrote some work and when, and the message with which it lands.
pub struct Authored {
    /// Name, address and date of the first commit.
    pub author: Vec<String>,
    pub message: String,
}

/// Reads the messages of the work on `sha`, which begins at `base`.
pub fn authored(ctx: &Context<'_>, worker: &Worker, base: &str, sha: &str) -> Result<Authored> {
    let commits = commits(&ctx.repo, &ctx.repo.range(base, sha))?;
    let messages: Vec<(String, String)> =
        commits.iter().map(|[_, name, address, _, text]| (format!("{name} <{address}>"), text.clone())).collect();
    let strip = match ctx.root.agent_of(worker) {
        // What a host calls its agents need not be known here.
        Err(_) if hosts::split(&worker.name).is_some() => Vec::new(),
        agent => agent?.strip,
    };
    let strip = strip.iter().map(|pattern| regex(pattern)).collect::<Result<Vec<_>>>()?;
    let text = squash_messages(&messages, &|line| strip.iter().any(|pattern| pattern.is_match(line)));
    let prompt = worker.work.prompt.as_deref().and_then(|prompt| prompt.lines().next()).unwrap_or_default();
    let text = text.trim();
    let message = if text.is_empty() { format!("worker {}: {prompt}", worker.name) } else { text.to_owned() };
    let author = commits.first().map(|[_, author @ .., _]| author.to_vec()).unwrap_or_default();
    Ok(Authored { author, message })
}

/// These commits, the oldest first: each one's id, its author's name, address and date, and its message. Exit 1 for one
/// whose text is another, or none, in the encoding that it names: others than git read it as it is.
pub fn commits(repo: &WorkRepo, range: &[String]) -> Result<Vec<[String; 5]>> {
    let listed = repo.log(&["--reverse", "--format=%e%x00%H%x00%an%x00%ae%x00%aI%x00%B%x00"], range)?;
    // Between commits there is a line end.
    let fields: Vec<&str> = listed.split('\0').map(|field| field.strip_prefix('\n').unwrap_or(field)).collect();
    let mut found = Vec::new();
    for (encoding, commit) in fields.chunks_exact(6).filter_map(|fields| fields.split_first()) {
        let Ok(commit @ [id, author, _, _, text]) = <[&str; 5]>::try_from(commit) else { continue };
        let is_another = |raw: &str| raw.is_ascii() && !(raw.contains(author) && raw.contains(text.trim_end()));
        if author.is_empty() || !encoding.is_empty() && is_another(&repo.ask(&repo.top, &["cat-file", "commit", id])?) {
            return Err(failure::WRONG_STATE
                .failure(format!("git reads another text than others do in the commit {id}"))
                .hint(format!(
                    "ask for it to be made anew: `git -c i18n.commitEncoding=UTF-8 rebase --exec 'git commit --amend \
                     --no-edit --reset-author' {id}^`"
                )));
        }
        found.push(commit.map(str::to_owned));
    }
    Ok(found)
}

/// Joins the messages of several authors into one: the oldest message, the subjects of the others, and everybody's
/// trailers, without the lines that an agent signs with. Each other author is named.
fn squash_messages(messages: &[(String, String)], is_stripped: &dyn Fn(&str) -> bool) -> String {
    let mut parts: Vec<String> = Vec::new();
    let (mut subjects, mut trailers) = (Vec::<(String, String)>::new(), Vec::new());
    // The subject of the oldest commit, by which a later one amends it.
    let mut first = String::new();
    for (author, text) in messages {
        let text = text.lines().filter(|line| !is_stripped(line)).collect::<Vec<_>>().join("\n");
        // Its body is the message that another one has from then on.
        let amended = text.strip_prefix("amend! ").filter(|_| !parts.is_empty()).map(|rest| {
            let (of, new) = rest.split_once('\n').unwrap_or((rest, ""));
            (of.trim().to_owned(), new.trim().to_owned())
        });
        let text = amended.as_ref().map_or(text.as_str(), |(_, new)| new);
        let (body, own) = match text.trim().rsplit_once("\n\n") {
            Some((body, last)) if are_trailers(last) => (body, last),
            _ => (text.trim(), ""),
        };
        for line in own.lines() {
            match trailers.last_mut() {
                Some(last) if line.starts_with(' ') => *last = format!("{last}\n{line}"),
                _ => trailers.push(line.to_owned()),
            }
        }
        let subject = body.lines().next().unwrap_or_default();
        match (parts.is_empty(), &amended) {
            (_, Some(_)) if body.is_empty() => {}
            (_, Some((of, _))) if *of == first => parts[0] = body.trim_end().to_owned(),
            (_, Some((of, _))) => {
                let named = subjects.iter_mut().find(|(known, _)| known == of);
                named.into_iter().for_each(|(_, shown)| *shown = format!("- {subject}"));
            }
            (true, None) => {
                first = subject.to_owned();
                parts.push(body.trim_end().to_owned());
            }
            // It only corrects what another one says.
            (false, None) if ["fixup! ", "squash! "].iter().any(|word| subject.starts_with(word)) => {}
            (false, None) if subject.is_empty() => {}
            (false, None) => subjects.push((subject.to_owned(), format!("- {subject}"))),
        }
        let other = format!("Co-authored-by: {author}");
        trailers.extend(Some(other).filter(|other| *author != messages[0].0 && !is_stripped(other)));
    }
    let mut seen = HashSet::new();
    trailers.retain(|line| seen.insert(line.clone()));
    let subjects: Vec<String> = subjects.into_iter().map(|(_, shown)| shown).collect();
    parts.extend([subjects.join("\n"), trailers.join("\n")]);
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
}

/// Whether a paragraph has only trailers of git's and footers of conventional commits. One may go on in lines that begin
/// with a blank.
fn are_trailers(paragraph: &str) -> bool {
    let is_key = |key: &str| !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    let is_trailer = |line: &str| {
        let named = line.split_once(": ").or(line.split_once(" #"));
        named.is_some_and(|(key, _)| is_key(key) || key == "BREAKING CHANGE")
    };
    let mut lines = paragraph.lines();
    lines.next().is_some_and(is_trailer) && lines.all(|line| line.starts_with(' ') || is_trailer(line))
}

/// What a person reads above the diff.
pub struct Summary {
    /// Name and address of whoever wrote the first commit.
    pub author: String,
    pub message: String,
    /// The files and how many lines changed in each.
    pub stat: String,
    /// What has changed since the commit that was reviewed before, if that is another one and still there.
    pub since: Option<String>,
}

/// Reads it for the work from `base` to `sha`. `shown` is the commit that was reviewed before, with its base.
pub fn summary(
    ctx: &Context<'_>,
    worker: &Worker,
    base: &str,
    sha: &str,
    shown: Option<(&str, &str)>,
) -> Result<Summary> {
    let how = ["diff", "--no-color", "--no-textconv", "--no-ext-diff", "--ignore-submodules=none"];
    let stat = ctx.repo.run(&ctx.repo.top, &[&NO_ATTRIBUTES[..], &how, &WHOLE_STAT, &[base, sha]].concat())?;
    let stat = answer("diff", &stat)?;
    let since = |(before, shown): (&str, &str)| -> Result<Option<String>> {
        // What is its parent's is nothing new.
        let own = ctx.repo.begin_of(worker, sha).unwrap_or_else(|_| base.to_owned());
        let ranges = [format!("{before}..{shown}"), format!("{own}..{sha}")];
        // It knows no option against a person's programs for attributes.
        let cmd = ctx.repo.cmd(&ctx.repo.top)?.args(NO_ATTRIBUTES).arg("range-diff");
        // Of many commits it compares each with each.
        let Ok(compared) =
            cmd.args(["--no-color", "--no-notes", "--creation-factor=999"]).args(ranges).within(LOOK_LIMIT).capture()
        else {
            return Ok(None);
        };
        let text = String::from_utf8_lossy(&compared.stdout).into_owned();
        Ok(Some(text).filter(|text| compared.status.success() && !text.is_empty()))
    };
    let since = shown.filter(|(_, shown)| *shown != sha).map(since).transpose()?.flatten();
    let Authored { author, message } = authored(ctx, worker, base, sha)?;
    let author = match &author[..] {
        [name, address, ..] => format!("{name} <{address}>"),
        _ => String::new(),
    };
    Ok(Summary { author, message, stat, since })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_messages_become_one() {
        let is_stripped = |line: &str| line.starts_with("Co-authored-by: bot");
        let one = |texts: &[&str]| {
            let by_ada = |text: &&str| ("Ada <a@x>".to_owned(), (*text).to_owned());
            squash_messages(&texts.iter().map(by_ada).collect::<Vec<_>>(), &is_stripped)
        };
        assert_eq!(
            one(&["Add a\n\nWhy.\n\nCo-authored-by: bot <b@x>\nSigned-off-by: A <a@x>\n"]),
            "Add a\n\nWhy.\n\nSigned-off-by: A <a@x>"
        );
        assert_eq!(
            one(&["Add a\n\nSigned-off-by: A <a@x>", "Fix a\n\nmore\n\nSigned-off-by: B <b@x>", "Test a"]),
            "Add a\n\n- Fix a\n- Test a\n\nSigned-off-by: A <a@x>\nSigned-off-by: B <b@x>"
        );
        assert_eq!(one(&["Co-authored-by: bot <b@x>"]), "");
        assert_eq!(
            one(&["Add a", "Fix b\n\nwhy\n\nBREAKING CHANGE: it\n  goes on\nCloses: #45", "fixup! Add a\n\nRefs #7"]),
            "Add a\n\n- Fix b\n\nBREAKING CHANGE: it\n  goes on\nCloses: #45\nRefs #7"
        );
        assert_eq!(
            one(&[
                "Add a",
                "Fix b",
                "amend! Add a\n\nfeat: renamed",
                "amend! Fix b\n\nMend c",
                "amend! Fix b\n\nMend b\n\nwhy"
            ]),
            "feat: renamed\n\n- Mend b"
        );
        let two = [("A <a@x>", "Add a"), ("B <b@x>", "Fix a"), ("bot <b@x>", "Test a"), ("B <b@x>", "squash! Add a")];
        let two = two.map(|(author, text)| (author.to_owned(), text.to_owned()));
        assert_eq!(squash_messages(&two, &is_stripped), "Add a\n\n- Fix a\n- Test a\n\nCo-authored-by: B <b@x>");
    }
}
