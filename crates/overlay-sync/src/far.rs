//! The overlay of another machine as a workspace of this one: what its `serve` is asked over ssh, in JSON Lines, and what it
//! has answered. Nothing that it says is believed but the bytes of texts.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use shopfloor_core::env::Env;
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::hash::Digest;
use shopfloor_core::path::RelPath;
use shopfloor_core::ssh::{Ssh, UNREACHABLE};
use shopfloor_core::text::{printable, shell_word};

use crate::far_place::FarPlace;
use crate::storage::ReadFile;
use crate::store::is_reserved;
use crate::tool::TOOL;
use crate::workspace::Workspace;

/// The version of the protocol, which the first line of `serve` names.
pub const PROTOCOL: u32 = 1;

/// The largest file that travels, in bytes, and how many bytes of files are asked for at once.
pub const LARGEST: u64 = 4 << 20;
const AT_ONCE: u64 = 8 << 20;

/// How many bytes of news are taken from one machine at a time, and how long that may take. The rest comes the next time.
const MOST_NEWS: u64 = 64 << 20;
const ALL_NEWS: Duration = Duration::from_secs(60);

/// How many lines about what is open there are told, and how long each may be.
const MOST_LINES: usize = 20;
const LONGEST_LINE: usize = 400;

/// How long an answer may take.
const LIMIT: Duration = Duration::from_secs(20);

/// A line that `serve` reads.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Request {
    /// Makes the overlay if there is none, and attaches the worktrees that are there then.
    Attach,
    /// Syncs the workspaces there.
    Sync,
    /// Names all files.
    List,
    Read {
        path: String,
    },
    /// Puts a text, or nothing, in the place of the one that is expected.
    Replace {
        path: String,
        expected: Option<Digest>,
        mode: u32,
        data: Option<String>,
    },
}

/// A file of the other overlay.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FarFile {
    pub path: String,
    pub sha256: Digest,
    pub mode: u32,
    pub size: u64,
    /// Its text in base64, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
}

impl FarFile {
    pub fn new(path: &RelPath, file: &ReadFile, with_text: bool) -> FarFile {
        let (path, size) = (path.to_string(), file.bytes.len() as u64);
        let data = (with_text && size <= LARGEST).then(|| encode(&file.bytes));
        FarFile { path, sha256: file.sha256, mode: file.mode, size, data }
    }

    /// What was read there. The digest is of the bytes that came.
    fn read(&self) -> Option<ReadFile> {
        let bytes = decode(self.data.as_deref()?)?;
        (bytes.len() as u64 <= LARGEST).then(|| ReadFile::new(bytes, self.mode()))
    }

    /// Its permissions. Its owner can read and write what arrives here, and nobody else can write it.
    pub fn mode(&self) -> u32 {
        self.mode & 0o755 | 0o600
    }
}

pub fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

pub fn decode(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).ok()
}

/// A line that `serve` writes for each that it has read.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Answer {
    /// The version of the protocol, in the first line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serve: Option<u32>,
    pub done: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FarFile>,
    /// What is in the way there, for a person.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<String>,
}

/// The machine that has an overlay.
pub struct FarMachine {
    pub env: Env,
    pub place: FarPlace,
    /// A private directory of ours, for sockets.
    pub dir: PathBuf,
}

impl FarMachine {
    /// Runs a command of this tool there, with this on its stdin. Returns what it says.
    pub fn run(&self, words: &[&str], input: Vec<u8>) -> Result<Vec<u8>> {
        let FarPlace { dest, path, .. } = &self.place;
        let ending = Arc::default();
        let ssh = Ssh { env: &self.env, name: dest, dest, dir: self.dir.clone(), ending: &ending };
        let all: Vec<OsString> = [TOOL, "-C", path].iter().chain(words).map(OsString::from).collect();
        let ended = ssh.run(&all, input, LIMIT)?;
        match ended.status.code() {
            0 => Ok(ended.stdout),
            code => {
                let said = String::from_utf8_lossy(&ended.stderr);
                let short = |line: &str| line.chars().take(LONGEST_LINE).collect::<String>();
                let said = said.lines().take(5).map(|line| format!("  {}", printable(&short(line))));
                Err(Failure::failed(format!("{TOOL} on {} ended with {code}", printable(dest)))
                    .details(said)
                    .hint(format!("log in there, and look with `{TOOL} -C {} status`", shell_word(path.as_ref()))))
            }
        }
    }

    /// Asks `serve`, and returns an answer for each request.
    pub fn ask(&self, requests: &[Request]) -> Result<Vec<Answer>> {
        let lines = requests.iter().map(serde_json::to_string).collect::<std::result::Result<Vec<_>, _>>();
        let input = lines.map_err(|e| Failure::failed("cannot write a request").because(e))?.join("\n");
        let said = self.run(&["serve"], input.into_bytes())?;
        // A shell there may have said something first.
        let mut answers = said
            .split(|byte| *byte == b'\n')
            .filter_map(|line| serde_json::from_slice::<Answer>(line).ok())
            .skip_while(|answer| answer.serve.is_none());
        let name = printable(&self.place.dest);
        if answers.next().and_then(|first| first.serve) != Some(PROTOCOL) {
            return Err(Failure::failed(format!("{TOOL} on {name} is of another version"))
                .hint("install the same version there as here"));
        }
        let answers: Vec<Answer> = answers.take(requests.len()).collect();
        if answers.len() < requests.len() {
            return Err(UNREACHABLE.failure(format!("the line to {name} was cut")));
        }
        Ok(answers)
    }
}

/// What an overlay of another machine has.
pub struct FarView {
    machine: FarMachine,
    pub files: BTreeMap<RelPath, FarFile>,
    pub texts: BTreeMap<RelPath, ReadFile>,
    /// What is in the way there, for a person.
    pub open: Vec<String>,
    /// Whether anything was written there.
    pub has_written: bool,
    /// It has not answered, and is not asked again.
    is_lost: bool,
}

/// What machines have, by workspace, each with the workspace as it was when that was asked.
pub type FarViews = BTreeMap<Digest, (Workspace, RefCell<FarView>)>;

/// Lines about what is open on a machine, as a person here reads them.
pub fn there(place: &FarPlace, lines: Vec<String>) -> impl Iterator<Item = String> {
    let name = place.name();
    let short = |line: String| line.chars().take(LONGEST_LINE).collect::<String>();
    let more = lines.len().checked_sub(MOST_LINES + 1).map(|more| format!("and {} more", more + 1));
    let lines = lines.into_iter().take(MOST_LINES).chain(more);
    let (dest, path) = (place.dest.clone(), place.path.clone());
    let tell = move |line: String| {
        // Its commands know nothing of what is there when they run here.
        let has_command = line.contains(&format!("`{TOOL} "));
        let way = if has_command { format!("; that is run on {dest}, in {path}") } else { String::new() };
        printable(&format!("on {name}: {}{way}", short(line)))
    };
    lines.map(tell)
}

impl FarView {
    /// Reads it: all names, and the texts of those files that are wanted and whose digest is not the one that is `known`.
    pub fn read(
        machine: FarMachine,
        known: &BTreeMap<RelPath, Digest>,
        is_wanted: &dyn Fn(&RelPath) -> bool,
    ) -> Result<FarView> {
        let (start, list) = (Instant::now(), machine.ask(&[Request::List])?.into_iter().next().unwrap_or_default());
        if !list.done {
            return Err(Failure::failed(format!("{TOOL} on {} names no files", printable(&machine.place.dest))));
        }
        let open = there(&machine.place, list.open).collect();
        let (files, texts) = (BTreeMap::new(), BTreeMap::new());
        let mut view = FarView { machine, files, texts, open, has_written: false, is_lost: false };
        let mut nameless = Vec::new();
        for file in list.files {
            match RelPath::parse(&file.path) {
                // What cannot be seen in a name is there to deceive.
                Ok(path) if printable(&file.path) == file.path && !is_reserved(&path) => {
                    view.files.insert(path, file);
                }
                Ok(_) | Err(_) => nameless.push(format!("a file there has no name for us: {}", file.path)),
            }
        }
        view.open.extend(there(&view.machine.place, nameless));
        let is_news = |(path, file): &(&RelPath, &FarFile)| {
            known.get(*path) != Some(&file.sha256) && file.size <= LARGEST && is_wanted(path)
        };
        let news: Vec<(RelPath, u64)> =
            view.files.iter().filter(is_news).map(|(path, file)| (path.clone(), file.size)).collect();
        let (mut now, mut bytes, mut all) = (Vec::new(), 0, 0);
        for (path, size) in news {
            all += size;
            if all > MOST_NEWS || start.elapsed() > ALL_NEWS {
                let what = vec!["there is more news than is taken at once; the next sync goes on".to_owned()];
                view.open.extend(there(&view.machine.place, what));
                break;
            }
            if bytes + size > AT_ONCE && !now.is_empty() {
                view.fetch(&std::mem::take(&mut now))?;
                bytes = 0;
            }
            bytes += size;
            now.push(path);
        }
        if !now.is_empty() {
            view.fetch(&now)?;
        }
        Ok(view)
    }

    /// Asks its machine, unless that has not answered before: everybody else waits meanwhile.
    fn ask(&mut self, requests: &[Request]) -> Result<Vec<Answer>> {
        if self.is_lost {
            return Err(UNREACHABLE.failure(format!("{} has not answered before", printable(&self.machine.place.dest))));
        }
        let asked = self.machine.ask(requests);
        self.is_lost = asked.is_err();
        asked
    }

    /// Reads these files anew.
    pub fn fetch(&mut self, paths: &[RelPath]) -> Result<()> {
        let requests: Vec<Request> = paths.iter().map(|path| Request::Read { path: path.to_string() }).collect();
        let answers = self.ask(&requests)?;
        paths.iter().zip(answers).for_each(|(path, answer)| self.note(path, answer.files.into_iter().next()));
        Ok(())
    }

    /// Notes what was read of a file.
    fn note(&mut self, path: &RelPath, file: Option<FarFile>) {
        self.texts.remove(path);
        match file {
            None => drop(self.files.remove(path)),
            Some(mut file) => {
                if let Some(read) = file.read() {
                    (file.sha256, file.size) = (read.sha256, read.bytes.len() as u64);
                    self.texts.insert(path.clone(), read);
                }
                file.data = None;
                self.files.insert(path.clone(), file);
            }
        }
    }

    /// Puts a text, or none, in the place of the one that is expected; `false` if another one is there.
    pub fn replace(&mut self, path: &RelPath, expected: Option<Digest>, new: Option<&ReadFile>) -> Result<bool> {
        let (mode, data) = (new.map_or(0o600, |file| file.mode), new.map(|file| encode(&file.bytes)));
        let request = Request::Replace { path: path.to_string(), expected, mode, data };
        let answer = self.ask(&[request])?.into_iter().next().unwrap_or_default();
        self.has_written |= answer.done;
        match (answer.done, new) {
            (true, Some(file)) => {
                self.files.insert(path.clone(), FarFile::new(path, file, false));
                self.texts.insert(path.clone(), file.clone());
            }
            (true, None) => self.note(path, None),
            (false, _) => self.note(path, answer.files.into_iter().next()),
        }
        Ok(answer.done)
    }
}
