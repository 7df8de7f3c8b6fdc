//! The texts that workers get.

use std::path::Path;

use shopfloor_core::text::{printable, shell_word};

use crate::facts::conflicts::ConflictedFile;

/// A task, after a preamble about where and how to work. `validate` is a command to run before each commit, `role` is
/// the worker's `role_prompt`. In a sandbox stashes are the worker's own.
pub fn task(
    (worktree, is_contained): (&str, bool),
    source: &Path,
    validate: Option<&str>,
    role: &str,
    prompt: &str,
) -> String {
    let mut lines = vec![
        format!("You are working in the git worktree {worktree} of the repository {}.", source.display()),
        "Follow the conventions in AGENTS.md where there is one.".to_owned(),
    ];
    if let Some(validate) = validate {
        lines.push(format!("Before you commit, run `{validate}` and fix what fails."));
    }
    lines.push("Make a single commit of your work when you are done. Do not push.".to_owned());
    if !is_contained {
        lines.push("Do not use `git stash`: all workers share its list. Make a commit instead.".to_owned());
    }
    if !role.trim().is_empty() {
        lines.push(role.trim_end().to_owned());
    }
    format!("{}\n\n{prompt}", lines.join("\n"))
}

/// How many characters of the diff go into a rejection.
const MAX_DIFF: usize = 20_000;

/// The changes that a person wants, with the diff that was reviewed.
pub fn rejection(message: &str, diff: &str) -> String {
    let shown: String = diff.chars().take(MAX_DIFF).collect();
    format!("{} This is what was reviewed:\n\n{shown}", changes(message))
}

/// The changes that a person wants, for a program that has the work on its branch.
pub fn changes(message: &str) -> String {
    format!("Your work was reviewed and needs changes:\n\n{message}\n\nAmend your commit.")
}

/// Tells a worker that the check of its work failed, with the end of the check's output.
pub fn failed_check(lines: &str, log: &Path) -> String {
    format!(
        "The check of your work failed. The end of its output, which is in {}:\n\n{lines}\n\nFix what fails, and amend your commit.",
        log.display()
    )
}

/// Asks a worker whose branch others have too to merge the branch that its work lands on, with which these files conflict.
pub fn merge(branch: &str, files: &[String]) -> String {
    let files: String = files.iter().map(|file| format!("  {}\n", printable(file))).collect();
    format!(
        "Your work conflicts with {branch} as it is now, in these files:\n\n{files}\nOthers have your branch too, so do \
         not rebase it and do not amend its commits. Run `git merge {}`, decide on the content of each file, since \
         both sides were intended, and commit the merge. Do not push.",
        shell_word(branch.as_ref())
    )
}

/// Asks a worker in a sandbox to rebase its work, which conflicts in these files.
pub fn rebase(branch: &str, validate: Option<&str>, files: &[String]) -> String {
    let files: String = files.iter().map(|file| format!("  {}\n", printable(file))).collect();
    let validate = validate.map(|validate| format!(" Then run `{validate}`, and fix what fails.")).unwrap_or_default();
    format!(
        "Your work conflicts with {branch} as it is now, in these files:\n\n{files}\nRun `git rebase {}`, decide on the \
         content of each file, since both sides were intended, `git add` it, and run `GIT_EDITOR=true git rebase --continue` \
         until the rebase is over.{validate} Do not push.",
        shell_word(branch.as_ref())
    )
}

/// Explains conflicts to a worker: the reason, the files, which side is which, and what to do.
pub fn conflicts(branch: &str, validate: Option<&str>, files: &[ConflictedFile]) -> String {
    let count = match files.len() {
        1 => "1 file has".to_owned(),
        n => format!("{n} files have"),
    };
    let mut text = format!(
        "Your work conflicts with {branch} as it is now. A rebase of your work onto {branch} is under way in your worktree, and {count} conflicts:\n\n"
    );
    for file in files {
        let markers = match file.markers {
            0 => String::new(),
            1 => ", in 1 place".to_owned(),
            n => format!(", in {n} places"),
        };
        text.push_str(&format!("  {} ({}{markers})\n", printable(&file.path), file.kind));
    }
    for file in files.iter().filter(|file| !file.regions.is_empty()) {
        text.push_str(&format!("\n{}:\n{}\n", printable(&file.path), file.regions));
    }
    text.push_str(&format!(
        "\nIn a rebase the sides are swapped: `git show :2:FILE` and the text between <<<<<<< and ======= are {branch}'s; \
         `git show :3:FILE` and the text between ======= and >>>>>>> are yours.\n\n\
         1. Look at each file and decide on its content. Both sides were intended.\n\
         2. Remove the markers, and `git add` the file (or `git rm` it).\n\
         3. Run `GIT_EDITOR=true git rebase --continue`. Repeat these steps if another commit conflicts.\n"
    ));
    if files.iter().any(|file| file.markers == 0) {
        text.push_str(&format!(
            "A file without markers, as a link or a submodule, is chosen whole: `git checkout --theirs FILE` is yours, \
             `--ours` {branch}'s.\n"
        ));
    }
    if let Some(validate) = validate {
        text.push_str(&format!("4. Run `{validate}`, and fix what fails.\n"));
    }
    text.push_str("\nTo give up: `git rebase --abort`. Do not push.");
    text
}
