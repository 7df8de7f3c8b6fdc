//! Asks the worker-ctl of a host over ssh.

use std::ffi::OsString;
use std::ops::Deref;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::proc::Output;
use shopfloor_core::ssh;
use shopfloor_core::text::printable;

use crate::failure;
use crate::hosts::{self, Host};
use crate::layout::TOOL;

pub use shopfloor_core::ssh::{LONG, SHORT, SOON};

/// Runs a program behind its version, by which it is known.
const VERSION_FIRST: &str = r#""$1" --version && exec "$@""#;

/// ssh to a host, from a root.
#[derive(Clone, Debug)]
pub struct Ssh<'a> {
    pub line: ssh::Ssh<'a>,
    pub root: &'a Path,
    pub host: &'a Host,
    /// Whether a failure is told as JSON.
    pub is_json: bool,
}

impl<'a> Deref for Ssh<'a> {
    type Target = ssh::Ssh<'a>;

    fn deref(&self) -> &ssh::Ssh<'a> {
        &self.line
    }
}

impl Ssh<'_> {
    /// The words of worker-ctl there, in its root.
    pub fn tool(&self, words: &[OsString]) -> Vec<OsString> {
        let first = [TOOL.into(), format!("--root={}", self.host.table.root).into()];
        first.into_iter().chain(words.iter().cloned()).collect()
    }

    /// The same, which first says which program it is: a text alone could be that of anything.
    pub fn known_tool(&self, words: &[OsString]) -> Vec<OsString> {
        let first = ["sh", "-c", VERSION_FIRST, "sh"].map(OsString::from);
        first.into_iter().chain(self.tool(words)).collect()
    }

    /// Runs a command there on this terminal. Exit 4 if the host does not answer, or has no such program.
    pub fn on_terminal(&self, words: &[OsString]) -> Result<Exit> {
        let status = self.line.on_terminal(words)?.foreground()?;
        match status.code() {
            127 => {
                let (program, host) = (words[0].display(), &self.host.name);
                Err(Failure::failed(format!("{program} is not on the PATH of {host}")).hint("install it there"))
            }
            255 => {
                // Why it does not answer went to the terminal. By now it may answer again.
                self.line.run(&["true".into()], Vec::new(), SOON)?;
                self.arrived(Output { status, stdout: Vec::new(), stderr: Vec::new() }).map(|_| Exit::Done)
            }
            _ => Ok(status.exit()),
        }
    }

    /// Runs a command there to its end.
    pub fn run(&self, words: &[OsString], input: Vec<u8>, limit: Duration) -> Result<Output> {
        self.greet(limit)?;
        self.line.run(words, input, limit)
    }

    /// Before a command that may take long, lets worker-ctl there say its version: one that hangs costs no more than that.
    /// Where this fails, nothing was done there.
    pub fn greet(&self, limit: Duration) -> Result<()> {
        if limit > SOON {
            self.line.run(&[TOOL.into(), "--version".into()], Vec::new(), SOON)?;
        }
        Ok(())
    }

    /// Asks worker-ctl there for one document. A failure there is one here, with the same words.
    pub fn ask(&self, words: &[&str], limit: Duration) -> Result<Value> {
        let words: Vec<OsString> = words.iter().copied().chain(["--json"]).map(OsString::from).collect();
        self.ask_with(&self.tool(&words), Vec::new(), limit)
    }

    /// The same of any command that answers so.
    pub fn ask_with(&self, words: &[OsString], input: Vec<u8>, limit: Duration) -> Result<Value> {
        let output = self.run(words, input, limit)?;
        let host = &self.host.name;
        let answers = output.stdout.split(|byte| *byte == b'\n');
        // A shell there may have said something first.
        let answer = answers.filter_map(|line| serde_json::from_slice::<Value>(line).ok()).find(Value::is_object);
        if let Some(error) = answer.as_ref().and_then(|answer| answer.get("error")) {
            let known = hosts::LastSaid::load(self.root, host).names();
            let here = |line: &str| self.host.renamed(&printable(line), &[], &known);
            let text = |value: &Value| value.as_str().unwrap_or_default().lines().map(here).collect::<Vec<_>>();
            let lines = text(&error["message"]);
            let said = lines.first().map_or("failed", String::as_str);
            // The name of a worker says where already.
            let prefix = if said.starts_with(&format!("{host}:")) { String::new() } else { format!("{host}: ") };
            let message = prefix + said;
            let failed = failure::there(output.status.code(), message).details(lines.into_iter().skip(1));
            // No command to run comes from a host: what it proposes are its words.
            let hints = error["hints"].as_array().into_iter().flatten().flat_map(text);
            return Err(match self.is_json {
                true => hints.fold(failed, |failed, hint| failed.hint(format!("{host}: {hint}"))),
                false => failed.details(hints.map(|hint| format!("{host}: hint: {hint}"))),
            });
        }
        match answer.filter(|_| output.status.code() <= 1) {
            Some(answer) if answer["v"] != 1 => {
                Err(failure::there(4, format!("{host}: worker-ctl there answers in a form that is not known here"))
                    .hint("install the same version of the tools on both machines"))
            }
            Some(answer) => Ok(answer),
            None => Err(no_answer(host, &output)),
        }
    }
}

/// The failure for what is no answer of worker-ctl there, with the first lines that it said.
pub fn no_answer(host: &str, output: &Output) -> Failure {
    let said = String::from_utf8_lossy(&output.stderr);
    failure::there(4, format!("{host}: worker-ctl there gave no answer ({})", output.status))
        .details(said.lines().take(20).map(|line| format!("  {}", printable(line))))
}

/// The version that a line names.
fn version(line: &[u8]) -> Option<&[u8]> {
    let version = line.strip_prefix(TOOL.as_bytes())?.strip_prefix(b" ")?.trim_ascii_end();
    version.first().is_some_and(u8::is_ascii_digit).then_some(version)
}

/// That worker-ctl there is of another version, if it has said so.
pub fn other_version(host: &str, said: &[u8]) -> Option<String> {
    let (own, there) = (env!("CARGO_PKG_VERSION"), said.split(|byte| *byte == b'\n').find_map(version)?);
    let there = printable(&String::from_utf8_lossy(there));
    (there != own).then(|| format!("{host} has worker-ctl {there}, and here it is {own}"))
}

/// What worker-ctl has said behind the line with its version; none if something else has answered.
pub fn behind_version(said: &[u8]) -> Option<&[u8]> {
    // A shell there may say something first.
    let mut lines = said.split_inclusive(|byte| *byte == b'\n').scan(0_usize, |end, line| {
        *end += line.len();
        Some((line, *end))
    });
    lines.find(|(line, _)| version(line).is_some()).map(|(_, end)| &said[end..])
}
