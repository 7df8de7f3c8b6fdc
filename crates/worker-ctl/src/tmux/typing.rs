//! Types a text into an agent's terminal: completely, once, and into no other terminal.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use shopfloor_core::error::{Failure, Result};
use shopfloor_core::fs;
use shopfloor_core::hash::Digest;
use shopfloor_core::proc::{self, Status};

use super::{Tmux, Typist, escape_semicolon};
use crate::failure;
use crate::layout;
use crate::poll;
use crate::program_config::{AgentTable, Paste};
use crate::worker::Worker;

/// The result of a delivery that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryVerdict {
    /// The agent has the text: its own hook confirmed it, or the program was started with it.
    Delivered,
    /// The text was typed, and nothing confirms that the agent read it.
    Sent,
}

impl DeliveryVerdict {
    pub fn word(self) -> &'static str {
        match self {
            DeliveryVerdict::Delivered => "delivered",
            DeliveryVerdict::Sent => "sent",
        }
    }
}

/// The longest text that is passed as an argument.
pub const MAX_ARGUMENT: usize = 100 << 10;

/// What to do about bytes that are no text.
const AS_TEXT: &str = "give it as a text in UTF-8";

/// Turns bytes into a text that can be typed. Exit 2 unless they are UTF-8 without NUL, and not blank. Control
/// characters other than line ends and tabs are removed: an escape sequence could end the paste, and the rest would act
/// as keys.
pub fn cleaned(bytes: Vec<u8>) -> Result<String> {
    if bytes.contains(&0) {
        return Err(Failure::malformed("the text contains a NUL byte").hint(AS_TEXT));
    }
    let text = String::from_utf8(bytes).map_err(|_| Failure::malformed("the text is not UTF-8").hint(AS_TEXT))?;
    let text = typable(&text);
    if text.trim().is_empty() {
        return Err(Failure::usage("the text is empty").hint("give a text with at least one visible character"));
    }
    Ok(text)
}

/// Removes everything from a text that would act as a key.
pub fn typable(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    for c in text.replace("\r\n", "\n").chars() {
        kept.push(c);
        // Remove whole sequences. Afterwards the text may end in the first half of another one, so check at each
        // character.
        if let Some(mark) = PASTE_MARKS.iter().find(|mark| kept.ends_with(*mark)) {
            kept.truncate(kept.len() - mark.len());
        }
    }
    kept.retain(|c| matches!(c, '\n' | '\t') || !c.is_control());
    kept
}

/// The sequences that a terminal puts around a paste.
const PASTE_MARKS: [&str; 2] = ["\u{1b}[200~", "\u{1b}[201~"];

/// Whether a failed delivery left everything as it was.
pub fn is_nothing_typed(failure: &Failure) -> bool {
    [failure::NOT_DELIVERED, failure::OCCUPIED, failure::QUEUED].iter().any(|kind| kind.is_kind_of(failure))
}

/// Exit 1 while a person types into a pane. Our text and our Enter would end up in their line.
pub fn require_free(tmux: &Tmux, worker: &str, pane: &str) -> Result<()> {
    let Some(Typist { client, secs }) = tmux.typist(pane)? else { return Ok(()) };
    let ago = if secs <= 0 { "just now".to_owned() } else { format!("{secs} s ago") };
    let why = format!("nothing was typed to {worker}: somebody at {client} typed there {ago}");
    Err(failure::OCCUPIED.failure(why).hint("run the same command when they are done, or type anyway with `--force`"))
}

/// The failure of a delivery that typed nothing. Exit 4, whatever the cause was.
pub fn not_delivered(worker: &str, failure: Failure) -> Failure {
    if is_nothing_typed(&failure) || failure::IN_DOUBT.is_kind_of(&failure) {
        return failure;
    }
    let refused = failure::NOT_DELIVERED
        .failure(format!("nothing was typed to {worker}: {}", failure.message))
        .details(failure.causes());
    if !failure.hints.is_empty() {
        return Failure { hints: failure.hints, ..refused };
    }
    refused.hint(format!(
        "look at its terminal with `worker-ctl peek {worker}`, or start its session with `worker-ctl up {worker}`"
    ))
}

/// The pane of a worker's own program, which must still run there, in a directory that is still there.
pub fn require_pane(tmux: &Tmux, worker: &Worker) -> Result<String> {
    let pane = tmux.pane_of(worker)?.ok_or_else(|| Failure::failed("its session is gone"))?;
    if pane.end.is_some() {
        return Err(Failure::failed("its program has ended"));
    }
    if tmux.directory(&pane.id)?.ends_with(" (deleted)") {
        return Err(Failure::failed("its working directory is gone"));
    }
    if worker.program.pane_pid.is_some_and(|pid| pid != pane.pid) {
        return Err(Failure::failed("another program runs in its session"));
    }
    Ok(pane.id)
}

/// How long a program may take until it takes a paste, and how often to look.
const PASTE_LIMIT: Duration = Duration::from_secs(10);
const GLANCE: Duration = Duration::from_millis(100);

/// Waits until the program in a pane takes a text of several lines as a whole. One that is at work would take each line
/// as a prompt of its own.
pub fn wait_for_paste(tmux: &Tmux, pane: &str, log: &Path) -> Result<()> {
    let taken = poll::answer(PASTE_LIMIT, GLANCE, || Ok(tmux.takes_paste(pane, log)?.then_some(())))?;
    taken.ok_or_else(|| Failure::failed("its program is at work, and takes no text of several lines now"))
}

/// Loads a text into a tmux buffer. Returns the buffer's name.
pub fn load(tmux: &Tmux, text: &str) -> Result<String> {
    // The name must be unique: with a shared buffer workers would get each other's texts.
    let buffer = format!("worker-ctl-{}", &Digest::random().to_string()[..16]);
    match tmux.feed(&["load-buffer", "-b", &buffer, "-"], text.into())?.status.success() {
        true => Ok(buffer),
        false => Err(Failure::failed("tmux could not load the text")),
    }
}

/// Types the text of a buffer into the worker's pane, then Enter as a key of its own. Nothing is ever typed twice in
/// case of doubt. `refuse_question` fails if the program asks a question: an Enter would answer it. Signals are deferred
/// until the end.
pub fn type_buffer(
    tmux: &Tmux,
    (name, pane): (&str, &str),
    agent: &AgentTable,
    (buffer, length): (&str, usize),
    is_forced: bool,
    refuse_question: &dyn Fn() -> Result<()>,
) -> Result<()> {
    // Check again, because the preparation may have taken some time. From here on only milliseconds pass.
    let drop_buffer = || drop(tmux.run(&["delete-buffer", "-b", buffer]));
    if !is_forced && let Err(failure) = require_free(tmux, name, pane) {
        drop_buffer();
        return Err(not_delivered(name, failure));
    }
    let _deferred = proc::defer_signals();
    let brackets: &[&str] = if agent.paste == Paste::Lines { &[] } else { &["-p"] };
    let paste = [&["paste-buffer"], brackets, &["-d", "-b", buffer, "-t", pane]].concat();
    if !send_keys(tmux, pane, &paste)? {
        drop_buffer();
        return Err(not_delivered(name, Failure::failed("tmux could not paste")));
    }
    thread::sleep(debounce(length));
    if !is_forced && let Some(Typist { client, .. }) = tmux.typist(pane)? {
        // Their keys follow our text in the line, so they must decide what happens to both.
        let why = format!("the text for {name} is in its input line, not submitted: somebody types at {client}");
        return Err(failure::IN_DOUBT.failure(why).hint(format!("submit or clear it: `worker-ctl attach {name}`")));
    }
    if refuse_question().is_err() {
        let why = format!("the text for {name} was typed, and not submitted: its program asks a question");
        let hint = format!("answer, then submit or clear the text: `worker-ctl attach {name}`");
        return Err(failure::IN_DOUBT.failure(why).hint(hint));
    }
    submit(tmux, pane, agent)
}

/// Removes the text files of a worker whose task is over.
pub fn remove_text_files(root: &Path, worker: &str) -> Result<()> {
    let dir = layout::prompts(root);
    let prefix = format!("{worker}-");
    // The rest of the name must be a hash, because another worker's name may begin with this prefix.
    let is_its = |name: &str| {
        let hash = name.strip_prefix(&prefix).and_then(|rest| rest.strip_suffix(".md"));
        hash.is_some_and(|hash| hash.len() == 12 && hash.bytes().all(|b| b.is_ascii_hexdigit()))
    };
    let names = fs::list(&dir)?;
    names.iter().filter(|name| name.to_str().is_some_and(is_its)).try_for_each(|name| fs::remove(&dir.join(name)))
}

/// Writes a text to a file, for agents that cannot get it in another way.
pub fn write_text_file(root: &Path, worker: &str, text: &str) -> Result<PathBuf> {
    let digest = Digest::of(text.as_bytes()).to_string();
    let file = layout::prompts(root).join(format!("{worker}-{}.md", &digest[..12]));
    fs::create_private_dir(&layout::prompts(root))?;
    fs::replace(&file, text.as_bytes(), Some(fs::PRIVATE))?;
    Ok(file)
}

/// The line that tells an agent to read such a file.
pub fn file_prompt(file: &Path) -> String {
    format!("Read {} and do what it says.", file.display())
}

/// Clears the program's context, if the agent has a command for that.
pub fn clear(tmux: &Tmux, pane: &str, agent: &AgentTable) -> Result<()> {
    let Some(clear) = &agent.clear else { return Ok(()) };
    if !send_keys(tmux, pane, &["send-keys", "-t", pane, "-l", "--", clear])? {
        return Err(Failure::failed("tmux could not send keys"));
    }
    thread::sleep(debounce(clear.len()));
    submit(tmux, pane, agent)?;
    thread::sleep(debounce(clear.len()));
    Ok(())
}

/// Sends keys to a pane. The same call leaves copy mode first, because a person may enter it at any time. Returns whether
/// tmux has done so. Fails if a signal ended the client, because the server may have done it all the same.
fn send_keys(tmux: &Tmux, pane: &str, args: &[&str]) -> Result<bool> {
    let first = ["copy-mode", "-q", "-t", pane, ";"].map(str::to_owned);
    let words = first.into_iter().chain(args.iter().map(|arg| escape_semicolon(arg)));
    let output = tmux.answer(tmux.cmd().args(words))?;
    match output.status {
        Status::Exited(code) => Ok(code == 0),
        Status::Signalled(_) => tmux.check(args, output).map(|_| false),
    }
}

/// Sends the key that submits. It is sent again only when tmux itself failed.
pub fn submit(tmux: &Tmux, pane: &str, agent: &AgentTable) -> Result<()> {
    let key = agent.submit_key.as_deref().unwrap_or("Enter");
    for _ in 0..2 {
        if send_keys(tmux, pane, &["send-keys", "-t", pane, key])? {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(200));
    }
    tmux.must(&["send-keys", "-t", pane, key]).map(drop)
}

/// How long to wait before Enter. A program would take an Enter that follows at once for a part of the paste.
fn debounce(bytes: usize) -> Duration {
    let millis = 500 + 100 * (bytes as u64).div_ceil(1024).saturating_sub(1);
    Duration::from_millis(millis.min(2000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_removed() {
        let clean = |text: &str| cleaned(text.as_bytes().to_vec()).unwrap();
        assert_eq!(clean("a\u{1b}[201~b\r\nc\td\u{7f}\u{9b}e"), "ab\nc\tde");
        assert_eq!(clean("-x; $(id) `id` %s #{pane_id} C-c Enter;"), "-x; $(id) `id` %s #{pane_id} C-c Enter;");
        for bad in [&b"a\0b"[..], b"", b" \n\t", b"\xff", b"\x1b\x07"] {
            assert_eq!(cleaned(bad.to_vec()).unwrap_err().exit.code(), 2);
        }
    }

    #[test]
    fn a_longer_text_gets_a_longer_pause_before_enter() {
        assert_eq!(debounce(5), Duration::from_millis(500));
        assert_eq!(debounce(3000), Duration::from_millis(700));
        assert_eq!(debounce(1 << 20), Duration::from_millis(2000));
    }
}
