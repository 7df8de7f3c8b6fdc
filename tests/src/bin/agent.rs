//! The scripted agent: a small program in a terminal that logs each prompt it is given as one JSON line, and does what
//! directive lines in it say. It stands in for a coding agent in tests and in the demo.
//!
//! `SCRIPTED_LOG` names the log. `--plain` leaves bracketed paste off, so that each line is submitted.

use std::io::{Read, Write};
use std::process::{Command, ExitCode};

/// What ends a paste.
const END: &[u8] = b"\x1b[201~";

fn main() -> ExitCode {
    let is_plain = std::env::args().any(|arg| arg == "--plain");
    // Keys as they are typed.
    let _ = Command::new("stty").args(["raw", "-echo", "isig"]).status();
    let mut out = std::io::stdout();
    if !is_plain {
        let _ = out.write_all(b"\x1b[?2004h");
    }
    let _ = out.write_all(b"> ");
    let _ = out.flush();
    let mut line = Vec::new();
    let mut is_pasting = false;
    let mut bytes = std::io::stdin().lock().bytes();
    while let Some(Ok(byte)) = bytes.next() {
        line.push(byte);
        if line.ends_with(b"\x1b[200~") {
            line.truncate(line.len() - 6);
            is_pasting = true;
        } else if line.ends_with(END) {
            line.truncate(line.len() - END.len());
            is_pasting = false;
        } else if byte == b'\r' && !is_pasting {
            line.pop();
            let prompt = String::from_utf8_lossy(&std::mem::take(&mut line)).replace('\r', "\n");
            log(&prompt);
            for directive in prompt.lines() {
                if let Some(code) = obey(directive) {
                    return ExitCode::from(code);
                }
            }
            let _ = out.write_all(b"\r\n> ");
            let _ = out.flush();
        }
    }
    ExitCode::SUCCESS
}

fn log(prompt: &str) {
    let Some(path) = std::env::var_os("SCRIPTED_LOG") else { return };
    let escaped: String = prompt.chars().map(escape).collect();
    if let Ok(mut file) = std::fs::OpenOptions::new().append(true).create(true).open(path) {
        let _ = file.write_all(format!("\"{escaped}\"\n").as_bytes());
    }
}

fn escape(c: char) -> String {
    match c {
        '"' => "\\\"".into(),
        '\\' => "\\\\".into(),
        '\n' => "\\n".into(),
        c if c.is_control() => format!("\\u{:04x}", u32::from(c)),
        c => c.into(),
    }
}

/// Does what a line says; the code to exit with, if that is what it says.
fn obey(line: &str) -> Option<u8> {
    let mut words = line.split(' ');
    let git = |args: &[&str]| {
        drop(
            Command::new("git")
                .args(args)
                .stdout(std::process::Stdio::null())
                .stderr(std::process::Stdio::null())
                .status(),
        )
    };
    match (words.next()?, words.next(), words.next()) {
        ("COMMIT", Some(file), Some(text)) => {
            let message: Vec<&str> = words.collect();
            let _ = std::fs::write(file, format!("{text}\n"));
            git(&["add", file]);
            git(&["commit", "-q", "-m", &message.join(" ").replace("\\n", "\n")]);
        }
        ("AMEND", Some(file), Some(text)) => {
            let _ = std::fs::write(file, format!("{text}\n"));
            git(&["add", file]);
            git(&["commit", "-q", "--amend", "--no-edit"]);
        }
        ("DIRTY", Some(file), Some(text)) => drop(std::fs::write(file, text)),
        ("RESOLVE", Some(file), Some(text)) => {
            let _ = std::fs::write(file, format!("{text}\n"));
            git(&["add", file]);
            git(&["-c", "core.editor=true", "rebase", "--continue"]);
        }
        ("ABORT", ..) => git(&["rebase", "--abort"]),
        ("EXIT", Some(code), _) => return code.parse().ok(),
        ("SIG", Some(signal), _) => {
            drop(Command::new("kill").args([&format!("-{signal}"), &std::process::id().to_string()]).status())
        }
        _ => {}
    }
    None
}
