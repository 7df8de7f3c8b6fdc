//! A client of the MCP server, over stdio.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::support::world::{Repo, text};

/// A client with its server.
pub struct Client {
    pub child: Child,
    stdin: Option<ChildStdin>,
    pub lines: std::io::Lines<BufReader<ChildStdout>>,
    next: u64,
}

impl Client {
    /// Starts the server that an agent's configuration names, and does the handshake.
    pub fn connect(at: &Repo<'_>, config: &str) -> Client {
        let config: Value = serde_json::from_str(&at.read(config)).unwrap();
        let server = &config["mcpServers"]["shopfloor"];
        let args: Vec<&str> = server["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap()).collect();
        let mut command = at.world.command(text(server, "/command"));
        command.args(args).current_dir(&at.path).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut client = Client { stdin: child.stdin.take(), child, lines, next: 0 };
        let hello = client.ask(
            "initialize",
            json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "it", "version": "1" } }),
        );
        assert_eq!(text(&hello, "/result/serverInfo/name"), "worktree-spawn");
        client.tell(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    pub fn tell(&mut self, message: &impl std::fmt::Display) {
        writeln!(self.stdin.as_mut().unwrap(), "{message}").unwrap();
    }

    pub fn send(&mut self, method: &str, params: Value) -> u64 {
        self.next += 1;
        self.tell(&json!({ "jsonrpc": "2.0", "id": self.next, "method": method, "params": params }));
        self.next
    }

    pub fn answer(&mut self, id: u64) -> Value {
        loop {
            let line: Value = serde_json::from_str(&self.lines.next().unwrap().unwrap()).unwrap();
            if line["id"] == id {
                return line;
            }
        }
    }

    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.answer(id)
    }

    /// Calls a tool that must succeed.
    #[track_caller]
    pub fn call(&mut self, tool: &str, args: Value) -> Value {
        let answer = self.ask("tools/call", json!({ "name": tool, "arguments": args }));
        assert_eq!(answer["result"]["isError"], false, "{answer}");
        answer["result"]["structuredContent"].clone()
    }

    /// Calls a tool that must fail, and returns its error text.
    #[track_caller]
    pub fn refused(&mut self, tool: &str, args: Value) -> String {
        let answer = self.ask("tools/call", json!({ "name": tool, "arguments": args }));
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        text(&answer, "/result/content/0/text").to_owned()
    }

    pub fn close(mut self) -> Option<i32> {
        drop(self.stdin.take());
        self.child.wait().unwrap().code()
    }
}
