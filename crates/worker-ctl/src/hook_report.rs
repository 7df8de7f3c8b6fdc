//! What an agent's hooks report. The agent writes it, so it is cut short, and all that follows from it is that nothing
//! is typed over a question.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use shopfloor_core::agents::{HookEvent, ProgramHooks};
use shopfloor_core::error::{Failure, Result};
use shopfloor_core::hash::Digest;

/// How many characters of a question are kept.
const LONGEST_QUESTION: usize = 300;

/// How many characters the name of a conversation or of a tool use may have.
const LONGEST_ID: usize = 128;

/// How many bytes the path of a file may have.
const LONGEST_PATH: usize = 4096;

/// What a hook tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    pub signal: Signal,
    /// The conversation that it is about.
    pub conversation: Option<String>,
    /// The hash of the text that the program got; empty if it got none now, none if its hooks never tell.
    pub text: Option<String>,
    /// The program's own file about the session.
    pub session_file: Option<String>,
}

/// What the program does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signal {
    /// It has started.
    Began { is_continued: bool },
    /// Its context was cleared.
    Cleared,
    /// It got a prompt.
    Prompted,
    /// It runs a tool, or has run one.
    Works { tool_use: Option<String> },
    /// It asks a person, perhaps whether it may use a tool.
    Asks { question: String, tool_use: Option<String> },
    /// It tells of a question once more.
    StillAsks { question: String },
    /// Its turn has ended.
    Rests,
    /// It tells once more that it waits for a prompt.
    StillRests,
    /// Its turn has ended at a usage limit.
    Limited,
}

/// The payload of a hook.
#[derive(Debug, Serialize, Deserialize)]
pub struct Payload(Value);

impl Payload {
    /// Parses the payload of a hook. Exit 2 if it is not JSON.
    pub fn parse(bytes: &[u8]) -> Result<Payload> {
        let value = serde_json::from_slice(bytes);
        value.map(Payload).map_err(|e| Failure::malformed("the hook's input is not JSON").because(e))
    }

    fn text(&self, pointer: &str) -> Option<&str> {
        self.0.pointer(pointer).and_then(Value::as_str)
    }

    /// The name of the event.
    fn event(&self) -> &str {
        self.text("/hook_event_name").or_else(|| self.text("/type")).unwrap_or_default()
    }

    /// The text of the prompt that the program has got, if this event is about one.
    fn prompt(&self, hooks: &ProgramHooks) -> Option<&str> {
        self.text("/prompt").filter(|_| hooks.event(self.event()) == Some(HookEvent::Prompted))
    }

    /// What the event tells; none if it tells nothing about the activity.
    pub fn report(&self, hooks: &ProgramHooks) -> Option<Report> {
        let first = self.text("/input-messages/0");
        if first.is_some_and(|first| hooks.aside.is_some_and(|aside| first.starts_with(aside))) {
            return None;
        }
        let tool_use = || self.tool_use();
        let signal = match hooks.event(self.event())? {
            HookEvent::Began if self.text("/source") == Some("clear") => Signal::Cleared,
            HookEvent::Began => Signal::Began { is_continued: self.text("/source") == Some("resume") },
            HookEvent::Prompted => Signal::Prompted,
            HookEvent::Works => Signal::Works { tool_use: tool_use() },
            HookEvent::Asks => Signal::Asks { question: self.question(), tool_use: tool_use() },
            HookEvent::Notified => match self.text("/notification_type") {
                Some("permission_prompt" | "elicitation_dialog" | "ToolPermission") => {
                    Signal::StillAsks { question: self.question() }
                }
                Some("idle_prompt") => Signal::StillRests,
                Some("quota_auto_resume_fired") => Signal::Works { tool_use: None },
                _ => return None,
            },
            HookEvent::Failed if self.text("/error") == Some("rate_limit") => Signal::Limited,
            HookEvent::Rests | HookEvent::Failed => Signal::Rests,
        };
        let conversation = ["/session_id", "/thread-id"].into_iter().find_map(|key| self.text(key)).and_then(id);
        let tells_texts = hooks.events.iter().any(|(_, event)| *event == HookEvent::Prompted);
        let text = tells_texts.then(|| self.prompt(hooks).map(digest).unwrap_or_default());
        let session_file =
            self.text("/transcript_path").filter(|path| path.starts_with('/') && path.len() <= LONGEST_PATH);
        Some(Report { signal, conversation, text, session_file: session_file.map(str::to_owned) })
    }

    /// What tells a use of a tool apart from others. claude's questions do not name it, so it is the tool with its
    /// input where there is one.
    fn tool_use(&self) -> Option<String> {
        match (self.text("/tool_name"), self.0.get("tool_input")) {
            (Some(tool), Some(input)) => Some(Digest::of(format!("{tool} {input}").as_bytes()).to_string()),
            _ => self.text("/tool_use_id").and_then(id),
        }
    }

    /// The question in one line: the tool and what it is to do, or the message.
    fn question(&self) -> String {
        let input = self.0.get("tool_input").or_else(|| self.0.pointer("/details")).unwrap_or(&Value::Null);
        let keys = ["command", "file_path", "filePath", "url", "path", "pattern", "query", "question"];
        let subject = keys.iter().find_map(|key| input.get(key)?.as_str());
        let subject = subject.or_else(|| input.pointer("/questions/0/question")?.as_str());
        let parts = [self.text("/tool_name"), subject.or_else(|| self.text("/message"))];
        let line = parts.into_iter().flatten().collect::<Vec<_>>().join(": ");
        let words = line.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
        let line = words.collect::<Vec<_>>().join(" ");
        match line.char_indices().nth(LONGEST_QUESTION) {
            Some((end, _)) => format!("{}…", &line[..end]),
            None => line,
        }
    }
}

/// A name that is safe as an argument; none if it is not.
fn id(text: &str) -> Option<String> {
    let is_safe = !text.is_empty()
        && text.len() <= LONGEST_ID
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    is_safe.then(|| text.to_owned())
}

/// The hash of a text without what programs are known to change in it: they mark a paste, turn tabs into blanks, and add
/// or drop blanks at the end of lines.
pub fn digest(text: &str) -> String {
    let mut lines = Vec::new();
    for line in text.trim().lines() {
        if !is_paste_mark(line.trim()) {
            lines.push(line.replace('\t', "    ").trim_end().to_owned());
        }
    }
    Digest::of(lines.join("\n").trim().as_bytes()).to_string()
}

/// Whether a line is one of those that claude puts around a pasted text.
fn is_paste_mark(line: &str) -> bool {
    line == "</pasted_content>" || line.starts_with("<pasted_content ") && line.ends_with('>')
}
