//! A command about a host's workers is the host's own command: the same words are said there, and its answer is passed on.
//! Texts and files are read here and go over stdin.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::time::{Duration, Instant};

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::Value;
use shopfloor_core::args::flag_duration;
use shopfloor_core::error::{Exit, Failure, Result};
use shopfloor_core::hash::Digest;
use shopfloor_core::lock::Lock;
use shopfloor_core::proc::Output;
use shopfloor_core::ssh::UNREACHABLE;
use shopfloor_core::text::{printable, printable_lines};

use crate::apply::host_status::{self, named};
use crate::apply::host_work::{self, name_of, ssh_to};
use crate::commands::bytes_of;
use crate::commands::wait::too_late;
use crate::context::Context;
use crate::hosts::{self, Host, HostWork, LastSaid};
use crate::names::{checked_name, new_name};
use crate::ssh;

/// The commands about a host's work: those that depend on no work of ours, those that begin work on its default branch, and
/// others.
const LOOKING: &str = "status clashes cost login answer attach peek wait doctor events queue";
const BEGINNING: &str = "add up resume start rebase reset";
const OTHERS: &str = "down check message reject comment patrol nuke review accept";

fn is_one(command: &str, of: &[&str]) -> bool {
    of.iter().flat_map(|all| all.split(' ')).any(|one| one == command)
}

/// What this machine has to say of where and how, and not the host.
const OURS: [&str; 5] = ["root", "host", "dirs", "color", "source"];

/// Those that say what they did, with the name behind it.
const SAYS_VERB: &str = "up down resume reset nuke rebase";

/// Those whose answer is a list, which may be empty.
const LISTS: &str = "clashes cost queue events doctor nuke reset up";

/// Those whose answer begins with a worker's name, or is that of a person's own.
const NAMES: &str = "status start message reject check rebase";

/// How long one question of `wait` lasts, so that a cut line costs no more than that.
const SLICE: Duration = Duration::from_secs(20);

/// A command line for a host.
pub struct Line {
    pub host: Host,
    command: String,
    words: Vec<OsString>,
    /// The workers, as the host calls them.
    pub workers: Vec<String>,
    /// Those that the host said last that it has.
    known: Vec<String>,
    input: Vec<u8>,
    /// The file that this is.
    file: Option<String>,
    matches: ArgMatches,
}

/// What stands for a file with one text.
const ONE_TASK: &str = "--task=-";

/// What an argument is, in the order in which they are read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Worker,
    File,
    Text,
    Word,
}

fn part(command: &str, id: &str, matches: &ArgMatches) -> Part {
    let has = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
    match (command, id) {
        ("start", "worker" | "files") if has("queue") => Part::File,
        ("start", "task_file") | ("reject", "comments") => Part::File,
        ("message", "message") | ("start", "task") | ("reject", "second") | ("comment", "text") => Part::Text,
        ("reject", "first") if has("second") || has("comments") || has("edit") || has("from_request") => Part::Worker,
        ("reject", "first") => Part::Text,
        ("start", "resume") | (_, "worker" | "workers" | "names" | "name" | "named_worker") => Part::Worker,
        _ => Part::Word,
    }
}

impl Line {
    /// Reads the command line of this process. None if it names no host. Exit 2 for workers of several machines.
    pub fn read(ctx: &Context<'_>, mut command: Command, named: Option<&str>) -> Result<Option<Line>> {
        command.build();
        let matches = command.clone().try_get_matches_from(&ctx.env.args);
        let matches = matches.map_err(|e| Failure::usage(e.to_string()))?;
        let Some((name, of_command)) = matches.subcommand() else { return Ok(None) };
        let Some(found) = command.find_subcommand(name) else { return Ok(None) };
        let on = |host: Option<&str>| Reading {
            host: host.map(str::to_owned),
            is_named: host.is_some(),
            ..Reading::default()
        };
        let mut reading = on(named);
        reading.command(ctx, (name, found), of_command)?;
        if reading.host.is_none() && reading.workers.is_empty() && ["reject", "accept"].contains(&name) {
            let state = ctx.state()?;
            let Some((host, worker)) = state.last_reviewed.as_deref().and_then(hosts::split) else { return Ok(None) };
            if name == "reject" {
                state.meant_by_text()?;
            }
            reading = on(Some(host));
            reading.command(ctx, (name, found), of_command)?;
            reading.workers = vec![worker.to_owned()];
            let place = reading.words.iter().position(|word| word == "--").map_or(reading.words.len(), |at| at + 1);
            reading.words.insert(place, worker.into());
        }
        let Some(host) = reading.host else { return Ok(None) };
        let host = ctx.root.host(&host)?;
        if !is_one(name, &[LOOKING, BEGINNING, OTHERS]) {
            return Err(Failure::usage(format!("`{name}` is not for a host"))
                .hint("log in there and run it; of the workers here, it takes the names alone"));
        }
        let Reading { words, workers, input, file, .. } = reading;
        let (matches, input) = (of_command.clone(), input.unwrap_or_default());
        let known = LastSaid::load(&ctx.root.path, &host.name).names();
        Ok(Some(Line { host, command: name.into(), words, workers, known, input, file, matches }))
    }

    fn has(&self, id: &str) -> bool {
        self.matches.try_get_one::<bool>(id).ok().flatten().copied().unwrap_or(false)
    }

    /// The one worker that it names.
    pub fn worker(&self) -> Result<&str> {
        match &self.workers[..] {
            [one] => Ok(one),
            _ => Err(Failure::usage(format!("name one worker of {}", self.host.name))
                .hint("`worker-ctl status` lists those of all machines")),
        }
    }

    /// Runs the command on the host.
    pub fn run(mut self, ctx: &Context<'_>) -> Result<Exit> {
        let refuse =
            |what: &str| Err(Failure::usage(format!("{what} cannot be done over ssh")).hint("do it on the host"));
        let (command, is_asked) = (self.command.clone(), ctx.ui.can_ask() && !ctx.ui.is_json() && !ctx.is_dry);
        match command.as_str() {
            "events" if self.has("follow") => return refuse("`events --follow`"),
            "status" if self.has("watch") => return refuse("`status --watch`"),
            "reject" if self.has("edit") || self.has("from_request") => return refuse("this `reject`"),
            "add" if self.matches.contains_id("worktree") => return refuse("`add --worktree`"),
            "wait" => return self.wait(ctx),
            // There it would name the worker as the host does.
            "attach" if !ctx.is_dry && !ctx.env.stdin_is_terminal => {
                let id = name_of(&self.host, self.worker()?);
                return Err(Failure::usage("attach needs a terminal")
                    .hint(format!("run it on one, or print the screen: `worker-ctl peek {id}`")));
            }
            // It would hold the line for as long as it runs.
            "up" if self.workers.is_empty() && !self.has("detach") => self.words.push("--detach".into()),
            _ => {}
        }
        let op = self.begins_once(ctx)?;
        // Nobody lands meanwhile what is sent back or taken away.
        let held = self.tell_first(ctx)?.filter(|_| is_one(&command, &["reject reset rebase"]));
        let (ssh, input) = (ssh_to(ctx, &self.host), self.input.clone());
        if is_one(&command, &["attach login"]) && !ctx.is_dry {
            return ssh.on_terminal(&ssh.tool(&self.words));
        }
        if command == "nuke" && is_asked && !self.has("yes") {
            let mut dry = self.words.clone();
            dry.insert(1, "--dry-run".into());
            let exit = self.tell(ctx, &ssh.run(&ssh.known_tool(&dry), Vec::new(), ssh::LONG)?)?;
            if exit != Exit::Done {
                return Ok(exit);
            }
            ctx.ui.require_yes(false, &format!("Do that on {}?", self.host.name), "nothing was removed")?;
            self.words.insert(1, "--yes".into());
        }
        let limit = if is_one(&command, &["status peek events queue"]) { ssh::SOON / 2 } else { ssh::LONG };
        ssh.greet(limit)?;
        let mut told = ssh.line.run(&ssh.known_tool(&self.words), input, limit).and_then(|it| self.tell(ctx, &it));
        if let Some((key, is_again)) = op {
            // One that is refused has begun nothing, but an earlier try may have.
            if told.as_ref().is_ok_and(|exit| *exit == Exit::Done || !is_again) {
                ctx.warn_on_failure(&self.host.name, || {
                    let _lock = held.is_none().then(|| hosts::lock(&ctx.root.path, &self.host.name)).transpose()?;
                    HostWork::update(&ctx.root.path, &self.host.name, |work| drop(work.unanswered.remove(&key)))
                });
            }
            let hint = "it may have been done; within an hour the same command says so, and begins nothing twice";
            told = told.map_err(|failure| if UNREACHABLE.is_kind_of(&failure) { failure.hint(hint) } else { failure });
        }
        // Where nobody knows what came of it, it may have been done.
        if told.as_ref().map_or(true, |exit| exit.code() == 0) && !ctx.is_dry {
            ctx.warn_on_failure(&self.host.name, || self.remember(ctx, held, told.is_ok()));
        }
        told
    }

    /// Gives a command that begins something an id, by which the host knows it again, also if this process is killed before
    /// the answer. Returns the digest of its words, and whether it had that id before.
    fn begins_once(&mut self, ctx: &Context<'_>) -> Result<Option<(String, bool)>> {
        let is_start = self.command == "start" && !self.matches.contains_id("resume");
        if !is_start && self.command != "reject" || ctx.is_dry {
            return Ok(None);
        }
        let words = self.words.join(OsStr::new("\n"));
        let key = Digest::of(&[words.as_encoded_bytes(), b"\n", &self.input].concat()).to_string();
        let mut begun = (String::new(), String::new(), false);
        let _lock = hosts::lock(&ctx.root.path, &self.host.name)?;
        HostWork::update(&ctx.root.path, &self.host.name, |work| begun = work.begin(&key, ctx.now()))?;
        let (key, id, is_again) = begun;
        self.words.insert(1, format!("--op={id}").into());
        Ok(Some((key, is_again)))
    }

    /// Tells the host first what has landed, and where the branch is, where the command depends on that. Returns the host's
    /// lock.
    fn tell_first(&self, ctx: &Context<'_>) -> Result<Option<Lock>> {
        let is_beginning = is_one(&self.command, &[BEGINNING]);
        let needs_none =
            !is_beginning && self.command != "reject" && host_work::open_accepts(ctx, &self.host)?.is_empty();
        if ctx.is_dry || is_one(&self.command, &[LOOKING]) || needs_none {
            return Ok(None);
        }
        let lock = hosts::lock(&ctx.root.path, &self.host.name)?;
        match is_beginning {
            true => host_work::finish_open(ctx, &self.host).and_then(|_| host_work::push_base(ctx, &self.host))?,
            false => ctx.warn_on_failure(&self.host.name, || host_work::finish_open(ctx, &self.host).map(drop)),
        }
        Ok(Some(lock))
    }

    /// Forgets what was seen of tasks that are over, and knows who is there should the host not answer later.
    fn remember(&self, ctx: &Context<'_>, held: Option<Lock>, is_done: bool) -> Result<()> {
        let Line { host, command, workers, .. } = self;
        if is_one(command, &["start reset nuke reject"]) && (is_done || command == "reject") {
            let _lock = held.map_or_else(|| hosts::lock(&ctx.root.path, &host.name), Ok)?;
            let known = HostWork::load(&ctx.root.path, &host.name)?.reviews.into_keys().collect();
            let all: Vec<String> = if workers.is_empty() && self.has("all") { known } else { workers.clone() };
            match command.as_str() {
                "reject" => host_work::sent_back(ctx, host, &all, is_done)?,
                _ => all.iter().try_for_each(|worker| host_work::unpin(ctx, host, worker))?,
            }
        }
        if is_one(command, &["add start nuke"]) && is_done {
            drop(host_status::ask_one(ctx, host, ssh::SHORT));
        }
        Ok(())
    }

    /// Prints what the host said. Exit 4 if that is no answer of worker-ctl's.
    fn tell(&self, ctx: &Context<'_>, output: &Output) -> Result<Exit> {
        let lines = String::from_utf8_lossy(&output.stderr).into_owned();
        let (exit, host) = (output.status.exit(), &self.host.name);
        let other = ssh::other_version(host, &output.stdout).filter(|_| exit != Exit::Done);
        other.into_iter().for_each(|why| ctx.ui.warn(why));
        let is_ours = [0, 1, 2, 3, 4, 75, 124].contains(&output.status.code());
        let answer = ssh::behind_version(&output.stdout);
        let has_told = answer.is_some_and(|answer| self.print(ctx, answer));
        let may_be_empty = !ctx.ui.is_json() || exit == Exit::Done && is_one(&self.command, &[LISTS]);
        if !is_ours || answer.is_none() || !has_told && !may_be_empty {
            return Err(ssh::no_answer(host, output));
        }
        for line in lines.lines() {
            let line = self.renamed(line);
            ctx.ui.relay(&match (line.strip_prefix("worker-ctl: "), line.strip_prefix("  ")) {
                (Some(said), _) => format!("{}: {}", ctx.ui.tool(), self.host.marked(said, self.file.as_deref())),
                // No command to run comes from a host: what it proposes are its words.
                (None, Some(more)) if more.starts_with("hint: ") => format!("  {host}: {more}"),
                (None, Some(_)) => line.clone(),
                (None, None) => format!("{host}: {line}"),
            });
        }
        Ok(exit)
    }

    /// Prints the answer. Returns whether there was one.
    fn print(&self, ctx: &Context<'_>, stdout: &[u8]) -> bool {
        if !ctx.ui.is_json() {
            let text = printable_lines(stdout, self.has("ansi"));
            for line in text.split_inclusive(|byte| *byte == b'\n') {
                let told = std::str::from_utf8(line).map(|line| self.told_here(line));
                ctx.ui.answer(told.as_ref().map_or(line, String::as_bytes));
            }
            // There only what is kept was said.
            let is_kept = self.command == "nuke" && (text.starts_with(b"refs/") || text.starts_with(b"/"));
            if let ([one], true) = (&self.workers[..], is_kept && ctx.env.is_behind_front) {
                ctx.ui.done(format!("removed {}", name_of(&self.host, one)));
            }
            return !stdout.is_empty();
        }
        let mut has_told = false;
        for line in stdout.split(|byte| *byte == b'\n') {
            // A shell there may say something first.
            let Some(mut answer) = serde_json::from_slice::<Value>(line).ok().filter(Value::is_object) else {
                continue;
            };
            if let Some(error) = answer.get_mut("error").filter(|error| error.is_object()) {
                let text = error["message"].as_str().map(|text| self.renamed(text));
                error["message"] = text.into();
                for hint in error.get_mut("hints").and_then(Value::as_array_mut).into_iter().flatten() {
                    *hint = hint.as_str().map(|hint| format!("{}: {}", self.host.name, self.renamed(hint))).into();
                }
            }
            ctx.ui.json(&named(&self.host, answer));
            has_told = true;
        }
        has_told
    }

    /// A line of an answer, with the names and paths that they have here.
    fn told_here(&self, line: &str) -> String {
        let host = &self.host.name;
        match (self.command.as_str(), line.rsplit_once(' ')) {
            ("add", _) => self.renamed(&line.replacen('/', &format!("{host}:/"), 1)),
            ("wait", _) => format!("{host}:{line}"),
            ("events", _) => line.replacen("  ", &format!("  {host}:"), 1),
            // What was done, with whom it was done to.
            (command, Some((verb, name))) if is_one(command, &[SAYS_VERB]) => format!("{verb} {}", self.renamed(name)),
            (command, _) if is_one(command, &[NAMES, SAYS_VERB]) => self.renamed(line),
            _ => line.to_owned(),
        }
    }

    /// What the host says, behind the words of a tool that says something.
    fn renamed(&self, text: &str) -> String {
        let heads = ["worker-ctl: ", "error: ", "warning: ", "  ", "hint: "];
        let rest = heads.iter().fold(text, |rest, head| rest.strip_prefix(head).unwrap_or(rest));
        let renamed = self.host.renamed(rest, &self.workers, &self.known);
        // There it was on stdin.
        let in_file = renamed.strip_prefix("-:").or_else(|| renamed.strip_prefix("--task:"));
        let said = self.file.as_ref().zip(in_file).map(|(file, said)| format!("{file}:{said}"));
        text[..text.len() - rest.len()].to_owned() + &said.unwrap_or(renamed)
    }

    /// Asks again and again, so that a line that is cut costs nothing.
    fn wait(&self, ctx: &Context<'_>) -> Result<Exit> {
        let given = self.matches.get_one::<String>("timeout").cloned();
        let states = self.matches.get_many::<String>("states").into_iter().flatten();
        let is_for_you = states.clone().any(|state| state == "you");
        let limit = given.or((!is_for_you).then(|| "300s".to_owned()));
        let limit = limit.map(|text| Ok((flag_duration("--timeout", &text)?, text))).transpose()?;
        let (start, mut is_cut) = (Instant::now(), false);
        loop {
            let asked = Instant::now();
            let rest = limit.as_ref().map_or(SLICE * 3, |(limit, _)| limit.saturating_sub(start.elapsed()));
            let left = rest.min(SLICE);
            let own = |word: &&OsString| !word.as_encoded_bytes().starts_with(b"--timeout");
            let mut words: Vec<OsString> = self.words.iter().filter(own).cloned().collect();
            words.insert(1, format!("--timeout={}ms", left.as_millis().max(1)).into());
            let ssh = ssh_to(ctx, &self.host);
            // The answer comes a little later than the end of its time. A host that hangs gets no more than that.
            let most = rest.saturating_add(ssh::SHORT / 2).min(SLICE * 3);
            match ssh.line.run(&ssh.known_tool(&words), Vec::new(), most) {
                Ok(output) if output.status.code() != 124 => return self.tell(ctx, &output),
                Ok(_) => {
                    is_cut = false;
                    std::thread::sleep(Duration::from_secs(1).min(left).saturating_sub(asked.elapsed()));
                }
                Err(cut) if UNREACHABLE.is_kind_of(&cut) => {
                    if !std::mem::replace(&mut is_cut, true) {
                        ctx.ui.note(&cut);
                    }
                    shopfloor_core::proc::check_interrupt()?;
                    std::thread::sleep(Duration::from_secs(1).min(rest.saturating_sub(asked.elapsed())));
                }
                Err(other) => return Err(other),
            }
            if let Some((_, text)) = limit.as_ref().filter(|(limit, _)| start.elapsed() >= *limit) {
                return Err(too_late(&states.cloned().collect::<Vec<_>>(), self.has("any"), text));
            }
        }
    }
}

/// What has been read of a command line.
#[derive(Default)]
struct Reading {
    host: Option<String>,
    is_named: bool,
    words: Vec<OsString>,
    workers: Vec<String>,
    input: Option<Vec<u8>>,
    file: Option<String>,
}

impl Reading {
    fn command(&mut self, ctx: &Context<'_>, (name, command): (&str, &Command), matches: &ArgMatches) -> Result<()> {
        self.words.push(name.into());
        let given = |arg: &&Arg| matches.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine);
        let all = command.get_arguments().filter(given).filter(|arg| !OURS.contains(&arg.get_id().as_str()));
        let mut all: Vec<(Part, &Arg)> = all.map(|arg| (part(name, arg.get_id().as_str(), matches), arg)).collect();
        // Whose it is says where it goes, and a file goes before a text to stdin.
        all.sort_by_key(|(part, _)| *part);
        let mut placed = Vec::new();
        for (part, arg) in all {
            let long = arg.get_long().unwrap_or_default();
            if matches!(arg.get_action(), ArgAction::SetTrue) {
                self.words.push(format!("--{long}").into());
                continue;
            }
            for value in matches.get_raw(arg.get_id().as_str()).into_iter().flatten() {
                let value = match part {
                    Part::Worker => self.worker(value)?,
                    Part::File => self.file(ctx, value)?,
                    Part::Text => self.text(ctx, value)?,
                    Part::Word => value.to_owned(),
                };
                match arg.get_index() {
                    // A file with one task is a text there.
                    Some(_) if value == ONE_TASK => self.words.push(value),
                    Some(index) => placed.push((index, value)),
                    None if value == ONE_TASK => self.words.push(format!("--{long}=-").into()),
                    None => self.words.push([OsString::from(format!("--{long}=")), value].into_iter().collect()),
                }
            }
        }
        if let Some((inner, of_inner)) = matches.subcommand()
            && let Some(found) = command.find_subcommand(inner)
        {
            return self.command(ctx, (inner, found), of_inner);
        }
        placed.sort_by_key(|(index, _)| *index);
        if !placed.is_empty() {
            self.words.push("--".into());
            self.words.extend(placed.into_iter().map(|(_, value)| value));
        }
        Ok(())
    }

    /// A worker's name as the host has it.
    fn worker(&mut self, value: &OsStr) -> Result<OsString> {
        let text = value.to_string_lossy();
        let (host, name) = match hosts::split(&text) {
            Some((host, name)) => (Some(host), name),
            None => (None, &*text),
        };
        let is_first = self.workers.is_empty() && !self.is_named;
        match (&self.host, host) {
            (None, Some(host)) if is_first => self.host = Some(host.to_owned()),
            (Some(known), Some(host)) if known == host => {}
            (Some(_), None) if self.is_named => {}
            (None, None) => {}
            _ => {
                return Err(Failure::usage("these workers are not all on one machine")
                    .hint("run the command once for each machine"));
            }
        }
        let name = match (&self.host, self.words[0] == "add") {
            (None, _) => name.to_owned(),
            (Some(_), true) => new_name(name)?,
            (Some(_), false) => checked_name(name)?.to_owned(),
        };
        self.workers.push(name.clone());
        Ok(name.into())
    }

    /// A text, which goes to the host's stdin unless something else does.
    fn text(&mut self, ctx: &Context<'_>, value: &OsStr) -> Result<OsString> {
        if self.host.is_none() {
            return Ok(value.to_owned());
        }
        match (value == "-", &self.input) {
            (true, Some(_)) => Err(Failure::usage("only one thing can be on stdin").hint("put one of them in a file")),
            (true, None) => ctx.ui.input().map(|input| self.input = Some(input)).map(|()| "-".into()),
            (false, Some(_)) => Ok(value.to_owned()),
            (false, None) => {
                self.input = Some(value.as_encoded_bytes().to_vec());
                Ok("-".into())
            }
        }
    }

    /// Reads a file for the host's stdin.
    fn file(&mut self, ctx: &Context<'_>, value: &OsStr) -> Result<OsString> {
        if self.host.is_none() {
            return Ok(value.to_owned());
        }
        if self.input.is_some() {
            return Err(Failure::usage("one file at a time goes to a host").hint("run the command once for each"));
        }
        let path = Path::new(value);
        self.input = Some(bytes_of(ctx, path)?);
        self.file = (value != "-").then(|| printable(&path.display().to_string()));
        let is_one = value != "-" && path.extension().is_none_or(|end| end != "jsonl");
        Ok(if is_one { ONE_TASK.into() } else { "-".into() })
    }
}
